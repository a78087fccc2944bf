#include "base/document.hpp"
#include "calibrate/verify/findings.hpp"
#include "calibrate/verify/measured_log.hpp"
#include "sim/report/report.hpp"

namespace stepcast {

Diagnosis diagnose_training(const std::string& file, Scenario scenario) {
  Diagnosis diagnosis;
  diagnosis.file = file;
  diagnosis.kind = "training log";
  diagnosis.hardware = hardware_of(scenario);
  leave_profiles_aside(scenario, diagnosis.notes);
  Predictor predictor;
  const LoggedPoint logged = verify_against_log(scenario, file, predictor);
  diagnosis.notes.insert(diagnosis.notes.end(), logged.notes.begin(), logged.notes.end());
  for (const std::string& one : logged.contradictions)
    diagnosis.notes.push_back("not the scenario's job: " + one);
  ComparedFigure step{"a training step", ComparedFigure::Unit::seconds, logged.point.measured.step_time.value,
                      logged.point.predicted.step_time.value};
  diagnosis.figures.push_back(step);
  const Testimony said = find_evidence(read_file(file), scenario);
  if (auto finding = finding_of("training", {step})) {
    add_suspects(*finding, scenario, said, [](const Scenario& broken) {
      // A predictor remembers clusters by what scenario files say of them, and this one no file describes.
      Predictor anew;
      return std::vector{anew.predict(broken).step_time.value};
    });
    diagnosis.findings.push_back(std::move(*finding));
  } else {
    diagnosis.unexplained = said.evidence;
  }
  return diagnosis;
}

}  // namespace stepcast
