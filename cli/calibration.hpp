#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibrate/launch/meeting.hpp"
#include "calibrate/measure/plan.hpp"
#include "cli/exit_code.hpp"

namespace stepcast {

/// What the command line of `stepcast calibrate` asks for.
struct CalibrationRequest {
  std::string backend;
  bool quick{}, resume{}, force{}, progress{};
  Seconds budget;
  std::string out;                      ///< the profile
  std::optional<std::string> json;      ///< a file, or "-"
  std::string node, fabric;             ///< empty: found out
  std::optional<std::string> scenario;  ///< whose shapes are measured first
  std::optional<BytesPerSecond> link_rate;

  [[nodiscard]] std::string journal() const { return out + ".journal"; }
};

/// How a calibration ended. `fault` is what main shows, on the rank that has something to say; the others end
/// with `code` in silence.
struct CalibrationEnd {
  ExitCode code{ExitCode::done};
  std::exception_ptr fault;
};

/// Names of links between nodes, and what they are expected to carry.
struct FabricChoice {
  std::string name;  ///< empty with one node
  BytesPerSecond link_rate;
  LinkGuess guess;
};
/// @param found  what the machine says its network is; may be empty
/// @throws ScenarioError when there is more than one node and nobody knows their network
[[nodiscard]] FabricChoice choose_fabric(const CalibrationRequest& request, int nodes,
                                         const std::string& found);
/// The node preset that the profile is for. @throws ScenarioError when several or none fit the GPU
[[nodiscard]] std::string choose_node(const CalibrationRequest& request, const DeviceFacts& device,
                                      int ranks_per_node);

/// @throws ScenarioError when --node names another kind of machine than the backend measures, or one with
/// fewer devices than there are ranks on a node
void require_fitting_node(const CalibrationRequest& request, int ranks_per_node);
/// @throws ScenarioError when --json names a file that can't be written
void require_writable_json(const CalibrationRequest& request);

/// What the request's scenario needs; empty without one. @throws ScenarioError
[[nodiscard]] std::vector<Measurement> wanted_measurements(const CalibrationRequest& request,
                                                           const DeviceFacts& device, const RankPlace& place);

/// Measures on all ranks of the meeting, writes the profile and says what was found, on rank 0. Everything
/// finished is in the journal at any time.
/// @throws MachineError when a measurement fails
[[nodiscard]] CalibrationEnd calibrate(const CalibrationRequest& request, Meeting& meeting);

}  // namespace stepcast
