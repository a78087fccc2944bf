#include "sim/validate/measured_row.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/diagnostic.hpp"
#include "base/document.hpp"
#include "sim/validate/csv.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 43> training_columns = {"source",
                                                               "source_url_or_path",
                                                               "commit_or_date",
                                                               "gpu",
                                                               "gpus_total",
                                                               "gpus_per_node",
                                                               "intra_node_link",
                                                               "inter_node_link",
                                                               "inter_node_gbps_per_gpu",
                                                               "model",
                                                               "params_b",
                                                               "layers",
                                                               "hidden",
                                                               "heads",
                                                               "kv_heads",
                                                               "ffn_hidden",
                                                               "vocab",
                                                               "seq_len",
                                                               "experts",
                                                               "topk",
                                                               "framework",
                                                               "parallelism",
                                                               "zero_stage_or_sharding",
                                                               "tp",
                                                               "pp",
                                                               "cp",
                                                               "ep",
                                                               "vpp",
                                                               "micro_batch_per_gpu",
                                                               "grad_accum",
                                                               "global_batch_sequences",
                                                               "precision",
                                                               "activation_checkpoint",
                                                               "attention_kernel",
                                                               "torch_compile",
                                                               "offload",
                                                               "metric_name",
                                                               "metric_value",
                                                               "metric_unit",
                                                               "mfu_pct",
                                                               "hfu_pct",
                                                               "step_time_s",
                                                               "mem_per_gpu_gb"};
constexpr std::array<std::string_view, 21> nccl_columns = {
    "set_id",        "source",     "url_or_path",   "date",          "gpu",      "nodes",
    "gpus_per_node", "intra_link", "inter_network", "nics_per_node", "nic_gbps", "transport",
    "nccl_version",  "collective", "dtype",         "bytes",         "time_us",  "algbw_GBps",
    "busbw_GBps",    "in_place",   "env_notes"};
// "notes" is the 44th word of the files but holds no figure: it may be absent.

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

/// Faults and notes of the header.
void check_header(const CsvRecord& header, const std::string& file, std::span<const std::string_view> columns,
                  MeasuredTable& table) {
  std::vector<Diagnostic> faults;
  SourcePlace place;
  place.file = file;
  place.line = header.line;
  place.column = 1;
  std::vector<std::string> names;
  for (const std::string& cell : header.cells) names.push_back(trimmed(cell));
  for (const std::string_view column : columns) {
    const auto seen = std::count(names.begin(), names.end(), column);
    if (seen == 1) continue;
    faults.push_back(
        {place,
         "column \"" + std::string(column) + "\" " +
             (seen == 0 ? "is missing from the header" : "appears twice in the header"),
         columns.data() == nccl_columns.data()
             ? "expected the columns of a table of published collectives: set_id, ..., gpu, nodes, "
               "gpus_per_node, ..., collective, dtype, bytes, time_us, ... (docs/fidelity.md lists them)"
             : "expected the columns of a table of published measurements: source, ..., gpu, gpus_total, "
               "model, ..., metric_name, metric_value, metric_unit, ... (docs/fidelity.md lists them)"});
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  for (const std::string& name : names) {
    if (name == "notes" || std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
    table.notes.push_back(file + ": column \"" + name + "\" is not known and was not used");
  }
}

}  // namespace

std::span<const std::string_view> measured_columns() { return training_columns; }
std::span<const std::string_view> collective_columns() { return nccl_columns; }

const std::string& MeasuredRow::text(std::string_view column) const {
  static const std::string nothing;
  const auto found = cells.find(column);
  return found == cells.end() ? nothing : found->second;
}

std::optional<double> MeasuredRow::number(std::string_view column) const {
  const std::string& cell = text(column);
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (fault != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
    throw SkippedRow{std::string(column) + " is not a number: \"" + cell + "\""};
  }
  return value;
}

std::optional<long> MeasuredRow::count(std::string_view column) const {
  const auto value = number(column);
  if (!value) return std::nullopt;
  if (*value < 1 || *value > 1e12 || *value != std::floor(*value)) {
    throw SkippedRow{std::string(column) + " is not a whole number above 0: \"" + text(column) + "\""};
  }
  return static_cast<long>(*value);
}

MeasuredTable parse_measured(std::string_view text, const std::string& file,
                             std::span<const std::string_view> columns) {
  const std::vector<CsvRecord> records = parse_csv(text, file);
  if (records.empty()) {
    SourcePlace place;
    place.file = file;
    place.line = place.column = 1;
    throw ScenarioError(
        Diagnostic{place, "the file is empty", "expected a header line and one line a measurement"});
  }
  MeasuredTable table;
  check_header(records.front(), file, columns, table);
  for (std::size_t i = 1; i < records.size(); ++i) {
    MeasuredRow row;
    row.file = file;
    row.line = records[i].line;
    for (std::size_t c = 0; c < records[i].cells.size(); ++c) {
      row.cells[trimmed(records.front().cells[c])] = trimmed(records[i].cells[c]);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

MeasuredTable read_measured(const std::string& file, std::span<const std::string_view> columns) {
  return parse_measured(read_file(file), file, columns);
}

}  // namespace stepcast
