#include "topology/import/complete_fabric.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/print.hpp"
#include "topology/fabric.hpp"
#include "topology/figure_reader.hpp"
#include "topology/node_toml.hpp"

namespace stepcast {
namespace {

const std::vector<std::string> keys{"name",         "transport",      "link.rate",    "link.efficiency",
                                    "link.latency", "switch.latency", "nic.per_node", "oversubscription"};
const std::vector<std::string> transports{"infiniband", "roce", "ethernet", "omnipath", "efa", "tcpx"};

std::string number_text(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g", number);
  return text;
}

std::string time_text(Seconds time) { return toml_text(number_text(time.value * 1e6) + " us"); }

std::string figure(const std::string& key, const std::string& value, const std::string& source) {
  return key + " = { value = " + value + ", source = " + toml_text(source) + " }\n";
}

class Completion {
 public:
  Completion(const FabricDraft& draft, const std::vector<ImportSetting>& given)
      : draft_(draft), settings_(given, keys, faults_) {
    done_.notes = draft.notes;
  }

  CompletedFabric complete() {
    name_ = settings_.text("name").value_or(std::filesystem::path(draft_.file.file).stem().string());
    find_transport();
    find_rate();
    find_cards();
    find_uplinks();
    const auto efficiency = settings_.share("link.efficiency");
    const auto latency = settings_.seconds("link.latency"), further = settings_.seconds("switch.latency");
    throw_faults(std::move(faults_));
    check_parts();
    summarize();
    if (!done_.questions.empty()) return std::move(done_);
    write(efficiency, latency, further);
    return std::move(done_);
  }

 private:
  void ask(const std::string& key, const std::string& why, const std::string& example) {
    done_.questions.push_back({key, why, example});
  }

  void find_transport() {
    const auto given = settings_.choice("transport", transports);
    transport_ = given.value_or(draft_.transport);
    if (transport_.empty() && settings_.find("transport") == nullptr)
      ask("transport", "what runs on the cables: infiniband, roce, ethernet (TCP), omnipath, efa or tcpx",
          "infiniband");
  }

  void find_rate() {
    std::map<double, int> counts;
    bool unknown = false;
    for (const FabricDraft::Host& host : draft_.hosts) {
      for (const FabricDraft::Card& card : host.cards) {
        if (card.rate) ++counts[card.rate->value];
        unknown = unknown || !card.rate;
      }
    }
    const auto given = settings_.rate("link.rate");
    if (given) rate_ = *given;
    rate_source_ = given ? given_source : draft_.rate_source;
    if (!given && !counts.empty()) rate_ = BytesPerSecond(counts.rbegin()->first);
    for (const FabricDraft::Cable& cable : draft_.cables)
      unknown = unknown || (!cable.rate && !draft_.tree_only);
    if (!given && (counts.empty() || unknown) && settings_.find("link.rate") == nullptr)
      ask("link.rate",
          "the line rate of a card, which the file does not tell" +
              std::string(counts.empty() ? "" : " of all ports"),
          "400 Gb/s");
    if (counts.size() > 1 && !given)
      done_.notes.push_back("cards run at " + std::to_string(counts.size()) + " rates, from " +
                            exact_rate(BytesPerSecond(counts.begin()->first), true) + " to " +
                            exact_rate(rate_, true) +
                            ": the highest stands in link.rate; give slower nodes in [[cluster.node_group]]");
  }

  void find_cards() {
    std::map<int, int> counts;
    for (const FabricDraft::Host& host : draft_.hosts) ++counts[static_cast<int>(host.cards.size())];
    const auto given = settings_.count("nic.per_node");
    per_node_ = given.value_or(draft_.tree_only ? 0 : counts.begin()->first);
    per_node_source_ = given ? given_source : draft_.format + ": cards of a host";
    if (per_node_ == 0 && settings_.find("nic.per_node") == nullptr)
      ask("nic.per_node", "the cards of one host", "8");
    if (counts.size() > 1)
      done_.notes.push_back("hosts have from " + std::to_string(counts.begin()->first) + " to " +
                            std::to_string(counts.rbegin()->first) +
                            " cards: nic.per_node is the least, so that every node has them; give the others "
                            "in [[cluster.node_group]]");
  }

