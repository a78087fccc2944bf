#include "calibrate/host/neighbours.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "calibrate/host/host_clock.hpp"

namespace stepcast {
namespace {

struct Task {
  std::string name;
  long ticks{};  // CPU time so far
};

// "4711 (a name) S ...": the name may hold blanks and parentheses. Fields count from 1, as in proc(5).
std::optional<Task> read_task(const std::filesystem::path& stat, std::optional<int> core) {
  std::string line;
  std::getline(std::ifstream(stat), line);
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(close + 1));
  long user{}, system{};
  int processor{};
  std::string field;
  for (int number = 3; number <= 39 && rest >> field; ++number) {
    if (number == 14) user = std::stol(field);
    if (number == 15) system = std::stol(field);
    if (number == 39) processor = std::stoi(field);
  }
  if (core && processor != *core) return std::nullopt;
  return Task{line.substr(open + 1, close - open - 1), user + system};
}

std::optional<int> number_of(const std::filesystem::path& file) {
  const std::string name = file.filename();
  int number{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// By process and thread. Processes come and go while one reads: what is gone counts as idle.
std::map<std::pair<int, int>, Task> read_tasks(std::optional<int> core, const std::vector<int>& own) {
  std::map<std::pair<int, int>, Task> tasks;
  std::error_code gone;
  for (const auto& process : std::filesystem::directory_iterator("/proc", gone)) {
    const auto id = number_of(process.path());
    if (!id || std::ranges::find(own, *id) != own.end()) continue;
    for (std::filesystem::directory_iterator thread(process.path() / "task", gone), end;
         !gone && thread != end; thread.increment(gone)) {
      const auto thread_id = number_of(thread->path());
      if (auto task = read_task(thread->path() / "stat", core); task && thread_id) {
        tasks[{*id, *thread_id}] = *std::move(task);
      }
    }
  }
  return tasks;
}

}  // namespace

std::vector<std::string> busy_processes(std::optional<int> core, const std::vector<int>& own, double share) {
  constexpr double watched_seconds = 0.2;
  const Seconds start = monotonic_now();
  const auto before = read_tasks(core, own);
  sleep_until(start + Seconds(watched_seconds));
  const auto after = read_tasks(core, own);
  const double elapsed = (monotonic_now() - start).value;
  std::map<int, Task> used;
  for (const auto& [id, task] : after) {
    const auto found = before.find(id);
    if (found == before.end()) continue;
    Task& process = used[id.first];
    process.name = task.name;
    process.ticks += task.ticks - found->second.ticks;
  }
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::vector<std::string> busy;
  for (const auto& [id, task] : used) {
    if (static_cast<double>(task.ticks) / ticks_per_second > share * elapsed) {
      busy.push_back("pid " + std::to_string(id) + " (" + task.name + ")");
    }
  }
  return busy;
}

}  // namespace stepcast
