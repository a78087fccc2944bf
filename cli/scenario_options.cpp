#include "cli/scenario_options.hpp"

namespace stepcast {

std::vector<Override> overrides_of(const ParsedOptions& options, const std::string& command) {
  std::vector<Override> overrides;
  std::vector<Diagnostic> faults;
  for (const std::string& text : options.values("--set")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      const ScenarioError fault =
          usage_error(command + ": --set needs key=value, not \"" + text + "\"",
                      "for example --set cluster.nodes=4 or --set cluster.nodes=1,2,4");
      faults.push_back(fault.diagnostics().front());
      continue;
    }
    overrides.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  return overrides;
}

}  // namespace stepcast
