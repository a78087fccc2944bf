#include "topology/written_network.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/quantity.hpp"
#include "base/table_reader.hpp"

namespace stepcast {
namespace {

constexpr int any = std::numeric_limits<int>::max();
constexpr std::string_view card_forms =
    "expected a card like \"node3.nic0\", or several: \"node*.nic0\", \"node[0-31].nic*\"";

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0 || value == any) return {};
  return value;
}

/// "7", "*" or "[3-5]" after `word`.
std::optional<std::pair<int, int>> range(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  text.remove_prefix(word.size());
  if (text == "*") return std::pair(0, any);
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) return {};
    const auto first = number(text.substr(0, dash)), last = number(text.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    return std::pair(*first, *last);
  }
  const auto one = number(text);
  if (!one) return {};
  return std::pair(*one, *one);
}

std::optional<WrittenNetwork::Cards> cards_named(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return {};
  const auto nodes = range(text.substr(0, dot), "node"), nics = range(text.substr(dot + 1), "nic");
  if (!nodes || !nics) return {};
  return WrittenNetwork::Cards{nodes->first, nodes->second, nics->first, nics->second, 0};
}

bool overlap(const WrittenNetwork::Cards& a, const WrittenNetwork::Cards& b) {
  return a.first_node <= b.last_node && b.first_node <= a.last_node && a.first_nic <= b.last_nic &&
         b.first_nic <= a.last_nic;
}

class GraphReader {
 public:
  GraphReader(const Value& table, std::vector<Diagnostic>& faults) : table_(table), faults_(faults) {}

  WrittenNetwork read() {
    TableReader in(table_, "graph", faults_);
    in.require("switches", "the names of all switches, for example switches = [\"leaf0\", \"spine0\"]");
    in.require("nics", "where the cards hang, for example nics = [[\"node*.nic0\", \"leaf0\"]]");
    if (const Value* names = list(in, "switches")) read_switches(*names);
    if (const Value* cables = list(in, "links")) read_cables(*cables);
    if (const Value* cards = list(in, "nics")) read_cards(*cards);
    in.finish();
    return std::move(network_);
  }

 private:
  void fault(const Value& at, std::string message, std::string hint = "") {
    faults_.push_back({at.place, std::move(message), std::move(hint)});
  }

  const Value* list(TableReader& in, std::string_view key) {
    const Value* value = in.raw(key);
    if (value == nullptr || value->kind == Value::Kind::array) return value;
    fault(*value, "graph." + std::string(key) + " must be a list");
    return nullptr;
  }

  /// An entry with `least` to `most` parts, the first two of them texts.
  bool well_formed(const Value& entry, std::size_t least, std::size_t most, const std::string& expected) {
    const bool sound = entry.kind == Value::Kind::array && entry.array.size() >= least &&
                       entry.array.size() <= most && entry.array[0].kind == Value::Kind::string &&
                       entry.array[1].kind == Value::Kind::string;
    if (!sound) fault(entry, "not understood: " + entry.to_text(), expected);
    return sound;
  }

  void read_switches(const Value& names) {
    for (const Value& name : names.array) {
      if (name.kind != Value::Kind::string || name.string.empty()) {
        fault(name, "the name of a switch must be a text, not " + name.to_text());
      } else if (!numbers_.try_emplace(name.string, static_cast<int>(network_.switches.size())).second) {
        fault(name, "switch \"" + name.string + "\" stands there twice");
      } else {
        network_.switches.push_back(name.string);
      }
    }
  }

  std::optional<int> known_switch(const Value& name) {
    const auto found = numbers_.find(name.string);
    if (found != numbers_.end()) return found->second;
    const std::string nearest = nearest_name(name.string, network_.switches);
    fault(name, "graph.switches has no \"" + name.string + "\"",
          nearest.empty() ? "add it there" : "did you mean \"" + nearest + "\"?");
    return {};
  }

