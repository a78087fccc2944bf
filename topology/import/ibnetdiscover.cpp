#include "topology/import/ibnetdiscover.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "topology/figure_reader.hpp"
#include "topology/import/known_hardware.hpp"

namespace stepcast {
namespace {

/// "4xHDR" anywhere among the words -> 200 Gb/s.
std::optional<BytesPerSecond> rate_in(const std::string& remark) {
  for (const Word& word : words_of(remark)) {
    const std::size_t cross = word.text.find('x');
    if (cross == 0 || cross == std::string::npos || cross > 2) continue;
    const bool digits = std::all_of(word.text.begin(), word.text.begin() + static_cast<std::ptrdiff_t>(cross),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!digits) continue;
    if (const auto lane = infiniband_lane_rate(word.text.substr(cross + 1)))
      return std::stoi(word.text) * *lane;
  }
  return std::nullopt;
}

/// The text between the first pair of quotes from `at`, and where it ends.
std::optional<std::string> quoted(const std::string& line, std::size_t& at) {
  const std::size_t begin = line.find('"', at);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = line.find('"', begin + 1);
  if (end == std::string::npos) return std::nullopt;
  at = end + 1;
  return line.substr(begin + 1, end - begin - 1);
}

/// "[21]" at `at`: 21.
std::optional<int> port_at(const std::string& line, std::size_t& at) {
  at = line.find_first_not_of(" \t", at);
  if (at == std::string::npos || line[at] != '[') return std::nullopt;
  const std::size_t end = line.find(']', at);
  if (end == std::string::npos || end == at + 1 || end > at + 6) return std::nullopt;
  const std::string digits = line.substr(at + 1, end - at - 1);
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
    return std::nullopt;
  at = end + 1;
  return std::stoi(digits);
}

class Discovery {
 public:
  explicit Discovery(const SourceText& text) : text_(text) {
    draft_.format = "ibnetdiscover";
    draft_.file = text.whole();
    draft_.transport = "infiniband";
    draft_.rate_source = "ibnetdiscover: width and speed of the port";
  }

  FabricDraft read() {
    for (std::size_t line = 0; line < text_.lines().size(); ++line) read_line(line);
    throw_faults(std::move(faults_));
    name_switches();
    lay_cables();
    lay_hosts();
    if (draft_.hosts.empty())
      fault(text_.whole(), "no network card of a host is in this file", "give all that ibnetdiscover prints");
    throw_faults(std::move(faults_));
    say_what_is_left_out();
    return std::move(draft_);
  }

 private:
  struct Element {
    std::string description;
    bool is_switch{}, own_block{};
  };
  using Port = std::pair<std::string, int>;
  struct Cable {
    Port one, other;
    std::optional<BytesPerSecond> rate;
  };

  void fault(SourcePlace place, std::string message, std::string hint) {
    faults_.push_back({std::move(place), std::move(message), std::move(hint)});
  }

  void read_line(std::size_t number) {
    const std::string& line = text_.lines()[number];
    const std::vector<Word> words = words_of(line);
    if (words.empty() || words[0].text.front() == '#') return;
    if (words[0].text == "Switch" || words[0].text == "Ca" || words[0].text == "Rt") {
      begin_block(number, words[0].text);
    } else if (words[0].text.front() == '[' && !current_.empty()) {
      read_port(number);
    } else if (words[0].text.find('=') == std::string::npos && words[0].text.find('$') == std::string::npos) {
      fault(text_.place(number, words[0].column, words[0].text.size()),
            "this line is no part of ibnetdiscover's output", "expected Switch, Ca, [port] or name=value");
    }
  }

  void begin_block(std::size_t number, const std::string& kind) {
    const std::string& line = text_.lines()[number];
    std::size_t at = 0;
    const std::optional<std::string> id = quoted(line, at);
    if (!id) {
      fault(text_.place(number), "a " + kind + " without a name between quotes", "");
      return;
    }
    const std::optional<std::string> description = quoted(line, at);
    Element& element = elements_[*id];
    if (element.own_block)
      fault(text_.place(number), "\"" + *id + "\" stands there twice", "keep one of them");
    element = {description.value_or(element.description), kind == "Switch", true};
    current_ = *id;
    if (kind == "Rt") ++routers_;
  }

  void read_port(std::size_t number) {
    const std::string& line = text_.lines()[number];
    std::size_t at = 0;
    const std::optional<int> port = port_at(line, at);
    const std::optional<std::string> peer = port ? quoted(line, at) : std::nullopt;
    const std::optional<int> peer_port = peer ? port_at(line, at) : std::nullopt;
    if (!peer_port) {
      fault(text_.place(number, 0, line.size()), "this port is not understood: the line may be cut off",
            "expected [port] \"S-GUID\"[port] # \"name\" lid N 4xHDR");
      return;
    }
    const std::size_t remark = line.find('#', at);
    const std::string tail = remark == std::string::npos ? "" : line.substr(remark);
    std::size_t from = 0;
    const std::optional<std::string> description = quoted(tail, from);
    Element& other = elements_[*peer];
    if (!other.own_block) other.is_switch = peer->starts_with("S-");
    if (other.description.empty()) other.description = description.value_or("");
    Port one{current_, *port}, two{*peer, *peer_port};
    if (two < one) std::swap(one, two);
    Cable& cable = cables_.try_emplace({one, two}, Cable{one, two, {}}).first->second;
    if (!cable.rate) cable.rate = rate_in(tail);
  }

