#include "sim/report/sentences.hpp"

#include <algorithm>
#include <map>

#include "base/print.hpp"
#include "sim/report/anomalies.hpp"
#include "sim/report/insensitive.hpp"
#include "sim/report/wording.hpp"

namespace stepcast {
namespace {

std::vector<const PointReport*> valid_points(const Report& report) {
  std::vector<const PointReport*> points;
  for (const PointReport& point : report.points) {
    if (point.invalid.empty()) points.push_back(&point);
  }
  return points;
}

int most_gpus(const std::vector<const PointReport*>& points) {
  int most = 0;
  for (const PointReport* point : points) most = std::max(most, point->gpus);
  return most;
}

bool sizes_vary(const std::vector<const PointReport*>& points) {
  return std::any_of(points.begin(), points.end(),
                     [&](const PointReport* point) { return point->gpus != points.front()->gpus; });
}

std::string about_best(const Report& report, const PointReport& best) {
  std::string text;
  if (report.points.size() > 1) {
    text = "The best of what fits is " + label(report, best) + ": ";
  }
  text += print_throughput(best) + " on " + plural(static_cast<std::size_t>(best.gpus), "GPU");
  if (best.scaling_efficiency && best.baseline_gpus != best.gpus) {
    const double ideal = static_cast<double>(best.gpus) / best.baseline_gpus;
    text += ", " + print_times(*best.scaling_efficiency * ideal) + " of what " +
            std::to_string(best.baseline_gpus) + (best.baseline_gpus == 1 ? " GPU gives" : " GPUs give") +
            " with the same settings (" + print_times(ideal) + " would be perfect)";
  }
  const Breakdown& parts = best.breakdown;
  text += ". Its step is " + print_share((parts.compute + parts.optimizer) / best.step_time) +
          " computing and " + print_share(parts.exposed_communication / best.step_time) +
          " waiting for communication; what limits it: " + best.bottleneck + ".";
  return text;
}

/// The best point of each value of `key`, on the largest cluster asked for.
std::string by_key(const std::vector<const PointReport*>& points, const std::string& key) {
  struct Best {
    std::string value;
    const PointReport* point{};
  };
  std::vector<Best> bests;  // in the order of the sweep
  const int gpus = most_gpus(points);
  for (const PointReport* point : points) {
    if (point->gpus != gpus) continue;
    const std::string value = setting_text(*point, key);
    auto place =
        std::find_if(bests.begin(), bests.end(), [&](const Best& best) { return best.value == value; });
    if (place == bests.end()) place = bests.insert(bests.end(), Best{value, point});
    const bool fits = point->memory.fits(), held = place->point->memory.fits();
    if (fits != held ? fits : throughput(*point) > throughput(*place->point)) place->point = point;
  }
  if (bests.size() < 2) return "";
  std::stable_sort(bests.begin(), bests.end(),
                   [](const Best& a, const Best& b) { return throughput(*a.point) > throughput(*b.point); });
  std::string text = "By " + words_of(key) + ", at their best on " + std::to_string(gpus) + " GPUs: ";
  for (std::size_t i = 0; i < bests.size(); ++i) {
    const PointReport& point = *bests[i].point;
    text += (i > 0 ? ", " : "") + bests[i].value + (is_plain_word(bests[i].value) ? " " : ": ") +
            print_throughput(point);
    std::string aside;
    if (point.scaling_efficiency && point.baseline_gpus != point.gpus) {
      aside = print_share(*point.scaling_efficiency) + " efficient";
    }
    if (!point.memory.fits()) aside += (aside.empty() ? "" : ", ") + std::string("does not fit");
    if (!aside.empty()) text += " (" + aside + ")";
  }
  return text + ".";
}

std::string about_scaling(const Report& report, const std::vector<const PointReport*>& points) {
  const PointReport* best = nullptr;
  const PointReport* worst = nullptr;
  const PointReport* strong = nullptr;
  const int gpus = most_gpus(points);
  for (const PointReport* point : points) {
    if (point->gpus != gpus || !point->weak_efficiency) continue;
    if (!best || *point->weak_efficiency > *best->weak_efficiency) best = point;
    if (!worst || *point->weak_efficiency < *worst->weak_efficiency) worst = point;
    if (point->strong_efficiency && (!strong || *point->strong_efficiency > *strong->strong_efficiency)) {
      strong = point;
    }
  }
  if (!best || best->baseline_gpus == gpus) return "";
  const std::string size = std::to_string(gpus) + " GPUs";
  std::string text = "At a fixed batch per GPU, " + size + " keep ";
  if (best == worst) {
    text += print_share(*best->weak_efficiency) + " of the throughput per GPU";
  } else {
    text += "between " + print_share(*worst->weak_efficiency) + " (" + label(report, *worst) + ") and " +
            print_share(*best->weak_efficiency) + " (" + label(report, *best) + ") of the throughput per GPU";
  }
  if (strong) {
    text += "; at the fixed global batch of the smallest cluster, at most " +
            print_share(*strong->strong_efficiency) +
            (best == worst ? std::string() : " (" + label(report, *strong) + ")");
  }
  return text + ".";
}

/// What the step's calls of all kinds add up to.
double calls_of(const PointReport& point) {
  double calls = 0;
  for (const CommunicationRow& row : point.communication) calls += row.count;
  return calls;
}

/// Whether accumulation helps is what tells strategies apart on slow networks: for each of them the
/// combination on the largest cluster that gains most between the fewest and the most steps, all else equal.
std::string about_accumulation(const Report& report, const std::vector<const PointReport*>& points) {
  const std::string key = "training.gradient_accumulation_steps";
  struct Pair {
    const PointReport* few{};
    const PointReport* many{};
    [[nodiscard]] double gain() const { return throughput(*many) / throughput(*few); }
  };
  std::map<std::string, Pair> pairs;  // by all other settings
  const int gpus = most_gpus(points);
  for (const PointReport* point : points) {
    if (point->gpus != gpus) continue;
    std::string others;
    for (const auto& [name, value] : point->settings) {
      if (name != key) others += name + '=' + value.to_text() + '\n';
    }
    Pair& pair = pairs.try_emplace(others, Pair{point, point}).first->second;
    const int steps = point->gradient_accumulation_steps;
    if (steps < pair.few->gradient_accumulation_steps) pair.few = point;
    if (steps > pair.many->gradient_accumulation_steps) pair.many = point;
  }
  std::map<std::string, Pair> most;  // by strategy
  for (const auto& [others, pair] : pairs) {
    Pair& best = most.try_emplace(pair.few->strategy, pair).first->second;
    if (pair.gain() > best.gain()) best = pair;
  }
  std::string text;
  for (const auto& [strategy, pair] : most) {
    const double steps =
        static_cast<double>(pair.many->gradient_accumulation_steps) / pair.few->gradient_accumulation_steps;
    if (steps <= 1 || calls_of(*pair.few) <= 0) continue;
    text += text.empty() ? "Accumulation on " + std::to_string(gpus) + " GPUs: " : "; ";
    text += "from " + std::to_string(pair.few->gradient_accumulation_steps) + " to " +
            std::to_string(pair.many->gradient_accumulation_steps) + " steps " + strategy + " gains ";
    constexpr double nothing = 1.01;
    if (pair.gain() < nothing) {
      text += "nothing";
    } else {
      text += "at most " + print_times(pair.gain()) + " (" + label(report, *pair.many) + ")";
    }
    constexpr double nearly_all = 0.9;
    if (calls_of(*pair.many) > nearly_all * steps * calls_of(*pair.few)) {
      text += ", since it communicates in every micro-batch";
    }
  }
  return text.empty() ? "" : text + ".";
}

std::string about_limits(const std::vector<const PointReport*>& points) {
  std::map<std::string, std::size_t> counts;
  for (const PointReport* point : points) ++counts[point->bottleneck];
  std::vector<std::pair<std::string, std::size_t>> ordered(counts.begin(), counts.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "What limits: ";
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    text += (i > 0 ? ", " : "") + ordered[i].first + " in " + plural(ordered[i].second, "point");
  }
  return text + ".";
}

Bytes needed(const PointReport& point) { return point.memory.allocated_peak() + point.memory.framework; }

std::string about_memory(const Report& report, const std::vector<const PointReport*>& points) {
  const auto excess = [](const PointReport* point) { return needed(*point) - point->memory.capacity; };
  const PointReport* fullest =
      *std::max_element(points.begin(), points.end(),
                        [&](const PointReport* a, const PointReport* b) { return excess(a) < excess(b); });
  const auto misfits = static_cast<std::size_t>(std::count_if(
      points.begin(), points.end(), [](const PointReport* point) { return !point->memory.fits(); }));
  const std::string amounts = print_size(needed(*fullest)) + " of " + print_size(fullest->memory.capacity);
  if (points.size() == 1) {
    return misfits == 0 ? "It fits: " + amounts + " per GPU, the most at " + fullest->memory.peak_at + "."
                        : "It does not fit: " + amounts + " per GPU, " + print_size(excess(fullest)) +
                              " too much, at " + fullest->memory.peak_at + ".";
  }
  if (misfits == 0) {
    return "Every point fits; the fullest needs " + amounts + " per GPU (" + label(report, *fullest) + ").";
  }
  return std::to_string(misfits) + " of " + plural(points.size(), "point") +
         (misfits == 1 ? " does" : " do") + " not fit; the worst needs " + amounts + " per GPU, " +
         print_size(excess(fullest)) + " too much (" + label(report, *fullest) + ", at " +
         fullest->memory.peak_at + ").";
}

constexpr const char* superlinear_start = "scaling efficiency is ";
constexpr const char* misfit_start = "does not fit: ";

std::string about_superlinear(const std::vector<const PointReport*>& points) {
  std::size_t count = 0;
  std::string warning;
  double highest = 1;
  for (const PointReport* point : points) {
    for (const std::string& text : point->warnings) {
      if (text.rfind(superlinear_start, 0) != 0) continue;
      ++count;
      if (*point->scaling_efficiency <= highest) continue;
      highest = *point->scaling_efficiency;
      warning = text;
    }
  }
  if (count == 0) return "";
  return "More than perfect scaling in " + plural(count, "point") + "; the most: " + warning + ".";
}

/// The worst few; the points' own warnings hold all of them.
std::vector<std::string> about_anomalies(const Report& report) {
  constexpr std::size_t shown = 3;
  const auto anomalies = rate_anomalies(report);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(shown, anomalies.size()); ++i) {
    std::string text = anomalies[i].text;
    text.front() = 'S';
    texts.push_back(text + ".");
  }
  if (anomalies.size() > shown) {
    texts.push_back(plural(anomalies.size() - shown, "more point") +
                    (anomalies.size() == shown + 1 ? " is" : " are") +
                    " slower on a faster network; the warnings in the JSON say why.");
  }
  return texts;
}

}  // namespace

