#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stepcast {

/// Paths under which one of `files` (the best first) may be opened, in the order in which they are tried:
/// LD_LIBRARY_PATH, then CUDA_HOME and CUDA_PATH, /usr/local/cuda, and last the bare names, which the dynamic
/// loader looks for in the system's default places. Paths that don't exist are left out; bare names never.
[[nodiscard]] std::vector<std::string> library_paths(const std::vector<std::string>& files,
                                                     const std::map<std::string, std::string>& environment,
                                                     const std::function<bool(const std::string&)>& exists);

/// A library that is opened when it is first needed, and stays open: CUDA's may not be unloaded.
class SharedLibrary {
 public:
  /// @param title  as people call it, "NCCL"
  /// @throws MachineError that names the library, where it was looked for, and what to set
  SharedLibrary(std::string title, const std::vector<std::string>& files);

  /// Sets `function` to the symbol. @throws MachineError where the library lacks it
  template <class Function>
  void load(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(address(symbol, true));
  }
  /// Sets `function` to the symbol, or to null.
  template <class Function>
  void load_optional(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(address(symbol, false));
  }

 private:
  [[nodiscard]] void* address(const char* symbol, bool required) const;

  std::string title_, path_;
  void* handle_{};
};

}  // namespace stepcast
