#include "cli/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void can_not_write(const std::string& path, const std::string& why, const std::string& hint) {
  Diagnostic fault;
  fault.place.file = path;
  fault.message = "can't write this file: " + why;
  fault.hint = hint;
  throw ScenarioError(std::move(fault));
}

/// Where the bytes go in the end: a link stays a link.
fs::path target_of(const std::string& path) {
  std::error_code ignored;
  const fs::path resolved =
      fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
  return resolved.empty() ? fs::path(path) : resolved;
}

bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

bool write_all(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return !file.fail();
}

}  // namespace

void require_writable(const std::string& path, const std::string& option) {
  std::error_code ignored;
  const fs::path target = target_of(path);
  if (path.empty()) can_not_write(path, "an empty name was given with " + option, "");
  if (fs::is_directory(target, ignored)) can_not_write(path, "it is a folder", "name a file with " + option);
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, ignored)) {
    can_not_write(path, "there is no folder \"" + parent.string() + "\"",
                  "make it first, or name another with " + option);
  }
  const bool in_place = is_special(target);
  if (::access(in_place ? target.c_str() : parent.c_str(), W_OK) != 0) {
    can_not_write(path, std::strerror(errno), "name another file with " + option);
  }
}

void write_atomically(const std::string& path, std::string_view text) {
  const fs::path target = target_of(path);
  errno = 0;
  if (is_special(target)) {
    if (!write_all(target, text)) can_not_write(path, std::strerror(errno), "");
    return;
  }
  const fs::path fresh = target.string() + ".new-" + std::to_string(::getpid());
  std::error_code fault;
  if (!write_all(fresh, text)) {
    const std::string why = std::strerror(errno);
    fs::remove(fresh, fault);
    can_not_write(path, why, "");
  }
  fs::rename(fresh, target, fault);
  if (fault) {
    const std::string why = fault.message();
    fs::remove(fresh, fault);
    can_not_write(path, why, "");
  }
}

}  // namespace stepcast
