#include "calibrate/launch/node_identity.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace stepcast {

std::string host_name() {
  if (const char* given = std::getenv("STEPCAST_HOST_NAME"); given && *given) return given;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

std::string node_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code ignored;
  const std::filesystem::path network = std::filesystem::read_symlink("/proc/self/ns/net", ignored);
  return host_name() + " " + boot + " " + network.string();
}

}  // namespace stepcast
