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

/// Collectives along a ring over Gloo's unbound buffers, in n - 1 steps. Shares go in segments, two of them
/// under way at any time, so that one is summed or passed on while the other moves, as in Gloo's own ring
/// all-reduce. (Gloo's reduce-scatter halves and doubles, and calls for buffers bound in advance. Its
/// all-gather hands over a whole share at once: between two hosts at 1 Gbit/s it then ran at 79 to 112 MB/s,
/// from call to call, where segments reach 117 every time.) `tag` tells calls apart.
class Ring {
 public:
  explicit Ring(std::shared_ptr<gloo::Context> context);
  /// Rank r passes on the partial sum of share r - 1 - s in step s, to rank r + 1, and ends with the sum of
  /// its own share. `input` holds `share` elements for each rank; `output`, `share`, is apart from it, or
  /// this rank's share of it.
  void reduce_scatter(const float* input, float* output, std::int64_t share, std::uint32_t tag,
                      SumKernel sum);
  /// Rank r passes on share r - s in step s. `output` holds `share` elements for each rank, its own in place.
  void all_gather(float* output, std::int64_t share, std::uint32_t tag);

 private:
  std::shared_ptr<gloo::Context> context_;
  std::vector<float> scratch_;
};

}  // namespace stepcast
