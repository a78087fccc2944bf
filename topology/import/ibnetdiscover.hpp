#pragma once

#include "topology/import/fabric_draft.hpp"
#include "topology/import/source_text.hpp"

namespace stepcast {

/// True when a line heads a block of ibnetdiscover's output.
[[nodiscard]] bool is_ibnetdiscover(const SourceText& text);

/// Switches with their cables, and hosts with their cards: a card's host is the first word of its
/// description. Cards and switches without a block of their own are known from those that name them. SHARP's
/// aggregation nodes are left out.
/// @throws ScenarioError: lines that are no port, a switch or card that stands there twice, no card
[[nodiscard]] FabricDraft read_ibnetdiscover(const SourceText& text);

}  // namespace stepcast
