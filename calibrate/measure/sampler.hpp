#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/launch/meeting.hpp"
#include "calibrate/measure/operands.hpp"

namespace stepcast {

/// One batch of calls on one rank; times of one call.
struct Reading {
  Seconds time;   ///< what the measurement asks for
  Seconds host;   ///< CPU time
  Seconds alone;  ///< overlap: the gemm without the collective
  Seconds call;   ///< overlap: the collective beside the gemm
};

/// How many calls make a sample; all ranks use the same.
struct BatchSize {
  int calls{1};
  int companions{1};  ///< overlap: collectives that run beside all of `calls` gemms
};

/// Makes one measurement's calls on this rank.
class Sampler {
 public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;
  [[nodiscard]] virtual Reading sample(const BatchSize& batch) = 0;
  [[nodiscard]] virtual CollectiveFacts facts() { return {}; }
};

using Clock = std::function<Seconds()>;  ///< time since some moment, never going back

/// Communicators of the groups that a plan names, made in its order; each rank makes those that it is in.
class PlanCommunicators {
 public:
  PlanCommunicators(const std::vector<Measurement>& plan, Backend& backend, const RankPlace& place);
  /// nullptr when this rank takes no part in the measurement's group.
  [[nodiscard]] DeviceCommunicator* find(const Measurement& what) const;

 private:
  std::map<std::string, std::unique_ptr<DeviceCommunicator>> by_group_;
};

/// nullptr when this rank takes no part. Kernels: `calls` back to back. On a GPU whose kernels are shorter
/// than their launches, the kernels' own times count, else the time from the first one's start to the last
/// one's end. Collectives: a tiny one to bring the ranks together, then `calls` back to back, of which the
/// mean duration counts. Overlap: gemms alone, then gemms while `companions` collectives run.
[[nodiscard]] std::unique_ptr<Sampler> make_sampler(const Measurement& what, ComputeDevice& device,
                                                    Workbench& workbench,
                                                    const PlanCommunicators& communicators,
                                                    const Clock& clock);

}  // namespace stepcast
