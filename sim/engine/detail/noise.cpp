#include "sim/engine/detail/noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace stepcast::detail {
namespace {

constexpr double smallest_factor = 0.5;

bool waits_for_collective(const Program& program, const Task& task) {
  for (int w = task.first_wait; w < task.first_wait + task.wait_count; ++w) {
    if (program.tasks[program.waits[w].task].kind == TaskKind::collective) return true;
  }
  return false;
}

}  // namespace

JitterNoise::JitterNoise(const Program& program, const Jitter& jitter, int first_noisy_step)
    : program_(program), jitter_(jitter), first_noisy_step_(first_noisy_step), random_(jitter.seed) {
  std::map<std::pair<int, int>, std::vector<std::vector<int>>> segments_of;  // by rank and stream
  std::map<std::pair<int, int>, bool> close_before_next;
  for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
    const Task& task = program.tasks[t];
    if (task.kind == TaskKind::host_wait) continue;
    const std::pair key{task.rank, task.stream};
    if (task.kind == TaskKind::collective) {
      close_before_next[key] = true;
      continue;
    }
    auto& segments = segments_of[key];
    bool& close = close_before_next[key];
    if (segments.empty() || close || waits_for_collective(program, task)) segments.emplace_back();
    close = false;
    segments.back().push_back(t);
  }
  for (const auto& [key, segments] : segments_of) {
    const int multiplicity = program.multiplicity.empty() ? 1 : program.multiplicity[key.first];
    for (const std::vector<int>& tasks : segments) {
      segments_.push_back({multiplicity, static_cast<int>(tasks_.size()), static_cast<int>(tasks.size())});
      for (const int t : tasks) {
        const WorkCost& work = program.works[program.tasks[t].payload];
        tasks_.push_back(t);
        deviations_.push_back(static_cast<double>(work.durations.front()) * jitter.compute /
                              std::sqrt(work.kernels));
      }
    }
  }
}

bool JitterNoise::draw(int step, std::vector<double>& of_task, std::vector<double>& of_call) {
  if (step < first_noisy_step_) return false;
  of_task.assign(program_.tasks.size(), 1);
  of_call.assign(program_.collectives.size(), 1);
  for (double& factor : of_call) {
    factor = std::max(smallest_factor, 1 + jitter_.collective * normal_from_upper_tail(random_.uniform()));
  }
  for (const Segment& segment : segments_) {
    draws_.clear();
    double squares = 0, total = 0;
    for (int i = segment.first; i < segment.first + segment.count; ++i) {
      draws_.push_back(normal_from_upper_tail(random_.uniform()));
      squares += deviations_[i] * deviations_[i];
      total += deviations_[i] * draws_.back();
    }
    if (squares <= 0) continue;
    // Normal draws d with the total sum(deviation * d) replaced by the slowest rank's: d + (wanted - total) *
    // deviation / squares is how d is distributed when its total is known.
    const double wanted = segment.multiplicity > 1
                              ? std::sqrt(squares) * normal_maximum(random_.uniform(), segment.multiplicity)
                              : total;
    for (int i = segment.first; i < segment.first + segment.count; ++i) {
      const double z = draws_[i - segment.first] + (wanted - total) * deviations_[i] / squares;
      const WorkCost& work = program_.works[program_.tasks[tasks_[i]].payload];
      of_task[tasks_[i]] = std::max(smallest_factor, 1 + jitter_.compute / std::sqrt(work.kernels) * z);
    }
  }
  return true;
}

}  // namespace stepcast::detail