std::optional<std::size_t> best_point(const Report& report) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const PointReport& point = report.points[i];
    if (!point.invalid.empty() || !point.memory.fits()) continue;
    if (!best || throughput(point) > throughput(report.points[*best])) best = i;
  }
  return best;
}

std::vector<std::string> sentences(const Report& report) {
  const auto points = valid_points(report);
  std::vector<std::string> found;
  if (points.empty()) return {"No point of this sweep can exist."};
  const auto add = [&](std::string text) {
    if (!text.empty()) found.push_back(std::move(text));
  };
  if (const auto best = best_point(report)) {
    add(about_best(report, report.points[*best]));
  } else if (points.size() > 1) {
    add("No point fits into the GPUs' memory; the times are those of GPUs that had enough.");
  }
  const bool swept_sizes = sizes_vary(points);
  for (const std::string& key : varying_keys(report)) {
    const bool size = key == "cluster.nodes" || key == "cluster.gpus_per_node";
    if (!size || !swept_sizes) add(by_key(points, key));
  }
  if (swept_sizes) add(about_scaling(report, points));
  add(about_accumulation(report, points));
  if (points.size() > 1) add(about_limits(points));
  add(about_memory(report, points));
  add(about_superlinear(points));
  for (std::string& text : about_anomalies(report)) add(std::move(text));
  for (const InsensitiveKey& insensitive : insensitive_keys(report)) {
    add(insensitive.key + " moves the step by less than 0.1 %: " + insensitive.reason + ".");
  }
  const std::size_t invalid = report.points.size() - points.size();
  if (invalid > 0) add(plural(invalid, "point") + " cannot exist; the table says why.");
  return found;
}

std::vector<std::string> notes(const Report& report) {
  std::vector<std::string> found;
  for (const PointReport& point : report.points) {
    for (const std::string& warning : point.warnings) {
      const bool said = warning.rfind(superlinear_start, 0) == 0 || warning.rfind(misfit_start, 0) == 0 ||
                        warning.rfind(anomaly_start, 0) == 0;
      if (!said && std::find(found.begin(), found.end(), warning) == found.end()) found.push_back(warning);
    }
  }
  return found;
}

}  // namespace stepcast
