#include <stdexcept>

#include "topology/network_plan.hpp"
#include "topology/written_network.hpp"

namespace stepcast {

NetworkPlan lay_written(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  const WrittenNetwork& network = *request.fabric.graph;
  NetworkPlan plan;
  for (const std::string& name : network.switches) plan.add_switch(DeviceKind::spine_switch, name);
  for (const WrittenNetwork::Cable& cable : network.cables)
    plan.cables.push_back({cable.a, cable.b, cable.rate});
  for (const FabricPort& port : ports) {
    const auto place = network.switch_at(port.node, port.nic);
    if (!place)
      throw std::invalid_argument("node" + std::to_string(port.node) + ".nic" + std::to_string(port.nic) +
                                  " hangs on no switch of [graph] in the file of fabric " +
                                  request.fabric.name);
    plan.switch_of.push_back(*place);
    plan.switches[static_cast<std::size_t>(*place)].kind = DeviceKind::leaf_switch;
  }
  return plan;
}

}  // namespace stepcast