  void read_cables(const Value& cables) {
    std::set<std::pair<int, int>> seen;
    for (const Value& entry : cables.array) {
      if (!well_formed(entry, 3, 4,
                       "expected two switches, a rate and, if more than one, the number of cables: "
                       "[\"leaf0\", \"spine0\", \"400 Gb/s\", 2]"))
        continue;
      const auto a = known_switch(entry.array[0]), b = known_switch(entry.array[1]);
      const Value& text = entry.array[2];
      BytesPerSecond rate;
      if (text.kind == Value::Kind::string) rate = parse_rate(text.string).value_or(rate);
      if (!(rate.value > 0))
        fault(text, "not a rate above zero: " + text.to_text(), "for example \"400 Gb/s\" or \"50 GB/s\"");
      std::int64_t count = 1;
      if (entry.array.size() == 4) {
        const Value& given = entry.array[3];
        count = given.kind == Value::Kind::integer ? given.integer : 0;
        if (count < 1 || count > 4096) fault(given, "the number of cables must be 1 to 4096");
      }
      if (!a || !b || !(rate.value > 0) || count < 1 || count > 4096) continue;
      if (*a == *b)
        fault(entry, "a link from \"" + entry.array[0].string + "\" to itself");
      else if (!seen.insert(std::minmax(*a, *b)).second)
        fault(entry,
              "the link between \"" + entry.array[0].string + "\" and \"" + entry.array[1].string +
                  "\" stands there twice",
              "give one entry with the number of cables");
      else
        network_.cables.push_back({*a, *b, static_cast<double>(count) * rate});
    }
  }

  void read_cards(const Value& entries) {
    for (const Value& entry : entries.array) {
      if (!well_formed(entry, 2, 2, "expected a card and its switch: [\"node0.nic0\", \"leaf0\"]")) continue;
      auto cards = cards_named(entry.array[0].string);
      if (!cards)
        fault(entry.array[0], "no card: \"" + entry.array[0].string + "\"", std::string(card_forms));
      const auto on = known_switch(entry.array[1]);
      if (!cards || !on) continue;
      cards->on = *on;
      add(entry.array[0], *cards);
    }
  }

  void add(const Value& name, const WrittenNetwork::Cards& cards) {
    const bool one = cards.first_node == cards.last_node && cards.first_nic == cards.last_nic;
    bool twice = std::any_of(network_.patterns.begin(), network_.patterns.end(),
                             [&](const auto& other) { return overlap(cards, other); });
    if (!one)
      twice = twice || std::any_of(singles_.begin(), singles_.end(),
                                   [&](const auto& other) { return overlap(cards, other); });
    else
      twice = twice || network_.single.contains(WrittenNetwork::card_key(cards.first_node, cards.first_nic));
    if (twice) {
      fault(name, "a card of \"" + name.string + "\" hangs on a switch already", "each card has one cable");
      return;
    }
    network_.nodes = std::max(network_.nodes, cards.last_node == any ? any : cards.last_node + 1);
    if (!one) {
      network_.patterns.push_back(cards);
      return;
    }
    singles_.push_back(cards);
    network_.single.emplace(WrittenNetwork::card_key(cards.first_node, cards.first_nic), cards.on);
  }

  const Value& table_;
  std::vector<Diagnostic>& faults_;
  WrittenNetwork network_;
  std::vector<WrittenNetwork::Cards> singles_;
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace

std::uint64_t WrittenNetwork::card_key(int node, int nic) {
  return static_cast<std::uint64_t>(node) << 32U | static_cast<std::uint64_t>(nic);
}

std::optional<int> WrittenNetwork::switch_at(int node, int nic) const {
  if (const auto one = single.find(card_key(node, nic)); one != single.end()) return one->second;
  for (const Cards& cards : patterns)
    if (overlap(cards, {node, node, nic, nic, 0})) return cards.on;
  return {};
}

WrittenNetwork read_written_network(const Value& table, std::vector<Diagnostic>& faults) {
  return GraphReader(table, faults).read();
}

}  // namespace stepcast
