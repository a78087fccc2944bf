#include <csignal>
#include <exception>
#include <iostream>

#include "base/diagnostic.hpp"
#include "calibrate/device.hpp"
#include "cli/commands.hpp"

namespace {

std::atomic<bool> interrupt{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

/// The first SIGINT asks, the second one ends the program at once.
extern "C" void on_interrupt(int) {
  interrupt = true;
  std::signal(SIGINT, SIG_DFL);
}

stepcast::ExitCode run_and_report(const stepcast::Arguments& words) {
  using stepcast::ExitCode;
  try {
    const ExitCode code = stepcast::run_command_line(words);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "stepcast: error: can't write to standard output\n";
      return ExitCode::wrong_input;
    }
    return code;
  } catch (const stepcast::ScenarioError& error) {
    for (const stepcast::Diagnostic& fault : error.diagnostics()) std::cerr << stepcast::render(fault);
    return ExitCode::wrong_input;
  } catch (
      const stepcast::ClockOverflow& error) {  // validate and traces, which have no point to call impossible
    std::cerr << "stepcast: error: " << error.what() << "\n";
    return ExitCode::wrong_input;
  } catch (const stepcast::MachineError& error) {
    std::cerr << "stepcast: error: " << error.what() << "\n";
    if (!error.hint.empty()) std::cerr << "  hint: " << error.hint << "\n";
    return ExitCode::machine_lacks;
  } catch (const stepcast::Interrupted&) {
    std::cerr << "stepcast: interrupted\n";
    return ExitCode::interrupted;
  } catch (const std::exception& error) {  // InternalError, and whatever the library throws at us
    std::cerr
        << "stepcast: this is a fault of stepcast, not of your input; please report it with the scenario:\n  "
        << error.what() << "\n";
    return ExitCode::our_fault;
  }
}

}  // namespace

const std::atomic<bool>& stepcast::interrupt_requested() { return interrupt; }

int main(int count, char** words) {
  std::signal(SIGINT, on_interrupt);
  return static_cast<int>(run_and_report(stepcast::Arguments(words + 1, words + count)));
}
