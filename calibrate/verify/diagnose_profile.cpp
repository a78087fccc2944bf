#include <algorithm>
#include <cstdio>
#include <set>

#include "base/document.hpp"
#include "calibrate/verify/findings.hpp"
#include "sim/collective/measured.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

using Unit = ComparedFigure::Unit;

/// What the file measured beside the shipped figure; what it leaves as shipped isn't listed.
void compare_figures(Diagnosis& diagnosis, const Profile& measured, const Profile& shipped) {
  const auto compare = [&](const std::string& what, Unit unit, double own, double usual) {
    if (!(own > 0) || !(usual > 0) || own == usual) return;
    ComparedFigure figure{what, unit, own, usual};
    diagnosis.figures.push_back(figure);
    if (auto finding = finding_of(what, {figure})) diagnosis.findings.push_back(std::move(*finding));
  };
  for (const auto& [type, ceiling] : measured.gpu.gemm_ceiling) {
    const auto own_peak = measured.gpu.peak.find(type), peak = shipped.gpu.peak.find(type);
    const auto usual = shipped.gpu.gemm_ceiling.find(type);
    if (own_peak == measured.gpu.peak.end() || peak == shipped.gpu.peak.end() ||
        usual == shipped.gpu.gemm_ceiling.end())
      continue;
    compare("best " + std::string(name_of(type)) + " matrix product", Unit::flop_per_second,
            ceiling.value * own_peak->second.value.value, usual->second.value * peak->second.value.value);
  }
  compare("device memory", Unit::bytes_per_second, measured.gpu.memory_rate.value.value,
          shipped.gpu.memory_rate.value.value);
  compare("copies between host and device", Unit::bytes_per_second, measured.gpu.host_link_rate.value.value,
          shipped.gpu.host_link_rate.value.value);
  compare("launch of a kernel", Unit::seconds, measured.software.host_per_kernel.value.value,
          shipped.software.host_per_kernel.value.value);
}

/// A slow PCIe link slows copies to the device.
void add_copy_suspect(Diagnosis& diagnosis, const Scenario& scenario) {
  for (Finding& finding : diagnosis.findings) {
    if (finding.what != "copies between host and device") continue;
    add_suspects(finding, scenario, {}, [&](const Scenario& broken) {
      const double slower = broken.cluster.node_spec.pcie_rate / scenario.cluster.node_spec.pcie_rate;
      if (!(slower < 1)) throw std::invalid_argument("copies don't depend on this");
      return std::vector{slower * finding.figures.front().expected};
    });
  }
}

std::string at_rate(const std::string& fabric, const std::optional<BytesPerSecond>& rate) {
  if (!rate) return fabric;
  char text[48];
  std::snprintf(text, sizeof text, " at %.9g Gb/s", rate->value * 8 / 1e9);
  return fabric + text;
}

/// "4 ranks on 2 nodes, ethernet-1g at 1 Gb/s".
std::string described(const MeasuredCollective& collective) {
  return std::to_string(collective.ranks) + " ranks on " + std::to_string(collective.nodes) +
         (collective.nodes == 1 ? " node, " : " nodes, ") + at_rate(collective.fabric, collective.link_rate);
}

/// "hgx-h100 with h100-sxm, infiniband-400g at 400 Gb/s".
std::string links_of(const Scenario& scenario) {
  const ClusterSection& cluster = scenario.cluster;
  const NodeSpec& spec = cluster.node_spec;
  const std::string node = spec.host_device ? spec.name : spec.name + " with " + spec.gpu;
  if (cluster.nodes == 1) return node;
  return node + ", " + at_rate(cluster.fabric_spec.name, cluster.fabric_spec.link_rate);
}

/// Whether the collective was measured over the scenario's links, by the rule that predictions go by, on a
/// group that its nodes can hold.
bool is_of(const Scenario& scenario, const MeasuredCollective& collective) {
  const ClusterSection& cluster = scenario.cluster;
  const int nodes = std::max(1, collective.nodes);
  if (collective.ranks < 2 || collective.ranks % nodes != 0) return false;
  const int per_node = collective.ranks / nodes;
  if (per_node > cluster.node_spec.gpus) return false;
  const MeasuredQuery query{collective.operation,
                            collective.ranks,
                            nodes,
                            per_node,
                            cluster.fabric_spec.name,
                            cluster.node_spec.name,
                            cluster.fabric_spec.link_rate};
  return find_measured({collective}, query).entry != nullptr;
}

