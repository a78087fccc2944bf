#include "calibrate/import/trace_layers.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace stepcast {
namespace {

/// Which inputs of an operator are its parameters.
struct ParameterPlaces {
  int weight{-1}, bias{-1};
  int statistics{-1};  ///< running mean, and after it variance: buffers
};

const std::map<std::string, ParameterPlaces>& parameter_places() {
  static const std::map<std::string, ParameterPlaces> places = {
      {"aten::linear", {1, 2, -1}},    {"aten::addmm", {2, 0, -1}},      {"aten::conv1d", {1, 2, -1}},
      {"aten::conv2d", {1, 2, -1}},    {"aten::conv3d", {1, 2, -1}},     {"aten::layer_norm", {2, 3, -1}},
      {"aten::rms_norm", {2, -1, -1}}, {"aten::group_norm", {2, 3, -1}}, {"aten::batch_norm", {1, 2, 3}},
      {"aten::embedding", {0, -1, -1}}};
  return places;
}

double product(const std::vector<std::int64_t>& extents) {
  double all = 1;
  for (const std::int64_t extent : extents) all *= static_cast<double>(extent);
  return all;
}

LayerCall call_of(const ShapedOperator& op, const TimedSpan& span) {
  LayerCall call;
  call.op = &op;
  call.span = span;
  const auto found = parameter_places().find(op.name);
  if (found == parameter_places().end()) return call;
  const auto add = [&](const char* name, int place) {
    if (place < 0 || static_cast<std::size_t>(place) >= op.dims.size()) return;
    const auto& shape = op.dims[static_cast<std::size_t>(place)];
    const bool sound =
        std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (!shape.empty() && sound) call.parameters.emplace_back(name, shape);
  };
  add("weight", found->second.weight);
  add("bias", found->second.bias);
  const auto statistics = static_cast<std::size_t>(std::max(found->second.statistics, 0));
  if (statistics > 0 && op.dims.size() > statistics + 1 && !op.dims[statistics].empty()) {
    constexpr double element = 4, counter = 8;  // fp32, and an int64 that counts batches
    call.buffer_bytes = element * (product(op.dims[statistics]) + product(op.dims[statistics + 1])) + counter;
  }
  return call;
}

/// The greatest sequence number of operators that began within the span.
std::int64_t last_sequence(const TraceTimeline& timeline, const TimedSpan& span) {
  auto op = std::lower_bound(timeline.forward.begin(), timeline.forward.end(), span,
                             [](const TimedSpan& a, const TimedSpan& b) {
                               return std::pair(a.thread, a.start) < std::pair(b.thread, b.start);
                             });
  std::int64_t last = -1;
  for (; op != timeline.forward.end() && op->thread == span.thread && op->start <= span.end; ++op)
    last = std::max<std::int64_t>(last, op->detail);
  return last;
}

}  // namespace

std::vector<TracedMicroBatch> micro_batches(const TraceTimeline& timeline) {
  std::vector<LayerCall> calls;
  for (const TimedSpan& span : timeline.weighted.all()) {
    // Inside the backward: activations computed once more.
    if (timeline.backward.around(span.thread, span.start) != nullptr) continue;
    LayerCall call = call_of(timeline.operators[static_cast<std::size_t>(span.detail)], span);
    if (!call.parameters.empty()) calls.push_back(std::move(call));
  }
  std::sort(calls.begin(), calls.end(),
            [](const LayerCall& a, const LayerCall& b) { return a.span.start < b.span.start; });
  std::vector<TimedSpan> backward = timeline.backward.all();
  std::sort(backward.begin(), backward.end(),
            [](const TimedSpan& a, const TimedSpan& b) { return a.start < b.start; });

  std::vector<TracedMicroBatch> batches;
  TracedMicroBatch current;
  current.begin = std::numeric_limits<std::int64_t>::min();
  auto next = backward.begin();
  const auto take_backward_until = [&](std::int64_t time) {
    for (; next != backward.end() && next->start < time; ++next) {
      if (current.calls.empty()) {  // belongs to a forward before the trace
        current.begin = std::max(current.begin, next->end);
        continue;
      }
      if (current.backward_end == 0) current.backward_begin = next->start;
      current.backward_end = std::max(current.backward_end, next->end);
    }
  };
  for (LayerCall& call : calls) {
    take_backward_until(call.span.start);
    if (current.backward_end > 0) {
      const std::int64_t end = current.backward_end;
      batches.push_back(std::move(current));
      current = TracedMicroBatch{};
      current.begin = end;
    }
    call.last_sequence = last_sequence(timeline, call.span);
    if (!current.calls.empty())
      call.last_sequence = std::max(call.last_sequence, current.calls.back().last_sequence);
    current.calls.push_back(std::move(call));
  }
  take_backward_until(std::numeric_limits<std::int64_t>::max());
  if (current.backward_end > 0) batches.push_back(std::move(current));
  return batches;
}

bool same_layers(const TracedMicroBatch& a, const TracedMicroBatch& b) {
  return std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(),
                    [](const LayerCall& x, const LayerCall& y) {
                      return x.op->name == y.op->name && x.parameters == y.parameters;
                    });
}

}  // namespace stepcast
