#pragma once

#include <span>
#include <string_view>

namespace stepcast {

/// A preset or profile compiled into the binary (see stepcast_embed in cmake/stepcast.cmake).
struct EmbeddedFile {
  std::string_view name;  ///< file name without extension: "hgx-h100"
  std::string_view text;
};

}  // namespace stepcast
