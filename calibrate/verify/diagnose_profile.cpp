#include <algorithm>

#include "calibrate/verify/findings.hpp"
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

  for (const MeasuredCollective& collective : measured.collectives) {
    const auto operation = operation_named(collective.operation);
    const int nodes = std::max(1, collective.nodes);
    if (!operation || collective.ranks < 2 || collective.ranks % nodes != 0 ||
        collective.ranks / nodes > node.gpus)
      continue;
    Scenario group = scenario;  // the same hardware, as many of it as were measured
    group.cluster.nodes = nodes;
    group.cluster.gpus_per_node = collective.ranks / nodes;
    std::vector<std::pair<Bytes, Seconds>> times(collective.points.begin(), collective.points.end());
    if (!times.empty()) compare_collective_times(diagnosis, group, *operation, times, {});
  }
  if (diagnosis.figures.empty())
    diagnosis.notes.push_back(file + " holds no figure of " + node.gpu + " or " + node.name +
                              " that differs from the shipped ones");
  return diagnosis;
}

}  // namespace stepcast
