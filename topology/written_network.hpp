#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"

namespace stepcast {

/// [graph] of a fabric file: every switch, every cable and where the cards hang.
struct WrittenNetwork {
  struct Cable {
    int a{}, b{};
    BytesPerSecond rate;  ///< of all parallel ones, per direction
  };
  /// "node[0-31].nic*": cards from .. to, both included.
  struct Cards {
    int first_node{}, last_node{};
    int first_nic{}, last_nic{};
    int on{};  ///< switch
  };

  std::vector<std::string> switches;
  std::vector<Cable> cables;
  std::vector<Cards> patterns;                    ///< of several cards
  std::unordered_map<std::uint64_t, int> single;  ///< switch of one card, by card_key
  int nodes{};                                    ///< that some card of is written; INT_MAX for "node*"

  [[nodiscard]] std::optional<int> switch_at(int node, int nic) const;
  [[nodiscard]] static std::uint64_t card_key(int node, int nic);
};

/// Faults go to `faults`, each with its place.
[[nodiscard]] WrittenNetwork read_written_network(const Value& table, std::vector<Diagnostic>& faults);

}  // namespace stepcast
