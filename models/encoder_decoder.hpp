#pragma once

#include <cstdint>
#include <string>

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast {

/// T5: shared embedding, encoder blocks (the last one with the encoder's final norm), decoder blocks with
/// cross attention to the encoder's result, head. `tokens` are the encoder's; the decoder has target_share of
/// them, rounded up, and only its tokens get logits. sequence_length is that of the encoder.
[[nodiscard]] Model build_encoder_decoder(const EncoderDecoderArchitecture& shape, std::string name,
                                          std::int64_t tokens);

}  // namespace stepcast
