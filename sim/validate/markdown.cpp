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

std::string line_of(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (std::string cell : cells) {
    for (std::size_t bar = cell.find('|'); bar != std::string::npos; bar = cell.find('|', bar + 2)) {
      cell.insert(bar, "\\");
    }
    line += " " + cell + " |";
  }
  return line + "\n";
}

/// The first `words` columns are set to the left, the others to the right.
std::string header_of(const std::vector<std::string>& cells, std::size_t words) {
  std::string text = line_of(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += i < words ? "---|" : "---:|";
  return text + "\n";
}

std::string part_table(const Validation& validation, const detail::SummaryPart& part) {
  std::vector<std::string> header = {part.title};
  header.insert(header.end(), detail::group_header().begin(), detail::group_header().end());
  std::string text = header_of(header, 1);
  for (const GroupSummary& group : validation.summary) {
    if (detail::belongs(group, part)) text += line_of(detail::group_cells(group, part));
  }
  return text;
}

}  // namespace

std::string to_markdown(const Validation& validation, std::string_view date, std::string_view command) {
  std::string text = "# Fidelity: predictions against published measurements\n\n";
  text += "Made on " + std::string(date) + " by `" + std::string(command) +
          "`: " + detail::totals(validation) + ". No threshold is set yet.\n";
  for (const detail::SummaryPart& part : detail::summary_parts()) text += "\n" + part_table(validation, part);
  text += "\n" + std::string(how_to_read);
  text += "\n## Furthest off\n\n" + header_of(detail::row_header(), word_columns);
  for (const ValidatedRow* row : detail::furthest_rows(validation)) text += line_of(detail::row_cells(*row));
  text += "\n## Skipped\n\n" + header_of({"reason", "rows"}, 1);
  for (const auto& [reason, count] : detail::skip_reasons(validation)) {
    text += line_of({reason, std::to_string(count)});
  }
  text +=
      "\n## Columns of a data file\n\nA CSV whose header has these columns in any order (`notes` may stand "
      "beside "
      "them); an empty cell means that the source does not say:\n";
  for (const std::string_view column : measured_columns())
    text += (column == "source" ? "`" : ", `") + std::string(column) + "`";
  return text + ".\n";
}

}  // namespace stepcast
