#include "cli/graphviz.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/diagnostic.hpp"
#include "base/document.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// Removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "stepcast-XXXXXX").string();
    STEPCAST_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder can be made");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

}  // namespace

bool graphviz_is_here() {
  const char* const path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    if (end > begin && ::access((folders.substr(begin, end - begin) + "/dot").c_str(), X_OK) == 0)
      return true;
    begin = end + 1;
  }
  return false;
}

std::string draw_svg(const std::string& dot) {
  const TemporaryFolder folder;
  const std::string svg = folder.file("drawing.svg");
  FILE* const pipe = ::popen(("dot -Tsvg -o '" + svg + "'").c_str(), "w");
  STEPCAST_CHECK(pipe != nullptr, "dot can't be started");
  const std::size_t written = std::fwrite(dot.data(), 1, dot.size(), pipe);
  const int status = ::pclose(pipe);
  STEPCAST_CHECK(written == dot.size() && status == 0, "Graphviz's dot does not take the drawing");
  return read_file(svg);
}

}  // namespace stepcast
