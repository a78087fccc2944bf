#include "topology/fabric.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/embedded.hpp"
#include "topology/figure_reader.hpp"
#include "topology/preset_text.hpp"
#include "topology/written_network.hpp"

namespace stepcast {

std::span<const EmbeddedFile> embedded_fabrics();

namespace {

constexpr std::array transports{Transport::ethernet, Transport::roce, Transport::infiniband,
                                Transport::omnipath, Transport::efa,  Transport::tcpx};

std::vector<std::string> transport_names() {
  std::vector<std::string> names;
  for (const Transport transport : transports) names.emplace_back(name_of(transport));
  return names;
}

std::optional<Transport> transport_named(std::string_view name) {
  for (const Transport transport : transports) {
    if (name_of(transport) == name) return transport;
  }
  return {};
}

void read_link(const Value& table, FabricSpec& fabric, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "link", faults);
  in.require("rate", "the line rate of one NIC, for example \"400 Gb/s\"");
  in.require("efficiency", "the share of the line rate that large messages reach, 0 to 1");
  in.require("latency", "the time of one message, NIC to NIC through one switch");
  fabric.link_rate = in.rate("rate").value_or(BytesPerSecond{});
  fabric.efficiency = in.number("efficiency", 0.001, 1).value_or(1);
  fabric.link_latency = in.seconds("latency").value_or(Seconds{});
  fabric.staged_latency = in.seconds("staged_latency").value_or(fabric.link_latency);
  const std::string efficiency = in.source("efficiency");
  const std::string latency = in.source("latency");
  if (!efficiency.empty()) fabric.source = "efficiency: " + efficiency;
  if (!latency.empty()) fabric.source += (fabric.source.empty() ? "latency: " : "; latency: ") + latency;
  in.finish();
}

void read_switch(const Value& table, FabricSpec& fabric, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "switch", faults);
  fabric.switch_latency = in.seconds("latency").value_or(Seconds{});
  fabric.leaf_ports = static_cast<int>(in.integer("leaf_ports", 2, 4096).value_or(fabric.leaf_ports));
  fabric.sharp = in.boolean("sharp").value_or(false);
  in.finish();
}

void read_nic(const Value& table, FabricSpec& fabric, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "nic", faults);
  fabric.nics_per_node = static_cast<int>(
      in.integer("per_node", 0, 1024).value_or(fabric.transport == Transport::ethernet ? 1 : 0));
  fabric.gpudirect = in.boolean("gpudirect").value_or(fabric.transport != Transport::ethernet);
  fabric.staged_rate = in.rate("staged_rate").value_or(BytesPerSecond{});
  fabric.flows_per_connection = static_cast<int>(in.integer("flows_per_connection", 1, 128).value_or(1));
  fabric.channels_per_nic = static_cast<int>(in.integer("channels_per_nic", 1, 64).value_or(1));
  if (fabric.gpudirect && fabric.transport == Transport::ethernet) {
    faults.push_back({in.place("gpudirect"),
                      "nic.gpudirect cannot hold for plain TCP (transport \"ethernet\")",
                      "use roce for RDMA over Ethernet, or set gpudirect = false"});
  }
  in.finish();
}

void read_platform_nccl(const Value& table, FabricSpec& fabric, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "nccl", faults);
  fabric.nccl_algorithm = in.text("algorithm").value_or("");
  fabric.nccl_protocol = in.text("protocol").value_or("");
  fabric.nccl_pxn = in.boolean("pxn").value_or(true);
  in.finish();
}

void read_tcp(const Value& table, FabricSpec& fabric, std::vector<Diagnostic>& faults) {
  FigureReader in(table, "tcp", faults);
  fabric.flow_ceiling = in.rate("flow_ceiling").value_or(BytesPerSecond{});
  fabric.sockets_tuned = static_cast<int>(in.integer("sockets_tuned", 1, 4096).value_or(0));
  fabric.sockets_untuned = static_cast<int>(in.integer("sockets_untuned", 1, 4096).value_or(0));
  fabric.host_copy_rate = in.rate("host_copy_rate").value_or(BytesPerSecond{});
  in.finish();
}

