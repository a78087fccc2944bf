#include "cli/backend_choice.hpp"

#include <filesystem>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

std::string backend_choice(const ParsedOptions& options, const std::string& command) {
  const std::string name = options.value("--backend").value_or("");
  if (name == "host" || name == "cuda") return name;
  if (!name.empty())
    throw usage_error(command + ": unknown backend \"" + name + "\"", suggest(name, {"host", "cuda"}));
  std::error_code ignored;
  return std::filesystem::exists("/proc/driver/nvidia/version", ignored) ? "cuda" : "host";
}

std::unique_ptr<Backend> open_backend(const std::string& name, Meeting& meeting) {
  return name == "cuda" ? open_cuda_backend(meeting) : open_host_backend(meeting);
}

std::string neighbours_of_all(const Backend& backend, Meeting& meeting) {
  std::string mine;
  for (const std::string& neighbour : backend.neighbours()) mine += (mine.empty() ? "" : ", ") + neighbour;
  const std::vector<std::string> all = meeting.gather(mine);
  std::string lines;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    lines += (lines.empty() ? "" : "\n") + ("rank " + std::to_string(rank)) + " on " +
             meeting.place().host_of_rank.at(rank) + ": " + all[rank];
  }
  return meeting.broadcast(lines);
}

}  // namespace stepcast
