#include "topology/import/write_nccl_xml.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "topology/import/known_hardware.hpp"
#include "topology/node_toml.hpp"
#include "topology/node_tree.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;
using Element = pugi::xml_node;

class XmlWriter {
 public:
  XmlWriter(const NodeSpec& node, int compute_capability, const FabricSpec* fabric)
      : node_(node), tree_(node), compute_capability_(compute_capability), fabric_(fabric) {
    if (const KnownGpu* known = known_gpu(node.gpu)) device_id_ = known->device_ids.front();
  }

  NcclXml write() {
    give_bus_ids();
    Element system = document_.append_child("system");
    system.append_attribute("version") = "1";
    for (int host = 0; host < tree_.hosts; ++host) {
      Element cpu = system.append_child("cpu");
      cpu.append_attribute("numaid") = host;
      cpu.append_attribute("arch") = node_.cpu == "arm" ? "arm64" : node_.cpu == "power" ? "ppc64" : "x86_64";
      if (node_.cpu == "intel") cpu.append_attribute("vendor") = "GenuineIntel";
      if (node_.cpu == "amd") cpu.append_attribute("vendor") = "AuthenticAMD";
      write_children(cpu, {Kind::host, host});
    }
    if (tree_.hosts > 1)
      notes_.push_back("NCCL's XML has no rate between sockets: NCCL takes its own for the CPU");
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_indent | pugi::format_no_declaration);
    return {text.str(), notes_};
  }

 private:
  void give_bus_ids() {
    int next = 1;
    const auto give = [&](WireEnd end) {
      char id[32];
      std::snprintf(id, sizeof id, "%04x:%02x:00.0", next / 256, next % 256);
      bus_ids_[end] = id;
      ++next;
    };
    for (int host = 0; host < tree_.hosts; ++host) walk({Kind::host, host}, give);
    give({Kind::nvswitch, 0});
  }

  template <class Visit>
  void walk(WireEnd above, const Visit& visit) {
    for (const NodeTree::Child& child : tree_.children[above]) {
      visit(child.device);
      walk(child.device, visit);
    }
  }

  void write_children(Element parent, WireEnd above) {
    for (const NodeTree::Child& child : tree_.children[above]) {
      Element pci = parent.append_child("pci");
      pci.append_attribute("busid") = bus_ids_[child.device].c_str();
      const bool infiniband = fabric_ != nullptr && fabric_->transport == Transport::infiniband;
      const char* kind = child.device.kind == Kind::gpu   ? "0x030200"
                         : child.device.kind == Kind::nic ? (infiniband ? "0x020700" : "0x020000")
                                                          : "0x060400";
      pci.append_attribute("class") = kind;
      if (child.device.kind == Kind::gpu && !device_id_.empty()) {
        pci.append_attribute("vendor") = "0x10de";
        pci.append_attribute("device") = device_id_.c_str();
      }
      const bool coherent = write_rate(pci, child);
      if (child.device.kind == Kind::gpu) write_gpu(pci, child, coherent);
      if (child.device.kind == Kind::nic) write_card(pci, child.device.index);
      write_children(pci, child.device);
    }
  }

  /// True when the wire is no PCIe but NVLink-C2C.
  bool write_rate(Element pci, const NodeTree::Child& child) {
    std::optional<PcieLink> link = pcie_link_of(child.rate);
    if (!link && child.device.kind == Kind::gpu && tree_.parent.at(child.device).kind == Kind::host)
      return true;
    if (!link) {
      link = nearest_pcie_link(child.rate);
      notes_.push_back(exact_rate(child.rate) + " of " + child.device.name() +
                       " is the rate of no PCIe link; the nearest is written");
    }
    char speed[32];
    std::snprintf(speed, sizeof speed, "%.1f GT/s PCIe", link->gigatransfers);
    pci.append_attribute("link_speed") = speed;
    pci.append_attribute("link_width") = link->width;
    return false;
  }

  void write_gpu(Element pci, const NodeTree::Child& child, bool coherent) {
    const int index = child.device.index;
    Element gpu = pci.append_child("gpu");
    gpu.append_attribute("dev") = index;
    gpu.append_attribute("sm") = compute_capability_;
    gpu.append_attribute("rank") = index;
    gpu.append_attribute("gdr") = node_.gpudirect ? 1 : 0;
    for (const NodeWire& wire : tree_.nvlinks) {
      if (wire.first != child.device && wire.second != child.device) continue;
      const WireEnd peer = wire.first == child.device ? wire.second : wire.first;
      Element nvlink = gpu.append_child("nvlink");
      nvlink.append_attribute("target") = bus_ids_[peer].c_str();
      nvlink.append_attribute("count") = wire.links;
      nvlink.append_attribute("tclass") = peer.kind == Kind::nvswitch ? "0x068000" : "0x030200";
    }
    if (!coherent) return;
    Element c2c = gpu.append_child("c2c");
    c2c.append_attribute("bw") = static_cast<int>(std::lround(child.rate.value / 1e6));
    c2c.append_attribute("count") = 1;
  }

  void write_card(Element pci, int index) {
    Element net = pci.append_child("nic").append_child("net");
    net.append_attribute("name") = WireEnd{Kind::nic, index}.name().c_str();
    net.append_attribute("dev") = index;
    const BytesPerSecond own =
        node_.nic_rates.empty() ? BytesPerSecond{} : node_.nic_rates[static_cast<std::size_t>(index)];
    const BytesPerSecond rate = own.value > 0 || fabric_ == nullptr ? own : fabric_->link_rate;
    if (rate.value > 0) net.append_attribute("speed") = static_cast<int>(std::lround(rate.value * 8 / 1e6));
    net.append_attribute("port") = 1;
    char guid[32];
    std::snprintf(guid, sizeof guid, "0x%x", index + 1);
    net.append_attribute("guid") = guid;
    net.append_attribute("gdr") = node_.gpudirect && (fabric_ == nullptr || fabric_->gpudirect) ? 1 : 0;
  }

  const NodeSpec& node_;
  NodeTree tree_;
  int compute_capability_;
  const FabricSpec* fabric_;
  std::string device_id_;
  pugi::xml_document document_;
  std::map<WireEnd, std::string> bus_ids_;
  std::vector<std::string> notes_;
};

}  // namespace

NcclXml nccl_xml(const NodeSpec& node, int compute_capability, const FabricSpec* fabric) {
  return XmlWriter(node, compute_capability, fabric).write();
}

}  // namespace stepcast
