#include "topology/node.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/embedded.hpp"
#include "topology/figure_reader.hpp"
#include "topology/node_checks.hpp"
#include "topology/node_wires_reader.hpp"
#include "topology/preset_text.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_nodes();

namespace {

constexpr int most_gpus = 1024;  // of one node or NVLink domain; the largest sold has 72 (576 planned)
constexpr int most_nics = 4096;
const std::vector<std::string> cpu_kinds{"intel", "amd", "arm", "power"};

int whole(std::optional<std::int64_t> number, int otherwise) {
  return number ? static_cast<int>(*number) : otherwise;
}

void read_pairs(FigureReader& in, NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  in.require("pairs", "a list of [GPU, GPU, links], for example [[0, 1, 2], [1, 2, 1]]");
  const Value* pairs = in.raw("pairs");
  if (pairs == nullptr) return;
  places.nvlink = pairs->place;
  const std::string hint = "each pair is [GPU, GPU, links], for example [0, 3, 2]";
  if (pairs->kind != Value::Kind::array) {
    faults.push_back({pairs->place, "nvlink.pairs must be a list", hint});
    places.wires_faulty = true;
    return;
  }
  for (const Value& pair : pairs->array) {
    const bool sound =
        pair.kind == Value::Kind::array && pair.array.size() == 3 &&
        std::all_of(pair.array.begin(), pair.array.end(), [](const Value& item) {
          return item.kind == Value::Kind::integer && item.integer >= 0 && item.integer <= most_gpus;
        });
    if (!sound || pair.array[2].integer < 1) {
      faults.push_back({pair.place, "nvlink.pairs holds " + pair.to_text(), hint});
      places.wires_faulty = true;
      continue;
    }
    node.nvlink_mesh.push_back({static_cast<int>(pair.array[0].integer),
                                static_cast<int>(pair.array[1].integer),
                                static_cast<int>(pair.array[2].integer)});
    places.pairs.push_back(pair.place);
  }
}

void read_nvlink(const Value& table, NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "nvlink", faults);
  places.nvlink = table.place;
  in.require("kind", "\"none\", \"mesh\" or \"switch\"");
  const std::optional<std::string> kind = in.table().choice("kind", {"none", "mesh", "switch"});
  if (kind == "mesh") node.nvlink = NodeSpec::Nvlink::mesh;
  if (kind == "switch") node.nvlink = NodeSpec::Nvlink::fabric_switch;
  if (kind && *kind != "none") {
    in.require("links_per_gpu", "a whole number");
    in.require("rate_per_link", "a rate of one direction, for example \"25 GB/s\"");
  }
  const std::optional<std::int64_t> links = in.integer("links_per_gpu", 1, 1024);
  const std::optional<BytesPerSecond> rate = in.rate("rate_per_link");
  node.nvlink_links_per_gpu = whole(links, 0);
  node.nvlink_rate_per_link = rate.value_or(BytesPerSecond{});
  places.wires_faulty |= !kind || (*kind != "none" && (!links || !rate));
  node.nvlink_sharp = in.boolean("sharp").value_or(false);
  places.links_per_gpu = in.place("links_per_gpu");
  if (node.nvlink == NodeSpec::Nvlink::mesh) {
    read_pairs(in, node, places, faults);
  } else if (in.raw("pairs") != nullptr && kind) {
    faults.push_back(
        {in.place("pairs"), "nvlink.pairs is only for kind = \"mesh\"", "remove it, or change the kind"});
  }
  in.finish();
}

void read_bus(const Value& table, NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "pcie", faults);
  places.bus = table.place;
  const std::optional<BytesPerSecond> rate = in.rate("rate");
  places.wires_faulty |= in.table().has("rate") && !rate;
  node.pcie_rate = rate.value_or(BytesPerSecond{});
  node.gpus_per_pcie_switch = whole(in.integer("gpus_per_switch", 0, most_gpus), 0);
  node.pcie_peer_to_peer = in.boolean("peer_to_peer").value_or(false);
  in.finish();
}

void read_host(const Value& table, NodeSpec& node, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "host", faults);
  node.sockets = whole(in.integer("sockets", 1, most_gpus), in.table().has("sockets") ? 0 : 1);
  if (const std::optional<std::string> cpu = in.choice("cpu", cpu_kinds)) node.cpu = *cpu;
  node.sockets_per_board = whole(in.integer("sockets_per_board", 1, most_gpus), 0);
  node.socket_rate = in.rate("socket_rate").value_or(BytesPerSecond{});
  in.require("memory_rate", "a rate of one socket's memory, for example \"204.8 GB/s\"");
  node.host_memory_rate = in.rate("memory_rate").value_or(BytesPerSecond{});
  node.host_link_rate = in.rate("gpu_link_rate").value_or(BytesPerSecond{});
  const int joined = node.sockets_per_board > 0 ? node.sockets_per_board : node.sockets;
  if (node.sockets > 1 && joined > 1)
    in.require("socket_rate", "a rate between two sockets of one direction");
  in.finish();
}

