#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gloo {
class Context;
}

namespace stepcast {

/// sum = a + b, elementwise; sum may be a.
using SumKernel = void (*)(const float* a, const float* b, float* sum, std::int64_t count);

/// Reduce-scatter along a ring, in n - 1 steps: rank r passes on the partial sum of share r - 1 - s in step
/// s, to rank r + 1, and ends with the sum of its own share. Shares go in segments, two of them under way at
/// any time, so that one is summed while the other moves, as in Gloo's own ring all-reduce. (What Gloo offers
/// itself halves and doubles, and calls for buffers bound in advance.)
class RingReduceScatter {
 public:
  explicit RingReduceScatter(std::shared_ptr<gloo::Context> context);
  /// `input` holds `share` elements for each rank; `output`, `share`, is apart from it, or this rank's share
  /// of it. `tag` tells calls apart.
  void run(const float* input, float* output, std::int64_t share, std::uint32_t tag, SumKernel sum);

 private:
  std::shared_ptr<gloo::Context> context_;
  std::vector<float> scratch_;
};

}  // namespace stepcast
