#include "base/document.hpp"
#include "calibrate/verify/findings.hpp"

namespace stepcast {
namespace {

/// A training log has to be asked about one job.
Scenario one_point(const ScenarioFile& file) {
  std::vector<ScenarioPoint> points = expand(file);
  if (points.size() == 1) {
    if (!points.front().scenario) throw ScenarioError(*points.front().fault);
    return std::move(*points.front().scenario);
  }
  std::string keys;
  for (const ScenarioFile::Swept& swept : file.swept)
    if (swept.values.size() > 1) keys += " --set " + swept.key + "=" + swept.values.front().to_text();
  SourcePlace place;
  place.file = file.file;
  place.line = place.column = 1;
  throw ScenarioError(Diagnostic{place, "the scenario asks " + std::to_string(points.size()) + " questions",
                                 "say which of them the log answers, for example" + keys});
}

/// What NCCL says in a log that holds no times, or in a topology file that it dumped.
/// @throws `no_times` when NCCL says nothing either
Diagnosis diagnose_lines(const std::string& file, const std::string& text, const Scenario& scenario,
                         const ScenarioError& no_times) {
  const bool says =
      text.find(" NCCL INFO ") != std::string::npos || text.find("link_speed=") != std::string::npos;
  if (!says) throw ScenarioError(no_times.diagnostics());
  Diagnosis diagnosis;
  diagnosis.file = file;
  diagnosis.kind = "NCCL's lines";
  diagnosis.hardware = hardware_of(scenario);
  diagnosis.unexplained = find_evidence(text, scenario).evidence;
  diagnosis.notes.push_back(no_times.diagnostics().front().message);
  return diagnosis;
}

}  // namespace

Diagnosis diagnose_log(const std::string& file, const ScenarioFile& scenario) {
  const std::string text = read_file(file);
  // Tables of nccl-tests say what columns they have; a scenario without a model can't be about training.
  const bool table = text.find("busbw") != std::string::npos && text.find("algbw") != std::string::npos;
  const bool collectives = table || scenario.document.find("model") == nullptr;
  const Scenario asked = collectives ? cluster_of(scenario) : one_point(scenario);
  try {
    return collectives ? diagnose_collectives(file, asked) : diagnose_training(file, asked);
  } catch (const ScenarioError& error) {
    if (error.diagnostics().front().place.file != file) throw;  // no fault of the log
    return diagnose_lines(file, text, asked, error);
  }
}

}  // namespace stepcast
