#include "sim/engine/program.hpp"

namespace stepcast {

std::string_view name_of(TaskRole role) {
  switch (role) {
    case TaskRole::forward:
      return "forward";
    case TaskRole::backward:
      return "backward";
    case TaskRole::recompute:
      return "recompute";
    case TaskRole::copy:
      return "copy";
    case TaskRole::optimizer:
      return "optimizer";
    case TaskRole::communication:
      return "communication";
    case TaskRole::input:
      return "input";
    case TaskRole::host:
      return "host";
  }
  return "";
}

}  // namespace stepcast
