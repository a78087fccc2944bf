#include <algorithm>

#include "sim/scenario/dotted_path.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// "a,b,[1, 2]" -> a | b | [1, 2]: splits at commas outside of brackets and quotes.
std::vector<std::string> split_top_level(const std::string& text) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      pieces.emplace_back();
      continue;
    }
    pieces.back() += c;
  }
  for (std::string& piece : pieces) {
    const std::size_t first = piece.find_first_not_of(' ');
    const std::size_t last = piece.find_last_not_of(' ');
    piece = first == std::string::npos ? "" : piece.substr(first, last - first + 1);
  }
  return pieces;
}

/// cluster.profile takes a list as its value; a list for any other key is a sweep.
bool takes_list(const std::string& key) { return key == "cluster.profile"; }

/// [what_if] keys are dotted paths in quotes; unquoted they are nested tables, which mean the same.
void flatten(const Value& table, const std::string& prefix, std::vector<ScenarioFile::Swept>& swept) {
  for (const Value::Entry& entry : table.table) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.value.kind == Value::Kind::table) {
      flatten(entry.value, key, swept);
    } else if (entry.value.kind == Value::Kind::array) {
      swept.push_back({key, entry.value.array, entry.value.place});
    } else {
      swept.push_back({key, {entry.value}, entry.value.place});
    }
  }
}

}  // namespace

ScenarioFile load_scenario(const std::string& file, const std::vector<Override>& overrides,
                           const std::vector<std::string>& profiles) {
  ScenarioFile result;
  result.file = file;
  result.profiles = profiles;
  result.document = parse_toml(read_file(file), file);
  std::vector<Diagnostic> faults;
  auto& entries = result.document.table;
  const auto what_if = std::find_if(entries.begin(), entries.end(),
                                    [](const Value::Entry& entry) { return entry.key == "what_if"; });
  if (what_if != entries.end()) {
    if (what_if->value.kind == Value::Kind::table) {
      flatten(what_if->value, "", result.swept);
    } else {
      faults.push_back({what_if->value.place, "what_if must be a table of lists",
                        "for example \"cluster.nodes\" = [1, 2, 4]"});
    }
    entries.erase(what_if);
  }
  for (const Override& override_ : overrides) {
    const std::string place_name = "--set " + override_.key + "=" + override_.text;
    std::vector<Value> values;
    for (const std::string& piece : split_top_level(override_.text)) {
      if (piece.empty()) {
        faults.push_back({{place_name, 1, 1, static_cast<unsigned>(place_name.size()), place_name},
                          "--set " + override_.key + " has an empty value",
                          "expected key=value or key=v1,v2,..."});
        continue;
      }
      Value value = parse_toml_value_or_text(piece, place_name);
      if (value.kind == Value::Kind::array && !takes_list(override_.key)) {
        for (Value& item : value.array) {
          item.place = value.place;
          values.push_back(item);
        }
      } else {
        values.push_back(std::move(value));
      }
    }
    if (values.empty()) {
      if (faults.empty())
        faults.push_back({{place_name, 1, 1, 1, place_name}, "an empty list leaves no point", ""});
      continue;
    }
    auto swept = std::find_if(result.swept.begin(), result.swept.end(),
                              [&](const auto& candidate) { return candidate.key == override_.key; });
    std::erase(result.set_keys, override_.key);  // The last --set of a key wins.
    if (values.size() > 1) {
      if (swept == result.swept.end())
        swept = result.swept.insert(swept, ScenarioFile::Swept{override_.key, {}, {}});
      swept->values = values;
    } else {
      if (swept != result.swept.end()) result.swept.erase(swept);
      assign_dotted(result.document, override_.key, values.front(), faults);
      result.set_keys.push_back(override_.key);
    }
  }
  for (const ScenarioFile::Swept& swept : result.swept) {
    if (swept.values.empty()) {
      faults.push_back({swept.place, "what_if." + swept.key + " is an empty list: it leaves no point", ""});
    }
  }
  // Swept keys must name a section that exists, before any point is made of them.
  for (const ScenarioFile::Swept& swept : result.swept) {
    if (swept.values.empty()) continue;
    Value probe = result.document;
    assign_dotted(probe, swept.key, swept.values.front(), faults);
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  return result;
}

}  // namespace stepcast
