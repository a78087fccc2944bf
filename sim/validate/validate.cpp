#include "sim/validate/validate.hpp"

#include <map>
#include <memory>
#include <optional>

#include "base/diagnostic.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/read.hpp"
#include "sim/validate/map_row.hpp"

namespace stepcast {
namespace {

/// What one thread keeps between rows.
struct Worker {
  explicit Worker(const std::atomic<bool>* cancel) : predictor(cancel) {}
  Predictor predictor;
  ReadCache cache;
};

/// The scenario of a document; @throws SkippedRow with the first fault when there is none
Scenario scenario_of(const Value& document, ReadCache& cache) {
  ReadResult read = read_scenario(document, cache);
  if (!read.faults.empty()) throw SkippedRow{read.faults.front().message};
  if (!read.impossible.empty()) throw SkippedRow{read.impossible.front().message};
  return std::move(read.scenario);
}

std::vector<std::string> groups_of(const MappedRow& row) {
  return {"all",
          row.assumed.empty() ? "stated" : "assumed",
          "source:" + row.source,
          "gpu:" + row.gpu,
          "model:" + row.model,
          "software:" + row.software,
          "strategy:" + row.strategy,
          scale_group(row.gpus, row.nodes)};
}

ValidatedRow predict_row(const MeasuredRow& row, const Mapping& mapping, Worker& worker) {
  const MappedRow mapped = map_row(row, mapping);
  const Scenario scenario = scenario_of(mapped.scenario, worker.cache);
  PointReport point;
  try {
    point = worker.predictor.predict(scenario);
  } catch (const ScenarioError& error) {
    throw SkippedRow{error.diagnostics().front().message};
  }
  ValidatedRow made;
  made.file = row.file;
  made.line = row.line;
  made.predicted = point.step_time;
  made.measured = mapped.measured;
  made.relative_error = point.step_time / mapped.measured - 1;
  made.assumed = mapped.assumed;
  made.settings = settings_of(mapped.scenario);
  made.source = mapped.source;
  made.gpu = mapped.gpu;
  made.model = mapped.model;
  made.software = mapped.software;
  made.strategy = mapped.strategy;
  made.gpus = mapped.gpus;
  made.fits = point.memory.fits();
  made.rate_share = static_cast<double>(scenario.global_batch_size()) / mapped.gpus;
  made.groups = groups_of(mapped);
  return made;
}

/// The first three groups are there even when empty; the others in the order of their kinds, then by name.
std::vector<GroupSummary> summarize(const std::vector<ValidatedRow>& rows) {
  std::map<std::string, std::vector<Comparison>> members = {{"all", {}}, {"stated", {}}, {"assumed", {}}};
  for (const ValidatedRow& row : rows) {
    for (const std::string& group : row.groups) {
      members[group].push_back(
          {row.relative_error, row.rate_share / row.predicted.value, row.rate_share / row.measured.value});
    }
  }
  std::vector<GroupSummary> summary;
  for (const std::string kind :
       {"all", "stated", "assumed", "source:", "gpu:", "model:", "software:", "strategy:", "scale:"}) {
    for (const auto& [group, comparisons] : members) {
      const bool belongs = kind.ends_with(':') ? group.starts_with(kind) : group == kind;
      if (belongs) summary.push_back(summarize_group(group, comparisons));
    }
  }
  return summary;
}

}  // namespace

std::string scale_group(int gpus, int nodes) {
  if (gpus == 1) return "scale:1 GPU";
  if (nodes == 1) return "scale:one node";
  if (gpus <= 64) return "scale:up to 64 GPUs";
  return gpus <= 512 ? "scale:up to 512 GPUs" : "scale:above 512 GPUs";
}

Validation validate(const std::vector<MeasuredTable>& tables, const Mapping& mapping,
                    const ValidateOptions& options) {
  Validation validation;
  std::vector<const MeasuredRow*> rows;
  for (const MeasuredTable& table : tables) {
    validation.notes.insert(validation.notes.end(), table.notes.begin(), table.notes.end());
    for (const MeasuredRow& row : table.rows) rows.push_back(&row);
  }

  std::vector<std::optional<ValidatedRow>> predicted(rows.size());
  std::vector<std::string> reasons(rows.size());
  const auto make_worker = [&] {
    auto worker = std::make_shared<Worker>(options.cancel);
    return [&, worker](std::size_t i) {
      try {
        predicted[i] = predict_row(*rows[i], mapping, *worker);
      } catch (const SkippedRow& skipped) {
        reasons[i] = skipped.reason;
      }
    };
  };
  const auto done = [&](std::size_t count) {
    if (options.progress) options.progress(count, rows.size());
  };
  for_each_index(rows.size(), options.jobs, make_worker, done, options.cancel);

  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (predicted[i]) {
      validation.rows.push_back(std::move(*predicted[i]));
    } else {
      validation.skipped.push_back({rows[i]->file, rows[i]->line, reasons[i]});
    }
  }
  validation.summary = summarize(validation.rows);
  return validation;
}

}  // namespace stepcast