  /// "MF0;rack1-ib1:MQM8700/U1" -> rack1-ib1; parts of a chassis keep "/L01".
  static std::string switch_name(const std::string& description, const std::string& id) {
    std::string name = description.substr(description.find(';') + 1);
    if (description.find(';') == std::string::npos) name = "";
    const std::size_t colon = name.find(':');
    if (colon != std::string::npos) {
      std::string part;
      const std::size_t slash = name.find('/', colon);
      const std::string chassis = slash == std::string::npos ? "" : name.substr(slash + 1);
      if (!chassis.empty() && (chassis[0] == 'L' || chassis[0] == 'S') &&
          chassis.find('/') != std::string::npos)
        part = "/" + chassis.substr(0, chassis.find('/'));
      name = name.substr(0, colon) + part;
    }
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isspace(c) != 0; }, '_');
    return name.empty() ? id : name;
  }

  void name_switches() {
    std::map<std::string, int> uses;
    for (const auto& [id, element] : elements_)
      if (element.is_switch) ++uses[switch_name(element.description, id)];
    std::vector<std::pair<std::string, std::string>> named;  // name and id
    for (const auto& [id, element] : elements_) {
      if (!element.is_switch) continue;
      const std::string name = switch_name(element.description, id);
      named.emplace_back(uses[name] > 1 ? name + "-" + id : name, id);
    }
    std::sort(named.begin(), named.end(),
              [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
    for (const auto& [name, id] : named) {
      number_of_[id] = static_cast<int>(draft_.switches.size());
      draft_.switches.push_back(name);
      if (!elements_.at(id).own_block) bare_.push_back(name);
    }
  }

  void lay_cables() {
    std::map<std::pair<int, int>, FabricDraft::Cable> bundles;
    for (const auto& [ends, cable] : cables_) {
      const auto a = number_of_.find(cable.one.first), b = number_of_.find(cable.other.first);
      if (a == number_of_.end() || b == number_of_.end() || a->second == b->second) continue;
      const std::pair<int, int> key = std::minmax(a->second, b->second);
      FabricDraft::Cable& bundle =
          bundles.try_emplace(key, FabricDraft::Cable{key.first, key.second, 0, BytesPerSecond{}})
              .first->second;
      ++bundle.count;
      if (cable.rate && bundle.rate) {
        *bundle.rate += *cable.rate;
      } else {
        bundle.rate.reset();
      }
    }
    for (const auto& [ends, bundle] : bundles) draft_.cables.push_back(bundle);
  }

  void lay_hosts() {
    std::map<std::string, std::vector<FabricDraft::Card>> hosts;
    for (const auto& [ends, cable] : cables_) {
      const bool first_is_card = elements_.at(cable.one.first).is_switch == false;
      const Port& card = first_is_card ? cable.one : cable.other;
      const Port& peer = first_is_card ? cable.other : cable.one;
      const Element& element = elements_.at(card.first);
      if (element.is_switch || !card.first.starts_with("H-")) continue;
      const auto on = number_of_.find(peer.first);
      if (on == number_of_.end()) {
        ++direct_;
        continue;
      }
      if (element.description.find("Aggregation Node") != std::string::npos) {
        ++aggregators_;
        continue;
      }
      const std::vector<Word> words = words_of(element.description);
      const bool nameless =
          words.empty() || element.description.find("Mellanox Technologies") != std::string::npos;
      if (nameless) ++nameless_;
      const std::string host = nameless ? card.first : words[0].text;
      std::string name = nameless || words.size() < 2 ? card.first : words[1].text;
      if (card.second > 1) name += "/" + std::to_string(card.second);
      hosts[host].push_back({name, on->second, cable.rate});
      if (!element.own_block) without_block_.insert(card.first);
    }
    for (auto& [name, cards] : hosts) {
      std::stable_sort(cards.begin(), cards.end(),
                       [](const FabricDraft::Card& a, const FabricDraft::Card& b) {
                         return natural_less(a.name, b.name);
                       });
      draft_.hosts.push_back({name, cards});
    }
    std::stable_sort(
        draft_.hosts.begin(), draft_.hosts.end(),
        [](const FabricDraft::Host& a, const FabricDraft::Host& b) { return natural_less(a.name, b.name); });
  }

  void say_what_is_left_out() {
    const auto note = [&](int count, const std::string& text) {
      if (count > 0) draft_.notes.push_back(std::to_string(count) + " " + text);
    };
    note(aggregators_, "of the ports are SHARP's aggregation nodes, which are no hosts, and are left out");
    note(routers_, "routers are left out");
    note(direct_, "cables join cards without a switch and are left out");
    note(nameless_, "cards do not name their host: each counts as a node of its own");
    note(static_cast<int>(without_block_.size()),
         "cards have no block of their own and are known from their switch");
    if (!bare_.empty())
      draft_.notes.push_back(std::to_string(bare_.size()) + " switches have no block of their own, first " +
                             bare_.front() + ": cables that only it names are missing");
  }

  const SourceText& text_;
  FabricDraft draft_;
  std::map<std::string, Element> elements_;  ///< by "S-GUID" or "H-GUID"
  std::map<std::pair<Port, Port>, Cable> cables_;
  std::map<std::string, int> number_of_;
  std::vector<std::string> bare_;
  std::set<std::string> without_block_;
  std::string current_;
  int aggregators_{}, routers_{}, direct_{}, nameless_{};
  std::vector<Diagnostic> faults_;
};

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string one = number(a, i), other = number(b, j);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;  // "n1" and "n01"
}

bool is_ibnetdiscover(const SourceText& text) {
  for (const std::string& line : text.lines()) {
    const std::vector<Word> words = words_of(line);
    if (words.size() < 3) continue;
    const bool head = words[0].text == "Switch" || words[0].text == "Ca";
    if (head && (words[2].text.starts_with("\"S-") || words[2].text.starts_with("\"H-"))) return true;
  }
  return false;
}

FabricDraft read_ibnetdiscover(const SourceText& text) { return Discovery(text).read(); }

}  // namespace stepcast
