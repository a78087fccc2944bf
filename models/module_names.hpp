#pragma once

#include <string_view>
#include <vector>

namespace stepcast {

/// What a module with parameters does in a block, whatever its family calls it.
enum class Role {
  attention_norm,
  query,
  key,
  value,
  qkv,
  query_norm,
  key_norm,
  attention_output,
  attention_post_norm,
  relative_bias,
  cross_norm,
  cross_query,
  cross_key,
  cross_value,
  cross_output,
  mlp_norm,
  gate,
  up,
  gate_up,
  down,
  mlp_post_norm,
  closing_norm,
  router,
  expert_gate,
  expert_up,
  expert_down
};

struct ModuleName {
  Role role;
  std::string_view name;
};

/// Module names of one family as its Hugging Face implementation registers them. `block` stands in
/// registration order, which is the order of DDP's first buckets and need not be the order of use (Llama
/// registers norms last).
struct FamilyNames {
  std::string_view embedding, positions, token_types, embedding_norm;
  std::string_view block;           ///< "model.layers."; the index follows
  std::vector<ModuleName> modules;  ///< experts: "experts.", the index, and the name after '|'
  std::string_view final_norm, head, pooler;
};

/// Names of a family that models/ builds. Source: the module attributes of Hugging Face transformers (4.4x),
/// and of torchvision for resnet and vit.
[[nodiscard]] const FamilyNames& family_names(std::string_view family);

}  // namespace stepcast
