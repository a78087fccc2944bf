#include <algorithm>

#include "topology/network_plan.hpp"

namespace stepcast {

NetworkPlan lay_torus(const ClusterRequest& request, const std::vector<FabricPort>& ports) {
  NetworkPlan plan;
  int nics = 1;
  for (const FabricPort& port : ports) {
    plan.switch_of.push_back(port.node);
    nics = std::max(nics, port.nic + 1);
  }
  const BytesPerSecond rate =
      request.torus_link_rate.value > 0 ? request.torus_link_rate : nics * request.fabric.link_rate;
  for (int router = 0; router < request.nodes; ++router)
    plan.add_switch(DeviceKind::leaf_switch, "router" + std::to_string(router));
  for (int router = 0; router < request.nodes; ++router) {
    int stride = 1;
    for (const int size : request.torus) {
      const int place = router / stride % size;
      const int next = router + ((place + 1) % size - place) * stride;
      // A ring of two has one cable, not one there and another one back.
      if (size > 2 || (size == 2 && place == 0)) plan.cables.push_back({router, next, rate});
      stride *= size;
    }
  }
  return plan;
}

}  // namespace stepcast
