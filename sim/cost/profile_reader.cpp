#include "sim/cost/profile_reader.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/cost/figure_table.hpp"

namespace stepcast {

namespace {

constexpr std::array<std::pair<std::string_view, Dtype>, 5> dtype_names{{{"fp32", Dtype::fp32},
                                                                         {"tf32", Dtype::tf32},
                                                                         {"bf16", Dtype::bf16},
                                                                         {"fp16", Dtype::fp16},
                                                                         {"fp8", Dtype::fp8}}};

// A card may run above the boost clock of its datasheet (RTX 4090: 1.08), and Winograd-like convolutions need
// fewer multiplications than the direct form counts.
constexpr double most_of_peak = 1.5;

std::optional<Origin> read_origin(TableReader& section, std::string_view key) {
  const auto word = section.choice(key, {"measured", "published", "datasheet", "extrapolated"});
  if (!word) return {};
  for (const Origin origin : {Origin::measured, Origin::published, Origin::datasheet, Origin::extrapolated}) {
    if (*word == name_of(origin)) return origin;
  }
  return {};
}

/// `touched`: the section has a figure that the origin speaks of.
void lay_origin(TableReader& section, std::string_view key, ProfileKind kind, bool touched, Origin& into) {
  if (const auto stated = read_origin(section, key)) {
    into = *stated;
  } else if (kind == ProfileKind::user && touched) {
    into = Origin::measured;
  }
}

bool read_shares_by_dtype(FigureTable& section, std::string_view key, std::map<Dtype, Figure<double>>& into,
                          std::vector<Diagnostic>& faults) {
  const Value* const table = section.table(key);
  if (table == nullptr) return false;
  FigureTable figures(*table, section.path(key), faults);
  bool any = false;
  for (const auto& [name, dtype] : dtype_names) {
    Figure<double> figure;
    if (figures.share(name, figure, 0.01, most_of_peak)) {
      into[dtype] = figure;
      any = true;
    }
  }
  figures.finish();
  return any;
}

bool read_flops_by_dtype(FigureTable& section, std::string_view key,
                         std::map<Dtype, Figure<FlopPerSecond>>& into, std::vector<Diagnostic>& faults) {
  const Value* const table = section.table(key);
  if (table == nullptr) return false;
  FigureTable figures(*table, section.path(key), faults);
  bool any = false;
  for (const auto& [name, dtype] : dtype_names) {
    Figure<FlopPerSecond> figure;
    if (figures.flops(name, figure)) {
      into[dtype] = figure;
      any = true;
    }
  }
  figures.finish();
  return any;
}

void read_tile_list(TableReader& table, std::string_view key, std::vector<GpuProfile::Tile>& into) {
  const Value* const list = table.raw(key);
  if (list == nullptr) return;
  const std::string_view expected = "[[rows, columns, efficiency], ...], for example [[256, 128, 1.0]]";
  std::vector<GpuProfile::Tile> tiles;
  const auto faulty = [&] {
    table.fault(key, "tiles must be a list of " + std::string(expected),
                "rows and columns are whole numbers from 1 to 4096, efficiency lies above 0 and at most 1");
  };
  if (list->kind != Value::Kind::array || list->array.empty()) return faulty();
  for (const Value& entry : list->array) {
    const auto& part = entry.array;
    if (entry.kind != Value::Kind::array || part.size() != 3 || part[0].kind != Value::Kind::integer ||
        part[1].kind != Value::Kind::integer || !part[2].is_number()) {
      return faulty();
    }
    const bool sound = part[0].integer >= 1 && part[0].integer <= 4096 && part[1].integer >= 1 &&
                       part[1].integer <= 4096 && part[2].real > 0 && part[2].real <= 1;
    if (!sound) return faulty();
    tiles.push_back({static_cast<int>(part[0].integer), static_cast<int>(part[1].integer), part[2].real});
  }
  into = std::move(tiles);
}

bool read_tiles(FigureTable& section, GpuProfile& into, std::vector<Diagnostic>& faults) {
  const Value* const table = section.table("tiles");
  if (table == nullptr) return false;
  TableReader reader(*table, section.path("tiles"), faults);
  reader.require("source", "where the tile table comes from");
  (void)reader.string("source");
  (void)reader.string("measured_on");
  (void)reader.number("spread", 0, 10);
  read_tile_list(reader, "tensor", into.tiles);
  read_tile_list(reader, "simt", into.simt_tiles);
  reader.finish();
  return true;
}

bool read_attention(FigureTable& section, GpuProfile& into, std::vector<Diagnostic>& faults) {
  const Value* const table = section.table("attention");
  if (table == nullptr) return false;
  TableReader kernels(*table, section.path("attention"), faults);
  for (const std::string_view kernel : {"flash", "flash3", "efficient"}) {
    const Value* const figures = kernels.table(kernel);
    if (figures == nullptr) continue;
    GpuProfile::Attention& attention = into.attention[std::string(kernel)];
    FigureTable reader(*figures, section.path("attention") + "." + std::string(kernel), faults);
    reader.share("forward", attention.forward, 0.001, most_of_peak);
    reader.share("backward", attention.backward, 0.001, most_of_peak);
    reader.number("half_length", attention.half_length, 0, 1e6);
    reader.number("causal_half_length", attention.causal_half_length, 0, 1e6);
    reader.number("head_exponent", attention.head_exponent, -2, 2);
    reader.count("query_block", attention.query_block, 1, 4096);
    reader.finish();
  }
  kernels.finish();
  return true;
}

void need(bool there, const std::string& key, const SourcePlace& place, std::vector<Diagnostic>& faults) {
  if (!there) {
    faults.push_back(
        {place, "the profile lacks " + key, "docs/profile.md lists what a complete profile holds"});
  }
}

}  // namespace

void read_gpu_section(const Value& table, ProfileKind kind, GpuProfile& into,
                      std::vector<Diagnostic>& faults) {
  FigureTable section(table, "gpu", faults);
  section.section().known("name");
  section.section().known("extends");
  section.count("sms", into.sms, 1, 1024);
  section.share("compute_capability", into.compute_capability, 0, 99);
  section.size("memory_capacity", into.memory_capacity);
  section.size("context_memory", into.context_memory);
  section.rate("host_link_rate", into.host_link_rate);

  bool memory = section.rate("memory_peak", into.memory_peak);
  memory = section.rate("memory_rate", into.memory_rate) || memory;
  memory = section.time("memory_latency", into.memory_latency) || memory;

  bool gemm = read_flops_by_dtype(section, "peak", into.peak, faults);
  gemm = read_shares_by_dtype(section, "gemm_ceiling", into.gemm_ceiling, faults) || gemm;
  gemm = section.time("gemm_latency", into.gemm_latency) || gemm;
  gemm = section.number("split_k_depth", into.split_k_depth, 0, 1e6) || gemm;
  gemm = section.share("misaligned_efficiency", into.misaligned_efficiency, 0.01, 1) || gemm;
  gemm = read_tiles(section, into, faults) || gemm;
  read_shares_by_dtype(section, "convolution_ceiling", into.convolution_ceiling, faults);
  const bool attention = read_attention(section, into, faults);
  section.share("kernel_jitter", into.kernel_jitter, 0, 1);

  lay_origin(section.section(), "gemm_origin", kind, gemm, into.gemm_origin);
  lay_origin(section.section(), "attention_origin", kind, attention, into.attention_origin);
  lay_origin(section.section(), "memory_origin", kind, memory, into.memory_origin);
  section.finish();
}

void read_host_section(const Value& table, GpuProfile& into, std::vector<Diagnostic>& faults) {
  FigureTable section(table, "host", faults);
  section.section().known("name");
  std::map<Dtype, Figure<FlopPerSecond>> rates;
  if (read_flops_by_dtype(section, "gemm_rate", rates, faults)) {
    for (const auto& [dtype, rate] : rates) {
      // The measured rate is the best shape's, so it is peak and ceiling in one.
      into.peak[dtype] = rate;
      into.gemm_ceiling[dtype] = {1.0, rate.source, rate.measured_on, rate.spread};
      into.convolution_ceiling[dtype] = into.gemm_ceiling[dtype];
    }
    into.gemm_origin = Origin::measured;
  }
  section.time("gemm_latency", into.gemm_latency);
  if (section.rate("memory_rate", into.memory_rate)) {
    into.memory_peak = into.memory_rate;
    into.memory_origin = Origin::measured;
  }
  section.time("memory_latency", into.memory_latency);
  section.size("memory_capacity", into.memory_capacity);
  section.share("kernel_jitter", into.kernel_jitter, 0, 1);
  section.finish();
}

void read_link_section(const Value& table, ProfileKind kind, LinkProfile& into,
                       std::vector<Diagnostic>& faults) {
  FigureTable section(table, "links", faults);
  section.section().known("node");
  section.section().known("extends");
  bool any = section.share("nvlink_efficiency", into.nvlink_efficiency, 0.01, 1);
  any = section.share("nvls_efficiency", into.nvls_efficiency, 0.01, 1) || any;
  any = section.share("pcie_efficiency", into.pcie_efficiency, 0.01, 1) || any;
  any = section.share("tree_efficiency", into.tree_efficiency, 0.01, 1) || any;
  any = section.time("base_latency", into.base_latency) || any;
  any = section.time("fill_latency", into.fill_latency) || any;
  section.size("nccl_memory", into.nccl_memory);
  section.share("collective_jitter", into.collective_jitter, 0, 1);
  lay_origin(section.section(), "origin", kind, any, into.origin);
  section.finish();
}

void read_software_section(const Value& table, ProfileKind kind, SoftwareProfile& into,
                           std::vector<Diagnostic>& faults) {
  FigureTable section(table, "software", faults);
  section.section().known("name");
  section.section().known("extends");
  bool any = section.number("fusion", into.fusion, 0, 1);
  any = section.share("memory_efficiency", into.memory_efficiency, 0.05, 1) || any;
  any = section.words("attention", into.attention_kernels, {"flash3", "flash", "efficient", "eager"}) || any;
  any = section.time("host_per_kernel", into.host_per_kernel) || any;
  any = section.time("host_per_collective", into.host_per_collective) || any;
  any = section.time("host_per_step", into.host_per_step) || any;
  any = section.truth("fused_optimizer", into.fused_optimizer) || any;
  any = section.truth("fused_cross_entropy", into.fused_cross_entropy) || any;
  any = section.truth("fused_gradient_accumulation", into.fused_gradient_accumulation) || any;
  any = section.truth("fused_bias", into.fused_bias) || any;
  any = section.number("autocast_casts", into.autocast_casts, 0, 100) || any;
  any = section.size("product_workspace", into.product_workspace) || any;
  any = section.share("allocator_slack", into.allocator_slack, 0, 10) || any;
  any = section.share("foreach_traffic", into.foreach_traffic, 1, 100) || any;
  any = section.count("foreach_operations", into.foreach_operations, 1, 1000) || any;
  any = section.count("tensors_per_launch", into.tensors_per_launch, 1, 100000) || any;
  any = section.share("quantise_bytes", into.quantise_bytes, 0, 100) || any;
  if (const Value* const autocast = section.table("autocast_bytes")) {
    FigureTable figures(*autocast, section.path("autocast_bytes"), faults);
    for (const char* word : {"norm", "residual"}) {
      Figure<double> bytes;
      if (figures.share(word, bytes, 1, 100)) into.autocast_bytes[word] = bytes;
    }
    figures.finish();
    any = true;
  }
  if (const Value* const eager = section.table("eager_attention")) {
    FigureTable figures(*eager, section.path("eager_attention"), faults);
    figures.share("forward_passes", into.eager_attention.forward_passes, 1, 100);
    figures.share("mask_passes", into.eager_attention.mask_passes, 0, 100);
    figures.share("backward_passes", into.eager_attention.backward_passes, 1, 100);
    figures.share("autocast_passes", into.eager_attention.autocast_passes, 0, 100);
    figures.share("dropout_passes", into.eager_attention.dropout_passes, 0, 100);
    figures.finish();
    any = true;
  }
  lay_origin(section.section(), "origin", kind, any, into.origin);
  section.finish();
}

void require_complete(const GpuProfile& gpu, const SourcePlace& place, std::vector<Diagnostic>& faults) {
  need(gpu.sms > 0, "gpu.sms", place, faults);
  need(gpu.memory_capacity.value > Bytes(0), "gpu.memory_capacity", place, faults);
  need(gpu.memory_peak.value.value > 0, "gpu.memory_peak", place, faults);
  need(gpu.memory_rate.value.value > 0, "gpu.memory_rate", place, faults);
  need(!gpu.memory_latency.source.empty(), "gpu.memory_latency", place, faults);
  need(!gpu.gemm_latency.source.empty(), "gpu.gemm_latency", place, faults);
  need(gpu.peak.contains(Dtype::fp32), "gpu.peak.fp32", place, faults);
  need(!gpu.tiles.empty(), "gpu.tiles.tensor", place, faults);
  need(gpu.misaligned_efficiency.value > 0, "gpu.misaligned_efficiency", place, faults);
  need(!gpu.context_memory.source.empty(), "gpu.context_memory", place, faults);
  need(gpu.host_link_rate.value.value > 0, "gpu.host_link_rate", place, faults);
  need(!gpu.compute_capability.source.empty(), "gpu.compute_capability", place, faults);
  for (const auto& [name, dtype] : dtype_names) {
    if (!gpu.peak.contains(dtype)) continue;
    need(gpu.gemm_ceiling.contains(dtype), "gpu.gemm_ceiling." + std::string(name), place, faults);
    // Convolutions of fp8 do not exist in training stacks: they run in bf16.
    if (dtype != Dtype::fp8) {
      need(gpu.convolution_ceiling.contains(dtype), "gpu.convolution_ceiling." + std::string(name), place,
           faults);
    }
  }
  for (const auto& [kernel, attention] : gpu.attention) {
    const std::string path = "gpu.attention." + kernel;
    need(attention.forward.value > 0, path + ".forward", place, faults);
    need(attention.backward.value > 0, path + ".backward", place, faults);
    need(attention.query_block > 0, path + ".query_block", place, faults);
  }
}

void require_complete(const LinkProfile& links, const SourcePlace& place, std::vector<Diagnostic>& faults) {
  need(links.nvlink_efficiency.value > 0, "links.nvlink_efficiency", place, faults);
  need(links.nvls_efficiency.value > 0, "links.nvls_efficiency", place, faults);
  need(links.pcie_efficiency.value > 0, "links.pcie_efficiency", place, faults);
  need(links.tree_efficiency.value > 0, "links.tree_efficiency", place, faults);
  need(!links.base_latency.source.empty(), "links.base_latency", place, faults);
  need(!links.fill_latency.source.empty(), "links.fill_latency", place, faults);
  need(!links.nccl_memory.source.empty(), "links.nccl_memory", place, faults);
}

void require_complete(const SoftwareProfile& software, const SourcePlace& place,
                      std::vector<Diagnostic>& faults) {
  need(!software.attention_kernels.empty(), "software.attention", place, faults);
  need(software.memory_efficiency.value > 0, "software.memory_efficiency", place, faults);
  need(!software.host_per_kernel.source.empty(), "software.host_per_kernel", place, faults);
  need(!software.host_per_collective.source.empty(), "software.host_per_collective", place, faults);
  need(!software.host_per_step.source.empty(), "software.host_per_step", place, faults);
  need(!software.product_workspace.source.empty(), "software.product_workspace", place, faults);
  need(!software.allocator_slack.source.empty(), "software.allocator_slack", place, faults);
  need(software.foreach_traffic.value >= 1, "software.foreach_traffic", place, faults);
  need(!software.quantise_bytes.source.empty(), "software.quantise_bytes", place, faults);
  need(software.eager_attention.forward_passes.value > 0, "software.eager_attention.forward_passes", place,
       faults);
  need(software.eager_attention.backward_passes.value > 0, "software.eager_attention.backward_passes", place,
       faults);
}

}  // namespace stepcast
