#include "calibrate/host/machine.hpp"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stepcast {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// A limit file holds a number of bytes, or "max".
void lower_to(std::int64_t& limit, const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (std::int64_t bytes{}; stream >> bytes) limit = std::min(limit, bytes);
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

bool allow_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

}  // namespace

MachineShare share_machine(Meeting& meeting) {
  const RankPlace& place = meeting.place();
  const std::string machine = first_line("/proc/sys/kernel/random/boot_id");
  const auto key = [](int rank) { return "host/machine/" + std::to_string(rank); };
  meeting.put(key(place.rank), machine + " " + std::to_string(getpid()));
  MachineShare share{0, 0, {}};
  for (int rank = 0; rank < place.size; ++rank) {
    std::istringstream told(meeting.get(key(rank)));
    std::string where;
    int process{};
    told >> where >> process;
    if (where != machine) continue;
    if (rank == place.rank) share.index = share.ranks;
    ++share.ranks;
    share.processes.push_back(process);
  }
  return share;
}

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::int64_t memory_limit() {
  struct sysinfo machine {};
  sysinfo(&machine);
  auto limit = static_cast<std::int64_t>(machine.totalram) * static_cast<std::int64_t>(machine.mem_unit);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/a/b" of version 2, "7:memory:/a/b" of version 1; a group's limit holds for those below it.
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const std::filesystem::path root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* const name = controllers.empty() ? "memory.max" : "memory.limit_in_bytes";
    lower_to(limit, root / name);
    std::filesystem::path group = root;
    for (const auto& part : std::filesystem::path(line.substr(second + 1)).relative_path()) {
      group /= part;
      lower_to(limit, group / name);
    }
  }
  return limit;
}

OwnCore::OwnCore(const MachineShare& share) {
  const std::vector<int> allowed = allowed_cores();
  if (allowed.size() == 1) number_ = allowed.front();
  if (allowed.size() < 2 || share.ranks > static_cast<int>(allowed.size())) return;
  const int mine = allowed[static_cast<std::size_t>(share.index)];
  if (!allow_cores({mine})) return;
  number_ = mine;
  allowed_before_ = allowed;
}

OwnCore::~OwnCore() {
  if (!allowed_before_.empty()) allow_cores(allowed_before_);
}

}  // namespace stepcast
