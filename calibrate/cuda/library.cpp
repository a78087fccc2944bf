#include "calibrate/cuda/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "calibrate/device.hpp"

namespace stepcast {
namespace {

constexpr const char* variables[] = {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"};

std::map<std::string, std::string> our_environment() {
  std::map<std::string, std::string> environment;
  for (const char* name : variables) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return environment;
}

std::vector<std::string> folders_of(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> folders;
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  std::istringstream list(value("LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  for (const std::string& root : {value("CUDA_HOME"), value("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (root.empty()) continue;
    for (const char* below : {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"}) {
      folders.push_back(root + "/" + below);
    }
  }
  return folders;
}

}  // namespace

std::vector<std::string> library_paths(const std::vector<std::string>& files,
                                       const std::map<std::string, std::string>& environment,
                                       const std::function<bool(const std::string&)>& exists) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders_of(environment)) {
    for (const std::string& file : files) {
      if (const std::string path = folder + "/" + file; exists(path)) paths.push_back(path);
    }
  }
  paths.insert(paths.end(), files.begin(), files.end());
  return paths;
}

SharedLibrary::SharedLibrary(std::string title, const std::vector<std::string>& files)
    : title_(std::move(title)) {
  const auto environment = our_environment();
  std::string attempts;
  for (const std::string& path : library_paths(files, environment, [](const std::string& candidate) {
         std::error_code ignored;
         return std::filesystem::exists(candidate, ignored);
       })) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = path;
      return;
    }
    const char* reason = dlerror();
    attempts += "\n  " + std::string(reason != nullptr ? reason : path.c_str());
  }
  std::string places;
  for (const std::string& folder : folders_of(environment)) places += folder + " ";
  throw MachineError(
      title_ + " can't be opened; looked in " + places + "and the system's default places:" + attempts,
      "set LD_LIBRARY_PATH or CUDA_HOME to where " + files.front() +
          " is (`module load cuda` or `module load nccl` does it on many clusters)");
}

void* SharedLibrary::address(const char* symbol, bool required) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr && required) {
    throw MachineError(title_ + " of " + path_ + " has no " + symbol, "use a newer " + title_);
  }
  return found;
}

}  // namespace stepcast
