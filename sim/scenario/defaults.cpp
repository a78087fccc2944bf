#include "sim/scenario/defaults.hpp"

namespace stepcast {
namespace {

/// What tensors of this compute type are stored and sent as: TF32 is fp32 in memory, FP8 runs keep bf16
/// tensors.
Dtype stored(Dtype compute) {
  switch (compute) {
    case Dtype::tf32:
      return Dtype::fp32;
    case Dtype::fp8:
      return Dtype::bf16;
    default:
      return compute;
  }
}

}  // namespace

std::string default_software(Strategy strategy) {
  switch (strategy) {
    case Strategy::zero1:
    case Strategy::zero2:
    case Strategy::zero3:
      return "deepspeed";
    default:
      return "pytorch-compiled";
  }
}

void set_default_dtypes(TrainingSection& training) {
  const Dtype narrow = stored(training.precision);
  const bool sharded_parameters = training.strategy == Strategy::fsdp ||
                                  training.strategy == Strategy::hsdp || training.strategy == Strategy::zero3;
  training.optimizer_dtype = Dtype::fp32;
  training.master_copy = false;
  if (training.software == "deepspeed") {
    training.parameter_dtype = training.gradient_dtype = training.reduce_dtype = narrow;
    training.master_copy = narrow != Dtype::fp32;
  } else if (training.software == "megatron-core") {
    training.parameter_dtype = narrow;
    training.gradient_dtype = training.reduce_dtype = Dtype::fp32;
    training.master_copy = narrow != Dtype::fp32;
  } else if (sharded_parameters) {
    training.parameter_dtype = training.reduce_dtype = narrow;
    training.gradient_dtype = Dtype::fp32;
  } else {
    training.parameter_dtype = training.gradient_dtype = training.reduce_dtype = Dtype::fp32;
  }
}

GradientSync default_gradient_sync(const TrainingSection& training) {
  if (training.software == "megatron-core") return GradientSync::last;
  return training.strategy == Strategy::ddp || training.strategy == Strategy::zero1 ? GradientSync::last
                                                                                    : GradientSync::every;
}

std::string unsupported_pair(Strategy strategy, const std::string& software) {
  const std::string pair = std::string(name_of(strategy)) + " under " + software;
  const bool sharded = strategy == Strategy::fsdp || strategy == Strategy::hsdp;
  const bool zero23 = strategy == Strategy::zero2 || strategy == Strategy::zero3;
  if (software.starts_with("pytorch") && zero23) {
    return pair + " does not exist: use fsdp with pytorch, or software = \"deepspeed\"";
  }
  if (software == "deepspeed" && sharded) {
    return pair + " does not exist: use zero3 with deepspeed, or software = \"pytorch-compiled\"";
  }
  if (software == "megatron-core" && zero23) {
    return pair + " does not exist: use zero1 (its distributed optimizer), or software = \"deepspeed\"";
  }
  if (software == "megatron-core" && sharded) {
    return pair + " is known, not built yet: use software = \"pytorch-compiled\"";
  }
  return "";
}

}  // namespace stepcast
