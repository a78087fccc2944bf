#include "calibrate/measure/measurement.hpp"

#include "base/print.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

std::string product(const Measurement& what) {
  std::string text = std::to_string(what.rows) + " x " + std::to_string(what.columns) + " x " +
                     std::to_string(what.depth) + " " + std::string(name_of(what.dtype));
  if (what.transpose_a) return text + " (weight gradient)";
  return text + (what.transpose_b ? " (forward)" : " (input gradient)");
}

std::string_view name_of(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

std::string call(const Measurement& what) {
  return std::string(name_of(what.collective)) + " " + print_size(what.bytes) + ", " + what.group;
}

}  // namespace

std::string_view name_of(Measurement::Kind kind) {
  switch (kind) {
    case Measurement::Kind::gemm:
      return "gemm";
    case Measurement::Kind::attention:
      return "attention";
    case Measurement::Kind::kernel:
      return "kernel";
    case Measurement::Kind::launch:
      return "launch";
    case Measurement::Kind::host_copy:
      return "host_copy";
    case Measurement::Kind::collective:
      return "collective";
    case Measurement::Kind::overlap:
      return "overlap";
    case Measurement::Kind::sustained:
      return "sustained";
  }
  return "unknown";
}

std::string describe(const Measurement& what) {
  switch (what.kind) {
    case Measurement::Kind::gemm:
      return "gemm " + product(what);
    case Measurement::Kind::attention:
      return "attention of " + std::to_string(what.samples) + " x " + std::to_string(what.heads) +
             " heads of " + std::to_string(what.head_dim) + ", length " + std::to_string(what.length) + " " +
             std::string(name_of(what.dtype)) + " (" + std::string(name_of(what.pass)) + ")";
    case Measurement::Kind::kernel:
      return what.operation + " of " + std::to_string(what.elements) + " elements " +
             std::string(name_of(what.dtype)) + " (" + std::string(name_of(what.pass)) + ")";
    case Measurement::Kind::launch:
      return "launch of a kernel";
    case Measurement::Kind::host_copy:
      return "copy of " + print_size(what.bytes) + (what.to_device ? " to the device" : " to the host");
    case Measurement::Kind::collective:
      return call(what);
    case Measurement::Kind::overlap:
      return "gemm " + product(what) + " beside " + call(what);
    case Measurement::Kind::sustained:
      return "sustained gemm " + product(what);
  }
  return "unknown";
}

}  // namespace stepcast
