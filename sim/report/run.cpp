#include <map>
#include <utility>

#include "base/print.hpp"
#include "sim/report/anomalies.hpp"
#include "sim/report/parallel.hpp"
#include "sim/report/report.hpp"
#include "sim/report/scaling.hpp"

namespace stepcast {
namespace {

/// Everything that one call of run() predicts: the points that exist, then what they are compared with.
class Jobs {
 public:
  struct Job {
    Scenario scenario;
    bool companion{};  ///< not asked for by the user: a fault in it only leaves its figure unknown
    PointReport result;
    bool known{};
    std::string uncountable;  ///< why there is no result: the clock can't count the step
  };

  std::size_t add(const std::string& name, const Scenario& scenario, bool companion) {
    const auto [place, fresh] = index_of_.try_emplace(name, jobs_.size());
    if (fresh) jobs_.push_back({scenario, companion, {}, false, {}});
    return place->second;
  }

  [[nodiscard]] const PointReport* result(std::size_t job) const {
    return jobs_[job].known ? &jobs_[job].result : nullptr;
  }

  [[nodiscard]] const std::string& uncountable(std::size_t job) const { return jobs_[job].uncountable; }

  void run(const RunOptions& options) {
    const auto make_worker = [&]() -> std::function<void(std::size_t)> {
      const auto predictor = std::make_shared<Predictor>(options.cancel);
      return [this, predictor, &options](std::size_t index) {
        Job& job = jobs_[index];
        try {
          job.result = predictor->predict(job.scenario, options.unfolded);
          job.known = true;
        } catch (const ScenarioError&) {
          if (!job.companion) throw;
        } catch (const ClockOverflow& error) {
          job.uncountable = error.what();
        }
      };
    };
    const auto done = [&](std::size_t count) {
      if (options.progress) options.progress(count, jobs_.size());
    };
    for_each_index(jobs_.size(), options.jobs, make_worker, done, options.cancel);
  }

 private:
  std::vector<Job> jobs_;
  std::map<std::string, std::size_t> index_of_;
};

/// Jobs that one point is compared with.
struct Comparison {
  std::optional<std::size_t> own, baseline, smallest, weak, strong;
  std::vector<std::pair<std::string, Value>> baseline_settings;
};

std::vector<Comparison> compare(const std::vector<ScenarioPoint>& points, Jobs& jobs, bool companions) {
  std::vector<Comparison> comparisons(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ScenarioPoint& point = points[i];
    if (point.scenario) {
      comparisons[i].own = jobs.add(signature(point.settings, *point.scenario), *point.scenario, false);
    }
  }
  for (const ScalingGroup& group : scaling_groups(points)) {
    const ScenarioPoint& smallest = points[group.smallest];
    for (const std::size_t i : group.points) {
      Comparison& comparison = comparisons[i];
      const Scenario& scenario = *points[i].scenario;
      if (!group.sizes_differ && scenario.cluster.nodes > 1) {
        const std::optional<Scenario> one_node = with_nodes(scenario, 1);
        if (!one_node) continue;
        comparison.baseline = jobs.add(signature(points[i].settings, *one_node), *one_node, true);
        comparison.baseline_settings = settings_with_nodes(points[i].settings, 1);
        continue;
      }
      comparison.baseline = comparisons[group.smallest].own;
      comparison.baseline_settings = smallest.settings;
      if (!group.sizes_differ || !companions) continue;
      comparison.smallest = comparison.baseline;
      const Scenario weak = weak_companion(scenario, *smallest.scenario);
      comparison.weak = jobs.add(signature(points[i].settings, weak), weak, true);
      if (const auto strong = strong_companion(scenario, *smallest.scenario)) {
        comparison.strong = jobs.add(signature(points[i].settings, *strong), *strong, true);
      }
    }
  }
  return comparisons;
}

std::optional<double> efficiency(const PointReport* point, const PointReport* baseline) {
  if (!point || !baseline) return std::nullopt;
  return (point->samples_per_s / point->gpus) / (baseline->samples_per_s / baseline->gpus);
}

PointReport finished(const ScenarioPoint& point, const Comparison& comparison, const Jobs& jobs,
                     const std::string& file) {
  PointReport report;
  if (!comparison.own) {
    report.settings = point.settings;
    report.invalid = point.invalid;
    report.fault = point.fault;
    return report;
  }
  if (const std::string& why = jobs.uncountable(*comparison.own); !why.empty()) {
    report.settings = point.settings;
    report.invalid = why;
    report.fault = Diagnostic{};
    report.fault->place = {file, 1, 1, 1, ""};  // the question as a whole
    report.fault->message = why;
    return report;
  }
  const auto result = [&](const std::optional<std::size_t>& job) {
    return job ? jobs.result(*job) : nullptr;
  };
  report = *result(comparison.own);
  report.settings = point.settings;
  const PointReport* baseline = result(comparison.baseline);
  report.scaling_efficiency = efficiency(&report, baseline);
  if (baseline) {
    report.baseline = comparison.baseline_settings;
    report.baseline_gpus = baseline->gpus;
  }
  report.weak_efficiency = efficiency(result(comparison.weak), result(comparison.smallest));
  report.strong_efficiency = efficiency(result(comparison.strong), result(comparison.smallest));
  constexpr double rounding = 1e-9;
  if (report.scaling_efficiency && *report.scaling_efficiency > 1 + rounding) {
    report.warnings.push_back("scaling efficiency is " + print_share(*report.scaling_efficiency) + ": " +
                              reason_for_superlinear(report, *baseline));
  }
  return report;
}

}  // namespace

Report run(const ScenarioFile& file, const RunOptions& options) {
  const std::vector<ScenarioPoint> points = expand(file);
  Jobs jobs;
  const std::vector<Comparison> comparisons = compare(points, jobs, options.companions);
  jobs.run(options);

  Report report;
  if (const Value* title = file.document.find("title"); title != nullptr) report.title = title->string;
  for (const ScenarioFile::Swept& swept : file.swept) report.swept.push_back(swept.key);
  report.sample_word = "sample";
  for (std::size_t i = 0; i < points.size(); ++i) {
    report.points.push_back(finished(points[i], comparisons[i], jobs, file.file));
    if (report.points.back().tokens_per_s) report.sample_word = "sequence";
  }
  if (file.swept.empty() && report.points.front().fault) throw ScenarioError(*report.points.front().fault);
  for (const Anomaly& anomaly : rate_anomalies(report)) {
    report.points[anomaly.point].warnings.push_back(anomaly.text);
  }
  return report;
}

}  // namespace stepcast
