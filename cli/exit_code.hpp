#pragma once

namespace stepcast {

/// What the program tells its caller (docs/cli.md, design 6.1).
enum class ExitCode : int {
  done = 0,
  check_failed = 1,   ///< a check that the user asked for: --require-fit, verify beyond its tolerance
  wrong_input = 2,    ///< command line, scenario, profile, or a file that can't be read or written
  machine_lacks = 3,  ///< no GPU, no NCCL
  our_fault = 70,     ///< a fault of stepcast itself
  interrupted = 130,  ///< SIGINT; what was done is kept
};

}  // namespace stepcast
