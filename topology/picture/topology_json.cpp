#include <span>

#include "base/json.hpp"
#include "topology/node_wiring.hpp"
#include "topology/picture/picture.hpp"

namespace stepcast {
namespace {

const char* kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::nvswitch:
      return "nvswitch";
    case DeviceKind::pcie_switch:
      return "pcie_switch";
    case DeviceKind::host:
      return "host";
    case DeviceKind::nic:
      return "nic";
    case DeviceKind::leaf_switch:
    case DeviceKind::spine_switch:
      break;
  }
  return "switch";
}

std::string document(const std::string& name, std::span<const Device> devices, std::span<const Link> links,
                     bool one_node) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.topology/1");
  json.member("name", name);
  json.key("devices");
  json.begin_array();
  for (const Device& device : devices) {
    json.begin_object();
    json.member("name", device.name);
    json.member("kind", kind_name(device.kind));
    json.key("node");
    if (device.node < 0 || one_node) {
      json.null();
    } else {
      json.value(device.node);
    }
    json.member("index", device.index);
    json.end_object();
  }
  json.end_array();
  json.key("links");
  json.begin_array();
  for (const Link& link : links) {
    json.begin_object();
    json.member("from", devices[static_cast<std::size_t>(link.from)].name);
    json.member("to", devices[static_cast<std::size_t>(link.to)].name);
    json.member("kind", name_of(link.kind));
    json.member("rate_Bps", link.capacity.value);
    json.member("latency_s", link.latency.value);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace

std::string node_json(const NodeSpec& node) {
  FabricSpec cards;
  cards.transport = Transport::infiniband;
  const NodeWiring wiring = wire_node(
      node, node.gpus, node.nics_default > 0 ? place_nics(node, node.gpus, cards) : std::vector<NicPlace>{});
  return document(node.name, wiring.devices, wiring.links, true);
}

std::string cluster_json(const Cluster& cluster, const std::string& name) {
  return document(name, cluster.devices(), cluster.links(), false);
}

}  // namespace stepcast
