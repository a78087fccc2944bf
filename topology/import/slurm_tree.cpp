#include "topology/import/slurm_tree.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "topology/figure_reader.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most_names = 1'000'000;

bool key_is(std::string_view word, std::string_view key) {
  if (word.size() < key.size()) return false;
  return std::equal(key.begin(), key.end(), word.begin(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// "1-3,07" -> 1 2 3 07; nothing when it is no list of ranges.
std::optional<std::vector<std::string>> numbers_in(const std::string& list) {
  std::vector<std::string> numbers;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string part = list.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const std::string first = part.substr(0, dash),
                      last = dash == std::string::npos ? first : part.substr(dash + 1);
    const auto number = [](const std::string& digits) {
      const bool sound =
          !digits.empty() && digits.size() <= 9 &&
          std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
      return sound ? std::stol(digits) : -1L;
    };
    const long from = number(first), to = number(last);
    if (from < 0 || to < from || static_cast<std::size_t>(to - from) > most_names) return std::nullopt;
    for (long i = from; i <= to; ++i) {
      std::string digits = std::to_string(i);
      if (first.size() > 1 && first.front() == '0' && digits.size() < first.size())
        digits.insert(0, first.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
      if (numbers.size() > most_names) return std::nullopt;
    }
    begin = end + 1;
  }
  return numbers;
}

/// "rack[0-1]n[1-2],login" -> rack0n1 rack0n2 rack1n1 rack1n2 login.
std::optional<std::vector<std::string>> expand_names(const std::string& list) {
  std::vector<std::string> names, open{""};
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at == list.size() || list[at] == ',') {
      for (std::string& name : open)
        if (!name.empty()) names.push_back(std::move(name));
      open.assign(1, "");
    } else if (list[at] == '[') {
      const std::size_t end = list.find(']', at);
      if (end == std::string::npos) return std::nullopt;
      const auto numbers = numbers_in(list.substr(at + 1, end - at - 1));
      if (!numbers || open.size() * numbers->size() > most_names) return std::nullopt;
      std::vector<std::string> longer;
      for (const std::string& name : open)
        for (const std::string& number : *numbers) longer.push_back(name + number);
      open = std::move(longer);
      at = end;
    } else {
      for (std::string& name : open) name += list[at];
    }
    if (names.size() + open.size() > most_names) return std::nullopt;
  }
  return names;
}

class SlurmTree {
 public:
  explicit SlurmTree(const SourceText& text) : text_(text) {
    draft_.format = "Slurm topology.conf";
    draft_.file = text.whole();
    draft_.tree_only = true;
  }

  FabricDraft read() {
    for (std::size_t line = 0; line < text_.lines().size(); ++line) read_line(line);
    link();
    throw_faults(std::move(faults_));
    check_tree();
    throw_faults(std::move(faults_));
    lay_hosts();
    if (draft_.hosts.empty())
      fault(text_.whole(), "no switch has Nodes in this file", "leaf switches need Nodes=...");
    throw_faults(std::move(faults_));
    if (roots_ > 1) draft_.notes.push_back("the tree has " + std::to_string(roots_) + " roots");
    return std::move(draft_);
  }

 private:
  struct Line {
    std::size_t line{};
    std::vector<std::string> children, nodes;
  };

  void fault(SourcePlace place, std::string message, std::string hint) {
    faults_.push_back({std::move(place), std::move(message), std::move(hint)});
  }

  void read_line(std::size_t number) {
    std::string content = text_.lines()[number].substr(0, text_.lines()[number].find('#'));
    std::string name;
    Line entry{number, {}, {}};
    for (const Word& word : words_of(content)) {
      const std::size_t equals = word.text.find('=');
      if (equals == std::string::npos) {
        if (word.text != "\\")
          fault(text_.place(number, word.column, word.text.size()), "\"" + word.text + "\" is no key=value",
                "");
        continue;
      }
      const std::string value = word.text.substr(equals + 1);
      if (key_is(word.text, "SwitchName=")) {
        name = value;
      } else if (key_is(word.text, "Switches=") || key_is(word.text, "Nodes=")) {
        const auto names = expand_names(value);
        if (!names)
          fault(text_.place(number, word.column + equals + 1, value.size()),
                "\"" + value + "\" is no list of names",
                "expected names with ranges like leaf[0-3,7]; at most a million");
        else if (key_is(word.text, "Nodes="))
          entry.nodes = *names;
        else
          entry.children = *names;
      } else if (!key_is(word.text, "LinkSpeed=")) {
        fault(text_.place(number, word.column, equals),
              "the key " + word.text.substr(0, equals) + " is not known here",
              "expected SwitchName, Switches, Nodes or LinkSpeed");
      }
    }
    if (name.empty()) return;
    if (!numbers_.try_emplace(name, static_cast<int>(lines_.size())).second)
      fault(text_.place(number), "the switch " + name + " stands there twice",
            "keep one line for each switch");
    draft_.switches.push_back(name);
    lines_.push_back(std::move(entry));
  }

  void link() {
    above_.assign(lines_.size(), -1);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const std::string& child : lines_[i].children) {
        const auto found = numbers_.find(child);
        if (found == numbers_.end()) {
          fault(text_.place(lines_[i].line),
                draft_.switches[i] + " has the switch " + child + " beneath it, which has no line",
                "add SwitchName=" + child + " with its Switches or Nodes; the file may be cut off");
          continue;
        }
        int& above = above_[static_cast<std::size_t>(found->second)];
        if (above >= 0)
          fault(text_.place(lines_[i].line), "the switch " + child + " is beneath two others",
                "a tree has one way up");
        above = static_cast<int>(i);
      }
    }
  }

  void check_tree() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      std::size_t steps = 0;
      int at = static_cast<int>(i);
      while (above_[static_cast<std::size_t>(at)] >= 0 && steps++ <= lines_.size())
        at = above_[static_cast<std::size_t>(at)];
      if (steps > lines_.size()) {
        fault(text_.place(lines_[i].line), "the switch " + draft_.switches[i] + " is above itself", "");
        return;
      }
      if (above_[i] < 0) ++roots_;
      if (above_[i] >= 0) draft_.cables.push_back({static_cast<int>(i), above_[i], 1, {}});
    }
  }

  void lay_hosts() {
    std::map<std::string, int> leaf_of;
    std::size_t twice = 0;
    std::string example;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const std::string& node : lines_[i].nodes) {
        if (leaf_of.try_emplace(node, static_cast<int>(i)).second) continue;
        if (twice++ == 0) example = node;
      }
    }
    if (twice > 0)
      draft_.notes.push_back(std::to_string(twice) + " nodes hang on several switches, first " + example +
                             ": the first switch was taken");
    for (const auto& [node, leaf] : leaf_of) draft_.hosts.push_back({node, {{"", leaf, {}}}});
    std::stable_sort(
        draft_.hosts.begin(), draft_.hosts.end(),
        [](const FabricDraft::Host& a, const FabricDraft::Host& b) { return natural_less(a.name, b.name); });
  }

  const SourceText& text_;
  FabricDraft draft_;
  std::vector<Line> lines_;  ///< by switch
  std::map<std::string, int> numbers_;
  std::vector<int> above_;
  int roots_{};
  std::vector<Diagnostic> faults_;
};

}  // namespace

bool is_slurm_tree(const SourceText& text) {
  return std::any_of(text.lines().begin(), text.lines().end(),
                     [](const std::string& line) { return key_is(trim(line), "SwitchName="); });
}

FabricDraft read_slurm_tree(const SourceText& text) { return SlurmTree(text).read(); }

}  // namespace stepcast
