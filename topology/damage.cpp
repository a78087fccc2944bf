#include <cmath>
#include <stdexcept>

#include "base/diagnostic.hpp"
#include "topology/node_wiring.hpp"

namespace stepcast {
namespace {

int device_named(const NodeWiring& wiring, const std::string& name) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < wiring.devices.size(); ++i) {
    if (wiring.devices[i].name == name) return static_cast<int>(i);
    known.push_back(wiring.devices[i].name);
  }
  throw std::invalid_argument("the node has no \"" + name + "\": " + suggest(name, known));
}

void weaken_nvlinks(NodeWiring& wiring, int a, int b, double remaining) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    int& count = wiring.nvlinks[static_cast<std::size_t>(from * wiring.gpus + to)];
    count = static_cast<int>(std::floor(count * remaining + 1e-9));
  }
}

void weaken(NodeWiring& wiring, Link& link, double remaining) {
  link.capacity = remaining * link.capacity;
  if (link.kind != LinkKind::nvlink || link.from > link.to) return;  // each pair once, not once per direction
  if (link.to < wiring.gpus) {
    weaken_nvlinks(wiring, link.from, link.to, remaining);
  } else if (link.to == wiring.nvswitch) {
    for (int peer = 0; peer < wiring.gpus; ++peer)
      if (peer != link.from) weaken_nvlinks(wiring, link.from, peer, remaining);
  }
}

void weaken_between(NodeWiring& wiring, const FaultEnds& ends, double remaining) {
  const int first = device_named(wiring, ends.first), second = device_named(wiring, ends.second);
  bool found = false;
  for (Link& link : wiring.links) {
    const bool between =
        (link.from == first && link.to == second) || (link.from == second && link.to == first);
    if (!between) continue;
    found = true;
    weaken(wiring, link, remaining);
  }
  if (!found) throw std::invalid_argument("no link joins " + ends.first + " and " + ends.second);
}

}  // namespace

NodeHealth damage(NodeWiring& wiring, const std::vector<LinkFault>& faults) {
  NodeHealth health{std::vector<double>(static_cast<std::size_t>(wiring.nics), 1.0),
                    std::vector<double>(static_cast<std::size_t>(wiring.gpus), 1.0)};
  for (const LinkFault& fault : faults) {
    const FaultEnds ends = ends_of(fault.at);
    if (!ends.second.empty()) {
      weaken_between(wiring, ends, fault.remaining);
      continue;
    }
    const int device = device_named(wiring, ends.first);
    const Device& hit = wiring.devices[static_cast<std::size_t>(device)];
    if (hit.kind == DeviceKind::nic) {
      health.nics[static_cast<std::size_t>(hit.index)] *= fault.remaining;
    } else if (hit.kind == DeviceKind::gpu) {
      if (!(fault.remaining > 0))
        throw std::invalid_argument("a job cannot run with a dead GPU; use fewer GPUs or nodes");
      health.gpus[static_cast<std::size_t>(hit.index)] *= fault.remaining;
    } else {
      for (Link& link : wiring.links)
        if (link.from == device || link.to == device) weaken(wiring, link, fault.remaining);
    }
  }
  return health;
}

}  // namespace stepcast
