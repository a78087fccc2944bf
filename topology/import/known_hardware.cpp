#include "topology/import/known_hardware.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/document.hpp"
#include "base/embedded.hpp"
#include "topology/figure_reader.hpp"
#include "topology/node.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_import_tables();
std::span<const EmbeddedFile> embedded_nodes();

namespace {

Value table_of(std::string_view name, std::span<const EmbeddedFile> files) {
  for (const EmbeddedFile& file : files)
    if (file.name == name) return parse_toml(file.text, std::string(name) + ".toml");
  STEPCAST_CHECK(false, "no such embedded table");
}

/// What the shipped node says of its GPU itself.
void take_from_node(KnownGpu& gpu) {
  const Value document = table_of(gpu.node, embedded_nodes());
  const NodeSpec node = load_node(gpu.node, {});
  const auto source = [&](const char* section, const char* key) {
    std::vector<Diagnostic> none;
    const Value* table = document.find(section);
    const std::string text = table == nullptr ? "" : FigureReader(*table, section, none).source(key);
    return "shipped node " + gpu.node + ": " + text;
  };
  if (node.nvlink != NodeSpec::Nvlink::none) {
    gpu.nvlink_links = {node.nvlink_links_per_gpu, source("nvlink", "links_per_gpu")};
    gpu.nvlink_rate_per_link = {node.nvlink_rate_per_link, source("nvlink", "rate_per_link")};
    if (node.nvlink_sharp) gpu.sharp = {true, source("nvlink", "sharp")};
  }
  gpu.pcie_rate = {node.pcie_rate, source("pcie", "rate")};
  gpu.peer_to_peer = {node.pcie_peer_to_peer, source("pcie", "peer_to_peer")};
  gpu.gpudirect = {node.gpudirect, source("nic", "gpudirect")};
}

template <class T>
void take(std::optional<Sourced<T>>& into, std::optional<T> value, FigureReader& in, const char* key) {
  if (value) into = {*value, in.source(key)};
}

KnownGpu read_gpu(const Value& table, std::vector<Diagnostic>& faults) {
  KnownGpu gpu;
  FigureReader in(table, "gpu", faults);
  gpu.profile = in.table().string("profile").value_or("");
  gpu.device_ids = in.table().strings("device_ids").value_or(std::vector<std::string>{});
  gpu.node = in.table().string("node").value_or("");
  if (!gpu.node.empty()) take_from_node(gpu);
  const auto links = in.integer("nvlink_links", 1, 1024);
  take(gpu.nvlink_links, links ? std::optional(static_cast<int>(*links)) : std::nullopt, in, "nvlink_links");
  take(gpu.nvlink_rate_per_link, in.rate("nvlink_rate_per_link"), in, "nvlink_rate_per_link");
  take(gpu.pcie_rate, in.rate("pcie_rate"), in, "pcie_rate");
  take(gpu.peer_to_peer, in.boolean("peer_to_peer"), in, "peer_to_peer");
  take(gpu.gpudirect, in.boolean("gpudirect"), in, "gpudirect");
  in.finish();
  return gpu;
}

struct Tables {
  std::vector<KnownGpu> gpus;
  std::vector<OtherGpu> others;
  struct Generation {
    double speed{};
    BytesPerSecond lane;
  };
  std::vector<Generation> pcie;
  std::map<std::string, BytesPerSecond> infiniband;  ///< by name of the speed
};

const Tables& tables() {
  static const Tables all = [] {
    Tables read;
    std::vector<Diagnostic> faults;
    const Value gpus = table_of("known_gpus", embedded_import_tables());
    for (const Value& gpu : gpus.find("gpu")->array) read.gpus.push_back(read_gpu(gpu, faults));
    for (const Value& gpu : gpus.find("other_gpu")->array) {
      TableReader in(gpu, "other_gpu", faults);
      read.others.push_back({in.string("name").value_or(""), in.string("like").value_or(""),
                             in.strings("device_ids").value_or(std::vector<std::string>{})});
      in.finish();
    }
    const Value pcie = table_of("pcie_rates", embedded_import_tables());
    for (const Value& generation : pcie.find("generation")->array) {
      TableReader in(generation, "generation", faults);
      read.pcie.push_back(
          {in.number("speed", 1, 1000).value_or(0), in.rate("lane_rate").value_or(BytesPerSecond{})});
      in.finish();
    }
    const Value infiniband = table_of("ib_rates", embedded_import_tables());
    for (const Value& speed : infiniband.find("speed")->array) {
      TableReader in(speed, "speed", faults);
      read.infiniband[in.string("name").value_or("")] = in.rate("lane_rate").value_or(BytesPerSecond{});
      in.finish();
    }
    STEPCAST_CHECK(faults.empty(),
                   "an embedded table is faulty: " + (faults.empty() ? "" : faults[0].message));
    return read;
  }();
  return all;
}

template <class Entry>
const Entry* with_device(const std::vector<Entry>& entries, const std::string& id) {
  for (const Entry& entry : entries)
    if (std::find(entry.device_ids.begin(), entry.device_ids.end(), id) != entry.device_ids.end())
      return &entry;
  return nullptr;
}

}  // namespace

const std::vector<KnownGpu>& known_gpus() { return tables().gpus; }

const KnownGpu* known_gpu(const std::string& profile) {
  for (const KnownGpu& gpu : tables().gpus)
    if (gpu.profile == profile) return &gpu;
  return nullptr;
}

const KnownGpu* known_gpu_by_device(const std::string& id) { return with_device(tables().gpus, id); }
const OtherGpu* other_gpu_by_device(const std::string& id) { return with_device(tables().others, id); }

int most_nvlinks_known() {
  int most = 0;
  for (const KnownGpu& gpu : tables().gpus)
    if (gpu.nvlink_links) most = std::max(most, gpu.nvlink_links->value);
  return most;
}

std::optional<BytesPerSecond> pcie_rate(double gigatransfers, int width) {
  for (const Tables::Generation& generation : tables().pcie)
    if (generation.speed == gigatransfers) {
      // Three digits, as datasheets state it.
      const double exact = width * generation.lane.value;
      const double unit = std::pow(10, std::floor(std::log10(exact)) - 3);
      return BytesPerSecond(std::round(exact / unit) * unit);
    }
  return std::nullopt;
}

PcieLink nearest_pcie_link(BytesPerSecond rate) {
  PcieLink nearest;
  double least = 0;
  for (const int width : {16, 8, 4, 2, 1}) {
    for (const Tables::Generation& generation : tables().pcie) {
      const double off = std::fabs(std::log(width * generation.lane.value / rate.value));
      if (nearest.width > 0 && off >= least) continue;
      least = off;
      nearest = {generation.speed, width};
    }
  }
  return nearest;
}

std::optional<PcieLink> pcie_link_of(BytesPerSecond rate) {
  constexpr double tolerance = 0.01;
  const PcieLink nearest = nearest_pcie_link(rate);
  const double carried = pcie_rate(nearest.gigatransfers, nearest.width)->value;
  if (std::fabs(carried / rate.value - 1) > tolerance) return std::nullopt;
  return nearest;
}

std::optional<BytesPerSecond> infiniband_lane_rate(const std::string& speed) {
  const auto found = tables().infiniband.find(speed);
  return found == tables().infiniband.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace stepcast
