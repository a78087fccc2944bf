#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/units.hpp"

namespace stepcast {

/// What an import of a network found. Nodes are numbered in the natural order of their hosts' names.
struct FabricDraft {
  struct Cable {
    int a{}, b{};
    int count{};                         ///< parallel ones
    std::optional<BytesPerSecond> rate;  ///< of all of them
  };
  struct Card {
    std::string name;  ///< "mlx5_0"; may be empty
    int on{-1};        ///< switch
    std::optional<BytesPerSecond> rate;
  };
  struct Host {
    std::string name;
    std::vector<Card> cards;
  };

  std::string format;
  SourcePlace file;
  std::string transport;  ///< "" where the file does not tell
  std::vector<std::string> switches;
  std::vector<Cable> cables;
  std::vector<Host> hosts;
  std::string rate_source;
  /// The file names no cables but who is beneath whom: `cables` are uplinks (b above a), whose rates follow
  /// from what hangs beneath and from an oversubscription, and each host has one entry in `cards` for all its
  /// cards.
  bool tree_only{};
  std::vector<std::string> notes;
};

/// "node9" before "node10".
[[nodiscard]] bool natural_less(const std::string& a, const std::string& b);

}  // namespace stepcast