void compare_collectives(Diagnosis& diagnosis, const Scenario& scenario,
                         const std::vector<MeasuredCollective>& measured) {
  std::set<std::string> others;
  for (const MeasuredCollective& collective : measured) {
    const auto operation = operation_named(collective.operation);
    if (!operation || collective.points.empty()) continue;
    if (!is_of(scenario, collective)) {
      others.insert(described(collective));
      continue;
    }
    Scenario group = scenario;  // the same hardware, as many of it as were measured
    group.cluster.nodes = std::max(1, collective.nodes);
    group.cluster.gpus_per_node = collective.ranks / group.cluster.nodes;
    compare_collective_times(diagnosis, group, *operation,
                             {collective.points.begin(), collective.points.end()}, {});
  }
  for (const std::string& other : others)
    diagnosis.notes.push_back("collectives of " + other + " are left aside: the scenario has " +
                              links_of(scenario));
}

/// What a profile file holds, as a list: "[gpu] of h100-sxm", "[[collective]] of 4 ranks on ...".
struct Contents {
  std::set<std::string> sections;
  bool of_hardware{};  ///< one of them is of the scenario's node or of its GPU
};

Contents contents_of(const std::string& file, const NodeSpec& node,
                     const std::vector<MeasuredCollective>& collectives) {
  Contents contents;
  const Value document = parse_toml(read_file(file), file);
  const auto add = [&](const std::string& section, const Value& table, const char* key) {
    const Value* name = table.find(key);
    if (name == nullptr) return;
    contents.sections.insert(section + " of " + name->string);
    const std::string& own = section == "[links]" ? node.name : node.gpu;
    contents.of_hardware = contents.of_hardware || (section != "[software]" && name->string == own);
  };
  for (const auto& [section, key] : {std::pair("gpu", "name"), std::pair("host", "name"),
                                     std::pair("links", "node"), std::pair("software", "name")}) {
    if (const Value* table = document.find(section)) add("[" + std::string(section) + "]", *table, key);
  }
  for (const std::string section : {"gemm", "kernel", "attention"}) {
    const Value* tables = document.find(section);
    if (tables == nullptr) continue;
    for (const Value& table : tables->array) add("[[" + section + "]]", table, "device");
  }
  for (const MeasuredCollective& collective : collectives)
    contents.sections.insert("[[collective]] of " + described(collective));
  return contents;
}

/// @throws ScenarioError when the file holds nothing of the scenario's hardware
void require_something(const Diagnosis& diagnosis, const Scenario& scenario,
                       const std::vector<MeasuredCollective>& collectives) {
  if (!diagnosis.figures.empty()) return;
  const Contents contents = contents_of(diagnosis.file, scenario.cluster.node_spec, collectives);
  if (contents.of_hardware) return;
  std::string held;
  for (const std::string& section : contents.sections) held += (held.empty() ? "" : "; ") + section;
  SourcePlace place;
  place.file = diagnosis.file;
  place.line = place.column = 1;
  throw ScenarioError(
      Diagnostic{place,
                 "nothing here is of the scenario's hardware, " + links_of(scenario) + "; the file holds " +
                     (held.empty() ? "no measurement" : held),
                 "name a scenario of what was measured, or --set cluster.node, cluster.fabric and "
                 "cluster.link_rate to it"});
}

}  // namespace

Diagnosis diagnose_profile(const std::string& file, Scenario scenario) {
  Diagnosis diagnosis;
  diagnosis.file = file;
  diagnosis.kind = "profile";
  diagnosis.hardware = hardware_of(scenario);
  leave_profiles_aside(scenario, diagnosis.notes);
  const NodeSpec& node = scenario.cluster.node_spec;
  // Launch cost is the trainer's own: calibration measures with it.
  constexpr const char* software = "stepcast-trainer";
  const SourcePlace& place = scenario.cluster.node_place;
  const Profile shipped = load_profile(node.gpu, node.name, software, {}, place);
  const Profile measured = load_profile(node.gpu, node.name, software, {file}, place);
  diagnosis.notes.insert(diagnosis.notes.end(), measured.notes.begin(), measured.notes.end());
  compare_figures(diagnosis, measured, shipped);
  add_copy_suspect(diagnosis, scenario);

  compare_collectives(diagnosis, scenario, measured.collectives);
  require_something(diagnosis, scenario, measured.collectives);
  if (diagnosis.figures.empty())
    diagnosis.notes.push_back(file + " holds no figure of " + node.gpu + " or " + node.name +
                              " that differs from the shipped ones");
  return diagnosis;
}

}  // namespace stepcast
