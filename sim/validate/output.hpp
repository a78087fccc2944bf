#pragma once

#include <string>
#include <string_view>

#include "sim/validate/validate.hpp"
#include "sim/validate/validate_collectives.hpp"

namespace stepcast {

/// design 6.4, schema "stepcast.validation/1": rows of training runs, then of collectives.
[[nodiscard]] std::string to_json(const Validation& validation, const CollectiveValidation& collectives);

/// One line a predicted row, for spreadsheets and plots.
[[nodiscard]] std::string to_csv(const Validation& validation);

/// The summary as a person reads it on a terminal: errors by source, GPU, model, software, strategy and
/// scale, the rows that are furthest off, and why rows were skipped.
[[nodiscard]] std::string to_text(const Validation& validation);

/// docs/fidelity.md: the same summary in Markdown, with the date and the command that made it.
[[nodiscard]] std::string to_markdown(const Validation& validation, std::string_view date,
                                      std::string_view command);

// The same of collectives.
[[nodiscard]] std::string to_csv(const CollectiveValidation& validation);
[[nodiscard]] std::string to_text(const CollectiveValidation& validation);
/// A section of docs/fidelity.md, from its `## ` heading on.
[[nodiscard]] std::string to_markdown(const CollectiveValidation& validation, std::string_view date,
                                      std::string_view command);

}  // namespace stepcast