void read_nics(const Value& table, NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "nic", faults);
  in.require("count", "the number of network cards of an RDMA fabric");
  node.nics_default = whole(in.integer("count", 0, most_nics), 0);
  places.nic_count = in.place("count");
  const std::optional<std::vector<int>> near = in.integers("near_gpu", 0, std::max(0, node.gpus - 1));
  node.nic_gpu = near.value_or(std::vector<int>{});
  // A list that could not be read has its own fault already.
  if (in.table().has("near_gpu") && !near) node.nics_default = 0;
  if (!in.table().has("near_gpu")) {
    for (int nic = 0; nic < node.nics_default && node.gpus > 0; ++nic) {
      node.nic_gpu.push_back(nic * node.gpus / node.nics_default);
    }
  }
  places.near_gpu = in.place("near_gpu");
  node.gpudirect = in.boolean("gpudirect").value_or(false);
  in.finish();
}

/// [graph] instead of regular wiring: of [host] only memory and CPU are left, and the other tables exclude
/// it.
void read_irregular(const Value& graph, FigureReader& in, NodeSpec& node, NodePlaces& places,
                    std::vector<Diagnostic>& faults) {
  read_node_graph(graph, node, places, faults);
  for (const char* regular : {"nvlink", "pcie", "nic"}) {
    if (const Value* table = in.table().raw(regular)) {
      faults.push_back(
          {table->place,
           "[" + std::string(regular) + "] and [graph] exclude each other: [graph] holds every wire",
           "put its wires into graph.links, or remove [graph]"});
    }
  }
  in.require("host", "a table [host] with memory_rate");
  const Value* host = in.table().table("host");
  if (host == nullptr) return;
  FigureReader of_host(*host, "host", faults);
  of_host.require("memory_rate", "a rate of one socket's memory, for example \"204.8 GB/s\"");
  node.host_memory_rate = of_host.rate("memory_rate").value_or(BytesPerSecond{});
  if (const std::optional<std::string> cpu = of_host.choice("cpu", cpu_kinds)) node.cpu = *cpu;
  for (const char* regular : {"sockets", "sockets_per_board", "socket_rate", "gpu_link_rate"}) {
    if (of_host.raw(regular) == nullptr) continue;
    faults.push_back(
        {of_host.place(regular),
         "host." + std::string(regular) + " and [graph] exclude each other: [graph] holds every wire",
         "put it into graph.links, for example [\"host0\", \"host1\", \"20.8 GB/s\"]"});
  }
  of_host.finish();
}

NodeSpec read_node(const Value& document, const std::string& otherwise_named) {
  std::vector<Diagnostic> faults;
  NodeSpec node;
  NodePlaces places;
  FigureReader in(document, "", faults);
  places.file = document.place;
  node.name = in.table().string("name").value_or(otherwise_named);
  in.require("gpu", "the name of a GPU profile, for example \"h100-sxm\"");
  node.gpu = in.table().string("gpu").value_or("");
  in.require("gpus", "the number of GPUs");
  node.gpus = whole(in.integer("gpus", 1, most_gpus), 0);
  places.gpus = in.place("gpus");
  node.host_device = in.boolean("host_device").value_or(false);
  const auto section = [&](const char* name) { return in.table().table(name); };
  if (const Value* graph = section("graph")) {
    read_irregular(*graph, in, node, places, faults);
    in.finish();
    check_wiring(node, places, faults);
    throw_faults(std::move(faults));
    return node;
  }
  for (const char* name : {"host", "nic"}) in.require(name, "a table [" + std::string(name) + "]");
  if (const Value* nvlink = section("nvlink")) read_nvlink(*nvlink, node, places, faults);
  if (const Value* bus = section("pcie")) read_bus(*bus, node, places, faults);
  if (const Value* host = section("host")) read_host(*host, node, faults);
  if (const Value* nics = section("nic")) read_nics(*nics, node, places, faults);
  in.finish();
  check_wiring(node, places, faults);
  throw_faults(std::move(faults));
  return node;
}

}  // namespace

NodeSpec load_node(const std::string& name_or_path, const SourcePlace& place) {
  const PresetText found = find_preset(name_or_path, place, embedded_nodes(), "node", "presets/nodes/");
  return read_node(parse_toml(found.text, found.file), found.name);
}

NodeSpec parse_node(std::string_view toml, const std::string& file) {
  return read_node(parse_toml(toml, file), std::filesystem::path(file).stem().string());
}

std::vector<std::string> node_preset_names() { return preset_names(embedded_nodes()); }

}  // namespace stepcast
