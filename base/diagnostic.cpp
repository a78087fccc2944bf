#include "base/diagnostic.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1)});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

std::string first_text(const std::vector<Diagnostic>& found) {
  return found.empty() ? std::string("faulty input") : render(found.front());
}

}  // namespace

std::string render(const Diagnostic& diagnostic, std::string_view severity) {
  const SourcePlace& place = diagnostic.place;
  std::string text = place.file;
  if (place.line > 0) text += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  text += ": " + std::string(severity) + ": " + diagnostic.message + "\n";
  if (place.line > 0 && !place.source_line.empty()) {
    const std::string number = std::to_string(place.line);
    // Long lines (minified JSON) are cut around the place.
    const std::size_t column = std::max(1U, place.column) - 1;
    const std::size_t from = column > 70 ? column - 40 : 0;
    const std::string shown = place.source_line.substr(std::min(from, place.source_line.size()), 120);
    std::string marks;
    for (std::size_t i = from; i < column; ++i) {
      marks += i < place.source_line.size() && place.source_line[i] == '\t' ? '\t' : ' ';
    }
    marks += '^';
    const std::size_t room = shown.size() > column - from ? shown.size() - (column - from) : 1;
    const std::size_t length = std::min<std::size_t>(std::max(1U, place.length), room);
    marks.append(length > 0 ? length - 1 : 0, '~');
    text += "  " + number + " | " + shown + "\n";
    text += "  " + std::string(number.size(), ' ') + " | " + marks + "\n";
  }
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

ScenarioError::ScenarioError(std::vector<Diagnostic> found)
    : std::runtime_error(first_text(found)), diagnostics_(std::move(found)) {}

ScenarioError::ScenarioError(Diagnostic one) : ScenarioError(std::vector<Diagnostic>{std::move(one)}) {}

InternalError::InternalError(const char* file, int line, const std::string& message)
    : std::logic_error(std::string(file) + ":" + std::to_string(line) + ": internal error: " + message) {}

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word, name);
    const bool as_long =
        name.size() == word.size() && best.size() != word.size();  // "nodse": nodes, not node
    if (distance < best_distance || (distance == best_distance && !best.empty() && as_long)) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string suggest(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest_name(word, known);
  if (!near.empty()) return "did you mean \"" + near + "\"?";
  std::string text = "known: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i > 0 ? ", " : "") + known[i];
  return text;
}

}  // namespace stepcast
