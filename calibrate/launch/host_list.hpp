#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// The first host of a list as Slurm writes it: "n[01-03,7],gpu1" begins with "n01". A name may hold several
/// brackets, and text after them.
/// @throws std::invalid_argument for an empty list or a bracket that isn't closed
[[nodiscard]] std::string first_host(std::string_view list);

}  // namespace stepcast
