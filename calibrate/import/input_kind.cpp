#include "calibrate/import/input_kind.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include "base/document.hpp"
#include "calibrate/import/byte_source.hpp"

namespace stepcast {

InputKind input_kind(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) (void)read_file(file);  // says why it can't be read
  ByteSource source(stream);
  std::array<char, 4096> part{};
  std::string head(part.data(), source.read(part.data(), part.size()));
  if (head.starts_with("\xef\xbb\xbf")) head.erase(0, 3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return InputKind::log;
  // A log may begin with a label: "[1,0]<stdout>: ...". A list of events has objects.
  const std::size_t second = head.find_first_not_of(" \t\r\n", first + 1);
  if (head[first] == '{') return InputKind::trace;
  if (head[first] == '[' && second != std::string::npos && (head[second] == '{' || head[second] == ']'))
    return InputKind::trace;
  const bool columns = head.find("Total Time (ns)") != std::string::npos ||
                       head.find("Start (ns),Duration (ns)") != std::string::npos;
  return columns ? InputKind::kernel_table : InputKind::log;
}

}  // namespace stepcast