  /// A tree whose cables the file does not name: a switch's uplink carries what hangs beneath it over the
  /// oversubscription.
  void find_uplinks() {
    cables_ = draft_.cables;
    if (!draft_.tree_only) {
      for (FabricDraft::Cable& cable : cables_)
        if (!cable.rate) cable.rate = cable.count * rate_;
      return;
    }
    const auto given = settings_.text("oversubscription");
    double share = 0;
    if (given) {
      const Value value = parse_toml_value_or_text(*given, "--set oversubscription");
      share = value.is_number() ? value.real : 0;
      if (!(share >= 1 && share <= 1000))
        settings_.fault("oversubscription", "\"" + *given + "\" is no oversubscription",
                        "expected a number from 1 (none) to 1000");
    } else if (!cables_.empty()) {
      ask("oversubscription", "what hangs beneath a switch over its way up, at each level: 1 is none", "1");
    }
    if (!(share >= 1)) return;
    const std::size_t count = draft_.switches.size();
    std::vector<std::vector<std::size_t>> below(count);
    for (std::size_t i = 0; i < cables_.size(); ++i)
      below[static_cast<std::size_t>(cables_[i].b)].push_back(i);
    std::vector<double> cards(count, 0);
    for (const FabricDraft::Host& host : draft_.hosts)
      for (const FabricDraft::Card& card : host.cards) cards[static_cast<std::size_t>(card.on)] += per_node_;
    const std::function<double(std::size_t)> down = [&](std::size_t at) {
      double sum = cards[at];
      for (const std::size_t cable : below[at]) {
        const double up = down(static_cast<std::size_t>(cables_[cable].a)) / share;
        cables_[cable].rate = up * rate_;
        sum += up;
      }
      return sum;
    };
    std::vector<bool> has_above(count, false);
    for (const FabricDraft::Cable& cable : cables_) has_above[static_cast<std::size_t>(cable.a)] = true;
    for (std::size_t at = 0; at < count; ++at)
      if (!has_above[at]) (void)down(at);
    std::erase_if(cables_,
                  [](const FabricDraft::Cable& cable) { return !(cable.rate && cable.rate->value > 0); });
  }

