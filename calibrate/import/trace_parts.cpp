#include "calibrate/import/trace_parts.hpp"

#include <algorithm>
#include <limits>

namespace stepcast {

PartFinder::PartFinder(const TraceTimeline& timeline) : timeline_(timeline) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  last_backward_.assign(timeline.steps.size() + 1, never);
  for (const TimedSpan& span : timeline.backward.all()) {
    last_backward_.back() = std::max(last_backward_.back(), span.start);
    const int step = timeline.step_at(span.start);
    if (step < 0) continue;
    std::int64_t& last = last_backward_[static_cast<std::size_t>(step)];
    last = std::max(last, span.start);
  }
  // Without any backward (inference) all is forward.
  for (std::int64_t& last : last_backward_)
    if (last == never) last = std::numeric_limits<std::int64_t>::max();
  for (const std::string& name : timeline.names) {
    optimizer_name_.push_back(name.find("multi_tensor") != std::string::npos ||
                              name.find("adam") != std::string::npos ||
                              name.find("Adam") != std::string::npos);
  }
}

PartFinder::Place PartFinder::place_of(const TimedKernel& kernel) const {
  Place place;
  place.launch = timeline_.launch_of(kernel);
  place.step = timeline_.step_at(place.launch != nullptr ? place.launch->start : kernel.start);
  if (place.launch == nullptr) return place;
  const std::int64_t thread = place.launch->thread, time = place.launch->start;
  place.backward = timeline_.backward.around(thread, time);
  if (place.backward != nullptr) {
    place.part = StepPart::backward;
  } else if (timeline_.optimizer.around(thread, time) != nullptr ||
             optimizer_name_[static_cast<std::size_t>(kernel.name)]) {
    place.part = StepPart::optimizer;
  } else {
    const std::int64_t last =
        place.step >= 0 ? last_backward_[static_cast<std::size_t>(place.step)] : last_backward_.back();
    place.part = time < last ? StepPart::forward : StepPart::other;
  }
  return place;
}

}  // namespace stepcast
