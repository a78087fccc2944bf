#include "topology/node_checks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/node_wiring.hpp"
#include "topology/path_search.hpp"

namespace stepcast {
namespace {

void check_pairs(NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  std::vector<NvlinkPair> sound;
  std::map<int, int> used;
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < node.nvlink_mesh.size(); ++i) {
    const NvlinkPair& pair = node.nvlink_mesh[i];
    const std::string name = "[" + std::to_string(pair.first) + ", " + std::to_string(pair.second) + "]";
    const auto fault = [&](const std::string& message, const std::string& hint) {
      faults.push_back({places.pairs[i], message, hint});
    };
    const auto within = [&](int gpu) { return gpu >= 0 && gpu < node.gpus; };
    if (!within(pair.first) || !within(pair.second)) {
      fault("nvlink.pairs: " + name + " names a GPU that is not there",
            "GPUs are numbered 0 to " + std::to_string(node.gpus - 1));
    } else if (pair.first == pair.second) {
      fault("nvlink.pairs: " + name + " joins a GPU to itself", "name two different GPUs");
    } else if (!seen.insert(std::minmax(pair.first, pair.second)).second) {
      fault("nvlink.pairs: " + name + " stands there twice",
            "give the number of links as the third figure instead");
    } else {
      used[pair.first] += pair.links;
      used[pair.second] += pair.links;
      sound.push_back(pair);
    }
  }
  node.nvlink_mesh = std::move(sound);
  for (const auto& [gpu, links] : used) {
    if (node.nvlink_links_per_gpu == 0 || links <= node.nvlink_links_per_gpu) continue;
    faults.push_back({places.links_per_gpu,
                      "nvlink.pairs gives GPU " + std::to_string(gpu) + " " + std::to_string(links) +
                          " links, but nvlink.links_per_gpu is " + std::to_string(node.nvlink_links_per_gpu),
                      "take links out of its pairs, or raise links_per_gpu"});
  }
}

/// Of [graph]: a network card that no GPU reaches over PCIe.
void check_cards(const NodeSpec& node, const NodePlaces& places, std::vector<Diagnostic>& faults) {
  std::vector<NicPlace> cards;
  for (int card = 0; card < node.nics_default; ++card) cards.push_back({-1, 0, card});
  const NodeWiring wiring = wire_node(node, node.gpus, cards);
  const PathSearch search(static_cast<int>(wiring.devices.size()), wiring.links);
  for (int card = 0; card < wiring.nics; ++card) {
    const PathSearch::Row row = search.from(wiring.first_nic + card, Reach::bus);
    if (std::any_of(row.cost.begin(), row.cost.begin() + wiring.gpus,
                    [](double c) { return std::isfinite(c); }))
      continue;
    faults.push_back({places.nvlink,
                      "nic" + std::to_string(card) + " cannot be reached: no PCIe leads to it from any GPU",
                      "join its switch or host to one that GPUs hang on"});
  }
}

void check_reach(const NodeSpec& node, const NodePlaces& places, std::vector<Diagnostic>& faults) {
  const NodeWiring wiring = wire_node(node, node.gpus, {});
  const PathSearch search(static_cast<int>(wiring.devices.size()), wiring.links);
  const PathSearch::Row from_first = search.from(0, Reach::all);
  const bool host_reached = std::isfinite(from_first.cost[static_cast<std::size_t>(wiring.first_host)]);
  const SourcePlace& wires = node.nvlink == NodeSpec::Nvlink::none ? places.gpus : places.nvlink;
  const bool irregular = !node.wires.empty();
  const std::string add_bus = irregular ? "join it to a PCIe switch or a host in graph.links"
                                        : "give [pcie] rate, so that every GPU hangs on its host";
  for (int gpu = 1; gpu < node.gpus; ++gpu) {
    if (std::isfinite(from_first.cost[static_cast<std::size_t>(gpu)])) continue;
    faults.push_back(
        {wires,
         "GPU " + std::to_string(gpu) + " cannot be reached: no NVLink and no PCIe leads from GPU 0 to it",
         node.nvlink == NodeSpec::Nvlink::mesh && !irregular ? "add it to nvlink.pairs, or " + add_bus
                                                             : add_bus});
  }
  if (!host_reached) {
    faults.push_back({irregular ? places.nvlink : places.file,
                      irregular ? "gpu0 reaches no host: no PCIe leads from it to host0"
                                : "no GPU reaches its host or a network card: [pcie] rate is missing",
                      add_bus});
  } else if (irregular) {
    check_cards(node, places, faults);
  }
}

}  // namespace

void check_wiring(NodeSpec& node, NodePlaces& places, std::vector<Diagnostic>& faults) {
  if (node.gpus < 1 || node.sockets < 1) return;  // a fault of its own, and nothing to wire
  const std::size_t before = faults.size();
  check_pairs(node, places, faults);
  places.wires_faulty |= faults.size() > before;
  if (node.wires.empty() && node.nics_default != static_cast<int>(node.nic_gpu.size())) {
    faults.push_back({places.nic_count,
                      "nic.count is " + std::to_string(node.nics_default) + ", but nic.near_gpu lists " +
                          std::to_string(node.nic_gpu.size()),
                      "list one GPU for every card"});
  }
  // Behind a wire that could not be read, everything would look unreachable.
  if (!places.wires_faulty) check_reach(node, places, faults);
}

}  // namespace stepcast
