#include "models/config_families.hpp"

#include <algorithm>
#include <string>

namespace stepcast::config {

void finish_heads(ConfigReader& reader, TransformerArchitecture& shape, ConfigReader::Keys hidden_keys,
                  ConfigReader::Keys heads_keys, ConfigReader::Keys key_value_keys) {
  if (shape.hidden == 0 || shape.heads == 0) return;  // already a fault
  if (shape.head_dim == 0) {
    if (shape.hidden % shape.heads != 0) {
      reader.fault(heads_keys,
                   std::to_string(shape.heads) + " heads do not divide a hidden size of " +
                       std::to_string(shape.hidden),
                   "expected a divisor of " + std::string(*hidden_keys.begin()) + ", or \"head_dim\"");
    }
    shape.head_dim = std::max<std::int64_t>(shape.hidden / shape.heads, 1);
  }
  if (shape.key_value_heads > 0 && shape.heads % shape.key_value_heads != 0) {
    reader.fault(key_value_keys.size() > 0 ? key_value_keys : heads_keys,
                 std::to_string(shape.key_value_heads) + " key-value heads do not divide " +
                     std::to_string(shape.heads) + " heads",
                 "every key-value head serves the same number of query heads");
  }
}

Activation read_activation(ConfigReader& reader, ConfigReader::Keys keys, Activation absent) {
  const Value* value = reader.value(keys);
  if (value == nullptr) return absent;
  const std::string name = reader.text_or(keys, "");
  if (name.starts_with("gelu") || name == "quick_gelu") return Activation::gelu;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  if (!name.empty()) {
    reader.fault(keys, "unknown activation \"" + name + "\"",
                 "known: gelu, gelu_new, gelu_pytorch_tanh, relu, silu");
  }
  return absent;
}

}  // namespace stepcast::config
