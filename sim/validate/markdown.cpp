#include "sim/validate/output.hpp"
#include "sim/validate/summary_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t word_columns = 4;

constexpr std::string_view how_to_read = R"(## How to read this

- error = predicted / measured step seconds - 1. The tables give the median and the 90th percentile of its size, its
  median with the sign (bias; above 0: predicted too slow), and Kendall's tau-b of predicted against measured samples a
  second and GPU (1: the same ranking).
- `stated`: the row says everything that the scenario needs. `assumed`: a rule filled something in (the model's default
  sequence length, the GPU's usual node and network, no checkpointing, ...); `--json` lists what, row by row.
- A row is never tuned. `sim/validate/mapping.toml` says what the words of published tables mean and what is usual;
  what a GPU, a network or a software does is in the profiles, and [cost.md](cost.md) says what was fitted on what:
  products, attention and copies on microbenchmarks; a few levels of the software profiles (fusion, memory efficiency,
  convolution ceilings) are figures that an earlier fit over published training rows left, some of them rows below.
- Between tables of one class of machine and software 1 to 4 % are noise, between releases of one software 8 to 25 %.
- Reproduce a row: its `settings` in the JSON are the keys of a scenario for `stepcast run`.
)";

}  // namespace

std::string to_markdown(const Validation& validation, std::string_view date, std::string_view command) {
  std::string text = "# Fidelity: predictions against published measurements\n\n";
  text += "Made on " + std::string(date) + " by `" + std::string(command) +
          "`: " + detail::totals(validation.rows.size(), validation.skipped.size()) +
          ". No threshold is set yet.\n";
  for (const detail::SummaryPart& part : detail::summary_parts())
    text += "\n" + detail::markdown_part(validation.summary, part);
  text += "\n" + std::string(how_to_read);
  text += "\n## Furthest off\n\n" + detail::markdown_header(detail::row_header(), word_columns);
  for (const ValidatedRow* row : detail::furthest_rows(validation))
    text += detail::markdown_line(detail::row_cells(*row));
  text += "\n## Skipped\n\n" + detail::markdown_reasons(validation.skipped);
  text +=
      "\n## Columns of a data file\n\nA CSV whose header has these columns in any order (`notes` may stand "
      "beside "
      "them); an empty cell means that the source does not say:\n";
  for (const std::string_view column : measured_columns())
    text += (column == "source" ? "`" : ", `") + std::string(column) + "`";
  return text + ".\n";
}

}  // namespace stepcast
