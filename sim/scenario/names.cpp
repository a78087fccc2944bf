#include "sim/scenario/scenario.hpp"

namespace stepcast {

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::ddp:
      return "ddp";
    case Strategy::zero1:
      return "zero1";
    case Strategy::zero2:
      return "zero2";
    case Strategy::zero3:
      return "zero3";
    case Strategy::fsdp:
      return "fsdp";
    case Strategy::hsdp:
      return "hsdp";
  }
  return "";
}

std::string_view name_of(Checkpointing checkpointing) {
  switch (checkpointing) {
    case Checkpointing::none:
      return "none";
    case Checkpointing::selective:
      return "selective";
    case Checkpointing::full:
      return "full";
  }
  return "";
}

std::string_view name_of(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::adamw:
      return "adamw";
    case OptimizerKind::adam:
      return "adam";
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::lamb:
      return "lamb";
  }
  return "";
}

std::string_view name_of(Dtype type) {
  switch (type) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::tf32:
      return "tf32";
    case Dtype::bf16:
      return "bf16";
    case Dtype::fp16:
      return "fp16";
    case Dtype::fp8:
      return "fp8";
  }
  return "";
}

}  // namespace stepcast