  void check_parts() {
    std::vector<int> part(draft_.switches.size());
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<int>(i);
    const auto find = [&](int at) {
      while (part[static_cast<std::size_t>(at)] != at) at = part[static_cast<std::size_t>(at)];
      return at;
    };
    for (const FabricDraft::Cable& cable : draft_.cables) {
      const int a = find(cable.a), b = find(cable.b);
      part[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
    std::map<int, int> first_node;
    for (std::size_t node = 0; node < draft_.hosts.size(); ++node)
      for (const FabricDraft::Card& card : draft_.hosts[node].cards)
        first_node.try_emplace(find(card.on), static_cast<int>(node));
    if (first_node.size() < 2) return;
    int second = static_cast<int>(draft_.hosts.size());
    for (const auto& [root, node] : first_node)
      if (node > 0) second = std::min(second, node);
    done_.notes.push_back("the network has " + std::to_string(first_node.size()) +
                          " parts that do not meet; node" + std::to_string(second) + " (" +
                          draft_.hosts[static_cast<std::size_t>(second)].name +
                          ") is the first one beyond the first part");
  }

  void summarize() {
    std::size_t cards = 0;
    for (const FabricDraft::Host& host : draft_.hosts) cards += host.cards.size();
    const auto count = [](std::size_t number, const std::string& word, const std::string& many) {
      return std::to_string(number) + " " + (number == 1 ? word : many);
    };
    done_.summary = count(draft_.hosts.size(), "host", "hosts") + ", ";
    if (!draft_.tree_only) done_.summary += count(cards, "card", "cards") + ", ";
    done_.summary += count(draft_.switches.size(), "switch", "switches") + ", " +
                     count(draft_.cables.size(), "link between them", "links between them");
  }

  void write(std::optional<double> efficiency, std::optional<Seconds> latency,
             std::optional<Seconds> further) {
    const std::string preset = transport_ + "-" + number_text(rate_.value * 8 / 1e9) + "g";
    const FabricSpec like = load_fabric(preset, {});
    const std::string shipped =
        "shipped fabric " + preset + (like.interpolated ? " (" + like.source + ")" : "");
    std::string text = "# Imported by stepcast from " + draft_.format + ", file " +
                       std::filesystem::path(draft_.file.file).filename().string() + ".\n";
    for (const std::string& note : done_.notes) text += "# Note: " + note + ".\n";
    text += "# Nodes are numbered in the natural order of the hosts' names.\n" + mapping();
    text += "name = " + toml_text(name_) + "\ntransport = " + toml_text(transport_) + "\n\n[link]\n";
    text += figure("rate", toml_text(exact_rate(rate_, true)), rate_source_);
    text += figure("efficiency", number_text(efficiency.value_or(like.efficiency)),
                   efficiency ? given_source : shipped);
    text +=
        figure("latency", time_text(latency.value_or(like.link_latency)), latency ? given_source : shipped);
    text += "\n[switch]\n";
    text +=
        figure("latency", time_text(further.value_or(like.switch_latency)), further ? given_source : shipped);
    text += "\n[nic]\n" + figure("per_node", std::to_string(per_node_), per_node_source_);
    text += figure("gpudirect", like.gpudirect ? "true" : "false", shipped);
    text += figure("flows_per_connection", std::to_string(like.flows_per_connection), shipped);
    text += figure("channels_per_nic", std::to_string(like.channels_per_nic), shipped);
    if (like.staged_rate.value > 0)
      text += figure("staged_rate", toml_text(exact_rate(like.staged_rate)), shipped);
    if (transport_ == "ethernet") {
      text += "\n[tcp]\n";
      if (like.flow_ceiling.value > 0)
        text += figure("flow_ceiling", toml_text(exact_rate(like.flow_ceiling)), shipped);
      if (like.sockets_tuned > 0)
        text += figure("sockets_tuned", std::to_string(like.sockets_tuned), shipped);
      if (like.sockets_untuned > 0)
        text += figure("sockets_untuned", std::to_string(like.sockets_untuned), shipped);
      if (like.host_copy_rate.value > 0)
        text += figure("host_copy_rate", toml_text(exact_rate(like.host_copy_rate)), shipped);
    }
    text += "\n[graph]\n# " + graph_source() + "\n";
    done_.toml = text + graph();
  }

  /// "# node0: host-a (nic0 mlx5_0)", or ranges where the file names no cards.
  std::string mapping() const {
    std::string text;
    if (draft_.tree_only) {
      for (std::size_t first = 0; first < draft_.hosts.size();) {
        const std::size_t last = last_alike(first);
        const auto name = [&](std::size_t node) { return draft_.hosts[node].name; };
        text += "# node" + std::to_string(first) + (last > first ? " to node" + std::to_string(last) : "") +
                ": " + name(first) + (last > first ? " to " + name(last) : "") + "\n";
        first = last + 1;
      }
      return text;
    }
    for (std::size_t node = 0; node < draft_.hosts.size(); ++node) {
      text += "# node" + std::to_string(node) + ": " + draft_.hosts[node].name;
      for (std::size_t nic = 0; nic < draft_.hosts[node].cards.size(); ++nic)
        text += ", nic" + std::to_string(nic) + " " + draft_.hosts[node].cards[nic].name;
      text += "\n";
    }
    return text;
  }

  /// The last of the hosts from `first` on that hang on the same switch.
  [[nodiscard]] std::size_t last_alike(std::size_t first) const {
    std::size_t last = first;
    while (last + 1 < draft_.hosts.size() &&
           draft_.hosts[last + 1].cards[0].on == draft_.hosts[first].cards[0].on)
      ++last;
    return last;
  }

  [[nodiscard]] std::string graph_source() const {
    if (!draft_.tree_only) return "Cables and cards: " + draft_.format + ".";
    return "Who is beneath whom: " + draft_.format +
           "; uplinks carry what hangs beneath over the oversubscription, " + given_source + ".";
  }

  std::string graph() const {
    const auto name = [&](int at) { return toml_text(draft_.switches[static_cast<std::size_t>(at)]); };
    std::string text = "switches = [\n";
    for (const std::string& each : draft_.switches) text += "  " + toml_text(each) + ",\n";
    text += "]\nlinks = [\n";
    for (const FabricDraft::Cable& cable : cables_) {
      text += "  [" + name(cable.a) + ", " + name(cable.b) + ", " +
              toml_text(exact_rate(*cable.rate / cable.count, true));
      text += cable.count > 1 ? ", " + std::to_string(cable.count) + "],\n" : "],\n";
    }
    text += "]\nnics = [\n";
    for (std::size_t node = 0; node < draft_.hosts.size(); ++node) {
      const auto& cards = draft_.hosts[node].cards;
      if (draft_.tree_only) {
        const std::size_t last = last_alike(node);
        const std::string nodes = last > node ? "[" + std::to_string(node) + "-" + std::to_string(last) + "]"
                                              : std::to_string(node);
        text += "  [\"node" + nodes + ".nic*\", " + name(cards[0].on) + "],\n";
        node = last;
        continue;
      }
      for (std::size_t nic = 0; nic < cards.size(); ++nic)
        text += "  [\"node" + std::to_string(node) + ".nic" + std::to_string(nic) + "\", " +
                name(cards[nic].on) + "],\n";
    }
    return text + "]\n";
  }

  const FabricDraft& draft_;
  std::vector<Diagnostic> faults_;
  Settings settings_;
  CompletedFabric done_;
  std::string name_, transport_, rate_source_, per_node_source_;
  BytesPerSecond rate_;
  int per_node_{};
  std::vector<FabricDraft::Cable> cables_;
};

}  // namespace

CompletedFabric complete_fabric(const FabricDraft& draft, const std::vector<ImportSetting>& settings) {
  return Completion(draft, settings).complete();
}

}  // namespace stepcast
