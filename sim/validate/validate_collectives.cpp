#include "sim/validate/validate_collectives.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/diagnostic.hpp"
#include "sim/report/collective_fit.hpp"
#include "sim/report/collective_interval.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/nccl_tests.hpp"
#include "sim/report/parallel.hpp"
#include "sim/scenario/read.hpp"
#include "sim/validate/map_collective.hpp"
#include "sim/validate/map_row.hpp"

namespace stepcast {
namespace {

constexpr int fewest_judged_rows = 20;
constexpr std::size_t fewest_corrected_sizes = 8;
constexpr Bytes plateau_from = mebibytes(128);

/// The bands for which fidelity is promised.
std::string promised_band(Bytes size) {
  if (size < mebibytes(1)) return "< 1 MiB";
  return size < mebibytes(16) ? "1-16 MiB" : ">= 16 MiB";
}

/// One published table: rows of the same run on the same cluster.
struct MeasuredSet {
  std::vector<const MeasuredRow*> rows;
  std::vector<MappedCollective> mapped;
  std::vector<std::size_t> places;  ///< of the rows among all
};

struct SetResult {
  std::vector<ValidatedCollective> rows;
  std::string reason;  ///< why none was predicted
};

Scenario scenario_of(const MappedCollective& mapped, ReadCache& cache) {
  ReadResult read = read_cluster_only(mapped.scenario, cache);
  if (!read.faults.empty()) throw SkippedRow{read.faults.front().message};
  if (!read.impossible.empty()) throw SkippedRow{read.impossible.front().message};
  return std::move(read.scenario);
}

ValidatedCollective compare(const MeasuredRow& row, const MappedCollective& mapped,
                            const CollectiveModel& model, const Group& group) {
  const CollectivePlan plan = model.plan(mapped.operation, mapped.bytes, {group});
  ValidatedCollective made;
  made.file = row.file;
  made.line = row.line;
  made.harness = mapped.harness;
  made.predicted = plan.time_alone + mapped.harness;
  made.measured = mapped.measured;
  made.relative_error = made.predicted / made.measured - 1;
  const SizeBand& band = collective_band(mapped.bytes);
  made.low = band.low * made.predicted;
  made.high = band.high * made.predicted;
  made.assumed = mapped.assumed;
  made.settings = settings_of(mapped.scenario);
  made.set = mapped.set;
  made.transport = mapped.transport;
  made.gpu = mapped.gpu;
  made.timing = mapped.timing;
  made.operation = mapped.operation;
  made.ranks = mapped.ranks;
  made.nodes = mapped.nodes;
  made.bytes = mapped.bytes;
  made.in_place = mapped.in_place;
  made.algorithm = plan.algorithm;
  made.protocol = plan.protocol;
  made.channels = plan.channels;
  return made;
}

/// Corrects the model by five sizes of the rows (all in place, or all out of place) and predicts the others.
void correct(std::vector<ValidatedCollective*> rows, const Scenario& scenario, const Profile& profile) {
  std::map<double, Seconds> times;
  for (const ValidatedCollective* row : rows) times.emplace(row->bytes.value, row->measured);
  if (times.size() < fewest_corrected_sizes) return;
  MeasuredTimes all;
  for (const auto& [bytes, time] : times) all.emplace_back(Bytes(bytes), time);
  const MeasuredTimes points = five_sizes(all);
  Profile corrected = profile;
  corrected.collectives.push_back(as_measured(scenario, rows.front()->operation, points));
  const auto model = collective_model(scenario, corrected);
  const Group group = every_rank(model->cluster());
  for (ValidatedCollective* row : rows) {
    const bool fitted = std::any_of(points.begin(), points.end(),
                                    [&](const auto& point) { return point.first == row->bytes; });
    if (!fitted) row->corrected = model->plan(row->operation, row->bytes, {group}).time_alone;
  }
}

bool trusted(const std::string& timing) { return timing == "parsed" || timing == "published time"; }

std::vector<std::string> groups_of(const ValidatedCollective& row) {
  std::vector<std::string> groups = {"all", row.assumed.empty() ? "stated" : "assumed"};
  if (row.judged)
    groups.push_back((row.assumed.empty() ? "judged:" : "judged assumed:") + promised_band(row.bytes));
  groups.push_back("band:" + collective_band(row.bytes).name);
  groups.push_back("timing:" + row.timing);
  groups.push_back("transport:" + row.transport);
  groups.push_back("operation:" + std::string(nccl_tests_name(row.operation)));
  groups.push_back("gpu:" + row.gpu);
  groups.push_back("set:" + row.set);
  return groups;
}

SetResult predict_set(const MeasuredSet& set) {
  SetResult result;
  try {
    ReadCache cache;
    const Scenario scenario = scenario_of(set.mapped.front(), cache);
    const Profile profile = collective_profile(scenario);
    const auto model = collective_model(scenario, profile);
    const Group group = every_rank(model->cluster());
    for (std::size_t i = 0; i < set.rows.size(); ++i)
      result.rows.push_back(compare(*set.rows[i], set.mapped[i], *model, group));
    const bool long_enough = static_cast<int>(result.rows.size()) >= fewest_judged_rows;
    for (const bool in_place : {false, true}) {
      std::vector<ValidatedCollective*> mode;
      for (ValidatedCollective& row : result.rows)
        if (row.in_place == in_place && trusted(row.timing)) mode.push_back(&row);
      if (!mode.empty()) correct(std::move(mode), scenario, profile);
    }
    for (ValidatedCollective& row : result.rows) {
      row.judged = long_enough && trusted(row.timing);
      row.groups = groups_of(row);
    }
  } catch (const SkippedRow& skipped) {
    result.reason = skipped.reason;
  } catch (const ScenarioError& error) {
    result.reason = error.diagnostics().front().message;
  } catch (const std::invalid_argument& error) {  // a forced algorithm that this cluster cannot run
    result.reason = error.what();
  }
  return result;
}

Comparison comparison_of(const ValidatedCollective& row, Seconds predicted) {
  const auto rate = [&](Seconds time) {
    return CollectiveModel::bus_bandwidth(row.operation, row.bytes, row.ranks, time).value;
  };
  return {predicted / row.measured - 1, rate(predicted), rate(row.measured)};
}

using Members = std::map<std::string, std::vector<Comparison>>;

/// One comparison a set: bus bandwidth of the best row, measured over predicted, so that above 0 is too slow.
void add_plateaus(const std::vector<ValidatedCollective>& rows, Members& members) {
  struct Best {
    double predicted{}, measured{};
    Bytes largest;
    bool stated{true}, judged{};
  };
  std::map<std::string, Best> sets;
  for (const ValidatedCollective& row : rows) {
    const Comparison rates = comparison_of(row, row.predicted);
    Best& best = sets[row.file + "\n" + row.set + "\n" + std::string(name_of(row.operation))];
    best.predicted = std::max(best.predicted, rates.predicted_rate);
    best.measured = std::max(best.measured, rates.measured_rate);
    best.largest = std::max(best.largest, row.bytes);
    best.stated = best.stated && row.assumed.empty();
    best.judged = best.judged || row.judged;
  }
  for (const auto& [name, best] : sets) {
    if (best.largest < plateau_from) continue;
    const Comparison plateau{best.measured / best.predicted - 1, best.predicted, best.measured};
    members[best.stated ? "plateau:stated" : "plateau:assumed"].push_back(plateau);
    if (best.judged && best.stated) members["plateau:judged"].push_back(plateau);
  }
}

std::vector<GroupSummary> summarize(const std::vector<ValidatedCollective>& rows) {
  Members members = {{"all", {}}, {"stated", {}}, {"assumed", {}}};
  for (const ValidatedCollective& row : rows) {
    for (const std::string& group : row.groups) members[group].push_back(comparison_of(row, row.predicted));
    if (row.corrected && row.judged)
      members["corrected:" + promised_band(row.bytes)].push_back(comparison_of(row, *row.corrected));
  }
  add_plateaus(rows, members);
  std::vector<GroupSummary> summary;
  for (const std::string kind :
       {"all", "stated", "assumed", "judged:", "judged assumed:", "plateau:", "corrected:", "band:",
        "timing:", "transport:", "operation:", "gpu:", "set:"}) {
    const auto add = [&](const std::string& group) {
      const auto found = members.find(group);
      if (found != members.end()) summary.push_back(summarize_group(group, found->second));
    };
    if (kind == "band:") {
      for (const SizeBand& band : collective_bands()) add(kind + band.name);
    } else if (kind == "judged:" || kind == "judged assumed:" || kind == "corrected:") {
      for (const char* band : {"< 1 MiB", "1-16 MiB", ">= 16 MiB"}) add(kind + band);
    } else if (kind.ends_with(':')) {
      for (const auto& [group, comparisons] : members)
        if (group.starts_with(kind)) add(group);
    } else {
      add(kind);
    }
  }
  return summary;
}

std::vector<BandResiduals> residuals_of(const std::vector<ValidatedCollective>& rows) {
  std::vector<BandResiduals> residuals;
  for (const SizeBand& band : collective_bands()) {
    BandResiduals found;
    found.band = band.name;
    std::vector<double> ratios, corrected;
    for (const ValidatedCollective& row : rows) {
      if (!row.judged || !row.assumed.empty() || &collective_band(row.bytes) != &band) continue;
      ratios.push_back(row.measured / row.predicted);
      if (row.corrected) corrected.push_back(row.measured / *row.corrected);
      found.inside += row.measured >= row.low && row.measured <= row.high ? 1 : 0;
    }
    found.rows = static_cast<int>(ratios.size());
    found.low = quantile(ratios, 0.05);
    found.high = quantile(ratios, 0.95);
    found.corrected_low = quantile(corrected, 0.05);
    found.corrected_high = quantile(corrected, 0.95);
    residuals.push_back(found);
  }
  return residuals;
}

}  // namespace

CollectiveValidation validate_collectives(const std::vector<MeasuredTable>& tables, const Mapping& rules,
                                          const ValidateOptions& options) {
  CollectiveValidation validation;
  std::map<std::string, MeasuredSet> sets;
  std::vector<const MeasuredRow*> rows;
  std::vector<std::string> reasons;
  for (const MeasuredTable& table : tables) {
    validation.notes.insert(validation.notes.end(), table.notes.begin(), table.notes.end());
    for (const MeasuredRow& row : table.rows) {
      reasons.emplace_back();
      rows.push_back(&row);
      try {
        MappedCollective mapped = map_collective(row, rules);
        MeasuredSet& set = sets[row.file + "\n" + mapped.set + "\n" + std::string(name_of(mapped.operation)) +
                                "\n" + mapped.scenario.to_text()];
        set.rows.push_back(&row);
        set.mapped.push_back(std::move(mapped));
        set.places.push_back(rows.size() - 1);
      } catch (const SkippedRow& skipped) {
        reasons.back() = skipped.reason;
      } catch (const ScenarioError& error) {  // a fabric of a kind that has no such rate
        reasons.back() = error.diagnostics().front().message;
      }
    }
  }
  std::vector<const MeasuredSet*> order;
  for (const auto& [key, set] : sets) order.push_back(&set);
  std::vector<SetResult> results(order.size());
  const auto make_worker = [&] { return [&](std::size_t i) { results[i] = predict_set(*order[i]); }; };
  const auto done = [&](std::size_t count) {
    if (options.progress) options.progress(count, order.size());
  };
  for_each_index(order.size(), options.jobs, make_worker, done, options.cancel);

  std::vector<std::optional<ValidatedCollective>> predicted(rows.size());
  for (std::size_t s = 0; s < order.size(); ++s) {
    for (std::size_t i = 0; i < order[s]->places.size(); ++i) {
      const std::size_t place = order[s]->places[i];
      if (results[s].reason.empty()) {
        predicted[place] = std::move(results[s].rows[i]);
      } else {
        reasons[place] = results[s].reason;
      }
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (predicted[i]) {
      validation.rows.push_back(std::move(*predicted[i]));
    } else {
      validation.skipped.push_back({rows[i]->file, rows[i]->line, reasons[i]});
    }
  }
  validation.summary = summarize(validation.rows);
  validation.residuals = residuals_of(validation.rows);
  return validation;
}

}  // namespace stepcast
