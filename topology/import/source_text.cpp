#include "topology/import/source_text.hpp"

namespace stepcast {
namespace {

constexpr char escape = '\x1b';

/// "\x1b[1;32mGPU0\x1b[0m" -> "GPU0".
std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != escape) {
      plain += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
    }
  }
  return plain;
}

}  // namespace

SourceText::SourceText(std::string_view text, std::string file) : file_(std::move(file)) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  binary_ = text.find('\0') != std::string_view::npos;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(without_colours(line));
  }
}

SourcePlace SourceText::place(std::size_t line, std::size_t column, std::size_t length) const {
  constexpr std::size_t longest_excerpt = 1000;
  SourcePlace place{file_, static_cast<unsigned>(line + 1), static_cast<unsigned>(column + 1),
                    static_cast<unsigned>(length), ""};
  if (line < lines_.size() && lines_[line].size() <= longest_excerpt) place.source_line = lines_[line];
  return place;
}

SourcePlace SourceText::whole() const { return {file_, 0, 0, 1, ""}; }

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({std::string(line.substr(at, end - at)), at});
    at = end;
  }
  return words;
}

std::string trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace stepcast
