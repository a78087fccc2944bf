#include <set>

#include "base/document.hpp"
#include "calibrate/cuda/device_name.hpp"
#include "calibrate/import/nccl_tests_log.hpp"
#include "calibrate/verify/findings.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

[[noreturn]] void none_of_these_ranks(const NcclTestsLog& log, const Scenario& scenario) {
  const NcclTestsRun& run = log.runs.front();
  std::string hint = "set cluster.nodes and cluster.gpus_per_node to what was run";
  if (const int hosts = run.hosts(); hosts > 0 && run.ranks % hosts == 0)
    hint = "--set cluster.nodes=" + std::to_string(hosts) +
           " --set cluster.gpus_per_node=" + std::to_string(run.ranks / hosts);
  throw ScenarioError(Diagnostic{scenario.cluster.node_place,
                                 log.file + " was run on " + std::to_string(run.ranks) +
                                     " ranks, and the scenario has " + std::to_string(scenario.gpus()),
                                 hint});
}

std::vector<std::pair<Bytes, Seconds>> times_of(const NcclTestsLog& log, Operation operation, int ranks,
                                                Bytes least) {
  std::vector<std::pair<Bytes, Seconds>> times;
  for (const NcclTestsRow& row : rows_by_size(log, operation, ranks)) {
    const auto& half = row.out_of_place ? row.out_of_place : row.in_place;
    if (half && row.size >= least) times.emplace_back(row.size, half->time);
  }
  return times;
}

/// Rank lines name the GPU.
void note_other_gpus(Diagnosis& diagnosis, const std::set<std::string>& gpus, const Scenario& scenario) {
  const std::string& own = scenario.cluster.node_spec.gpu;
  for (const std::string& gpu : gpus) {
    const std::string name = gpu_profile_name(gpu);
    if (name != own)
      diagnosis.notes.push_back("the log was written on \"" + gpu + "\" (" + name +
                                "), and the scenario's node has " + own);
  }
}

}  // namespace

Diagnosis diagnose_collectives(const std::string& file, Scenario scenario) {
  const std::string text = read_file(file);
  const NcclTestsLog log = parse_nccl_tests_log(text, file);
  Diagnosis diagnosis;
  diagnosis.file = file;
  diagnosis.kind = "nccl-tests log";
  diagnosis.hardware = hardware_of(scenario);
  leave_profiles_aside(scenario, diagnosis.notes);

  std::set<Operation> operations;
  std::set<std::string> gpus;
  bool one_process = false, unnamed = false;
  for (const NcclTestsRun& run : log.runs) {
    if (run.ranks > 0 && run.ranks != scenario.gpus()) continue;
    for (const NcclTestsRank& place : run.places)
      if (!place.gpu.empty()) gpus.insert(place.gpu);
    if (run.operation) operations.insert(*run.operation);
    unnamed = unnamed || !run.operation;
    one_process = one_process || run.threads * run.gpus_per_thread > 1;
    if (const auto version = nccl_version_of(run.nccl_version)) scenario.nccl.version = *version;
  }
  if (operations.empty() && !unnamed) none_of_these_ranks(log, scenario);
  note_other_gpus(diagnosis, gpus, scenario);
  if (operations.empty()) {
    // Two ranks: the columns are the same for several operations. What people run first is this.
    operations.insert(Operation::all_reduce);
    diagnosis.notes.push_back("the log does not say what was run: taken as all_reduce");
  }
  // Launching on several GPUs from one process adds microseconds that are no fault of the hardware.
  const Bytes least = one_process ? mebibytes(1) : Bytes();
  if (one_process)
    diagnosis.notes.push_back(
        "one process drives several GPUs, which slows small calls: sizes below 1 MiB are left out");
  const Testimony said = find_evidence(text, scenario);
  for (const Operation operation : operations) {
    const auto times = times_of(log, operation, scenario.gpus(), least);
    if (!times.empty()) compare_collective_times(diagnosis, scenario, operation, times, said);
  }
  if (diagnosis.findings.empty()) diagnosis.unexplained = said.evidence;
  return diagnosis;
}

}  // namespace stepcast