FabricSpec read_fabric(const Value& document, const std::string& otherwise_named) {
  std::vector<Diagnostic> faults;
  FabricSpec fabric;
  TableReader in(document, "", faults);
  fabric.name = in.string("name").value_or(otherwise_named);
  in.require("transport", "one of ethernet, roce, infiniband, omnipath, efa, tcpx");
  const std::optional<std::string> transport = in.choice("transport", transport_names());
  if (transport) fabric.transport = *transport_named(*transport);
  in.require("link", "a table [link] with rate, efficiency and latency");
  if (const Value* link = in.table("link")) read_link(*link, fabric, faults);
  if (const Value* hop = in.table("switch")) read_switch(*hop, fabric, faults);
  if (const Value* nic = in.table("nic")) {
    read_nic(*nic, fabric, faults);
  } else {
    fabric.nics_per_node = fabric.transport == Transport::ethernet ? 1 : 0;
    fabric.gpudirect = fabric.transport != Transport::ethernet;
  }
  if (const Value* nccl = in.table("nccl")) read_platform_nccl(*nccl, fabric, faults);
  if (const Value* tcp = in.table("tcp")) {
    read_tcp(*tcp, fabric, faults);
    if (transport && fabric.transport != Transport::ethernet) {
      faults.push_back({tcp->place, "[tcp] is only for transport = \"ethernet\"", "remove the table"});
    }
  }
  if (const Value* graph = in.table("graph"))
    fabric.graph = std::make_shared<const WrittenNetwork>(read_written_network(*graph, faults));
  in.finish();
  throw_faults(std::move(faults));
  return fabric;
}

/// "roce-50g" -> roce and 50; nothing for other forms.
struct NameParts {
  Transport transport{};
  double gigabits{};
};

std::optional<NameParts> parse_name(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos || !name.ends_with('g')) return {};
  const std::optional<Transport> transport = transport_named(std::string_view(name).substr(0, dash));
  if (!transport) return {};
  double gigabits = 0;
  const char* begin = name.data() + dash + 1;
  const char* end = name.data() + name.size() - 1;
  const auto [stop, trouble] = std::from_chars(begin, end, gigabits, std::chars_format::fixed);
  if (trouble != std::errc{} || stop != end || !(gigabits > 0) || gigabits > 1e6) return {};
  return NameParts{*transport, gigabits};
}

FabricSpec embedded_fabric(const EmbeddedFile& file) {
  const std::string name(file.name);
  return read_fabric(parse_toml(file.text, "presets/fabrics/" + name + ".toml"), name);
}

/// Efficiency and latencies linear in the logarithm of the rate between the two nearest tuned fabrics of the
/// kind, those of the nearest beyond the ends; what is counted (NICs, sockets, ports) comes from the nearer
/// one.
FabricSpec interpolate(const std::string& name, const NameParts& asked) {
  const BytesPerSecond rate = gigabits_per_second(asked.gigabits);
  std::optional<FabricSpec> below, above;
  for (const EmbeddedFile& file : embedded_fabrics()) {
    const std::optional<NameParts> parts = parse_name(std::string(file.name));
    if (!parts || parts->transport != asked.transport) continue;
    FabricSpec tuned = embedded_fabric(file);
    if (tuned.link_rate == rate) return tuned;  // "ethernet-010g" is ethernet-10g
    std::optional<FabricSpec>& side = tuned.link_rate < rate ? below : above;
    const bool nearer = !side || (tuned.link_rate < rate) == (side->link_rate < tuned.link_rate);
    if (nearer) side = std::move(tuned);
  }
  STEPCAST_CHECK(below || above, "a transport without any fabric preset");
  const FabricSpec& low = below ? *below : *above;
  const FabricSpec& high = above ? *above : *below;
  const double span = std::log(high.link_rate / low.link_rate);
  const double share = span > 0 ? std::log(rate / low.link_rate) / span : 0;
  FabricSpec fabric = share < 0.5 ? low : high;
  fabric.name = name;
  fabric.link_rate = rate;
  fabric.efficiency = low.efficiency + share * (high.efficiency - low.efficiency);
  fabric.link_latency = low.link_latency + share * (high.link_latency - low.link_latency);
  fabric.staged_latency = low.staged_latency + share * (high.staged_latency - low.staged_latency);
  fabric.switch_latency = low.switch_latency + share * (high.switch_latency - low.switch_latency);
  fabric.interpolated = true;
  fabric.source =
      span > 0 ? "interpolated between " + low.name + " and " + high.name : "taken from " + low.name;
  return fabric;
}

}  // namespace

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::ethernet:
      return "ethernet";
    case Transport::roce:
      return "roce";
    case Transport::infiniband:
      return "infiniband";
    case Transport::omnipath:
      return "omnipath";
    case Transport::efa:
      return "efa";
    case Transport::tcpx:
      return "tcpx";
  }
  return "unknown";
}

FabricSpec load_fabric(const std::string& name_or_path, const SourcePlace& place) {
  if (!is_path(name_or_path)) {
    for (const EmbeddedFile& file : embedded_fabrics()) {
      if (file.name == name_or_path) return embedded_fabric(file);
    }
    if (const std::optional<NameParts> parts = parse_name(name_or_path))
      return interpolate(name_or_path, *parts);
  }
  const PresetText found = find_preset(name_or_path, place, embedded_fabrics(), "fabric", "presets/fabrics/");
  return read_fabric(parse_toml(found.text, found.file), found.name);
}

std::vector<std::string> fabric_preset_names() { return preset_names(embedded_fabrics()); }

}  // namespace stepcast
