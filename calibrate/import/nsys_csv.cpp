#include "calibrate/import/nsys_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/diagnostic.hpp"
#include "sim/validate/csv.hpp"

namespace stepcast {
namespace {

/// Columns by name; cells that are asked for by name.
class Table {
 public:
  Table(std::string_view text, const std::string& file) : file_(file) {
    // What nsys says before the table ("Generating SQLite file ...") has no column of names.
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      if (line.find("(ns)") != std::string_view::npos && line.find(',') != std::string_view::npos) break;
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      ++skipped_;
    }
    records_ = parse_csv(text, file);
    if (records_.empty()) return;
    for (std::size_t i = 0; i < records_.front().cells.size(); ++i)
      columns_.emplace(records_.front().cells[i], i);
    records_.erase(records_.begin());
  }

  [[nodiscard]] bool has(const char* column) const { return columns_.contains(column); }
  [[nodiscard]] const std::vector<CsvRecord>& records() const { return records_; }

  [[nodiscard]] std::string text(const CsvRecord& record, const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : record.cells[found->second];
  }

  /// Nothing for an empty cell; nothing and a fault for one that is no number.
  std::optional<double> number(const CsvRecord& record, const char* column) {
    const std::string cell = text(record, column);
    if (cell.empty() || cell == "-") return std::nullopt;
    double value = 0;
    const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (fault == std::errc() && end == cell.data() + cell.size() && std::isfinite(value) && value >= 0 &&
        value < 9e18)
      return value;
    SourcePlace place;
    place.file = file_;
    place.line = record.line + skipped_;
    place.column = 1;
    faults_.push_back({place, "\"" + cell + "\" in column \"" + column + "\" is no number of 0 or more", ""});
    return std::nullopt;
  }

  void throw_faults() {
    if (!faults_.empty()) throw ScenarioError(std::move(faults_));
  }

 private:
  std::string file_;
  std::vector<CsvRecord> records_;
  std::map<std::string, std::size_t> columns_;
  std::vector<Diagnostic> faults_;
  unsigned skipped_{};
};

/// "[CUDA memcpy Host-to-Device]" of pinned memory as PyTorch's traces call it: "Memcpy HtoD (Pinned ->
/// Device)".
std::string copy_name(const std::string& name, const std::string& from, const std::string& to) {
  std::string way;
  if (name.find("Host-to-Device") != std::string::npos || name.find("HtoD") != std::string::npos)
    way = "HtoD";
  if (name.find("Device-to-Host") != std::string::npos || name.find("DtoH") != std::string::npos)
    way = "DtoH";
  if (name.find("Device-to-Device") != std::string::npos || name.find("DtoD") != std::string::npos)
    way = "DtoD";
  return way.empty() ? name : "Memcpy " + way + " (" + from + " -> " + to + ")";
}

TraceSummary by_kernel(Table& table, const std::string& file) {
  TraceTimeline timeline;
  std::map<std::string, std::int32_t> names;
  for (const CsvRecord& record : table.records()) {
    const auto start = table.number(record, "Start (ns)"), duration = table.number(record, "Duration (ns)");
    const auto stream = table.number(record, "Strm"), bytes = table.number(record, "Bytes (MB)");
    if (!start || !duration) continue;
    std::string name = table.text(record, "Name");
    const bool copy = name.starts_with("[CUDA mem");
    if (copy) name = copy_name(name, table.text(record, "SrcMemKd"), table.text(record, "DstMemKd"));
    const auto [place, is_new] = names.try_emplace(name, static_cast<std::int32_t>(timeline.names.size()));
    if (is_new) timeline.names.push_back(name);
    TimedKernel kernel;
    kernel.start = static_cast<std::int64_t>(*start);
    kernel.end = kernel.start + static_cast<std::int64_t>(*duration);
    kernel.name = place->second;
    kernel.kind = copy ? KernelClass::copy : kernel_class(name);
    kernel.stream = static_cast<std::int32_t>(stream.value_or(0));
    if (copy) {
      kernel.call = static_cast<std::int32_t>(timeline.copied_bytes.size());
      timeline.copied_bytes.push_back(bytes ? *bytes * 1e6 : -1);
    } else if (kernel.kind == KernelClass::collective) {
      kernel.call = static_cast<std::int32_t>(timeline.collectives.size());
      timeline.collectives.emplace_back();
    }
    if (timeline.facts.devices.empty()) {
      const std::string device = table.text(record, "Device");  // "NVIDIA A10G (0)"
      timeline.facts.devices.push_back({0, device.substr(0, device.rfind(" (")), {}});
    }
    timeline.kernels.push_back(kernel);
    ++timeline.facts.events;
  }
  table.throw_faults();
  std::stable_sort(timeline.kernels.begin(), timeline.kernels.end(),
                   [](const TimedKernel& a, const TimedKernel& b) { return a.start < b.start; });
  return summarise(timeline, file);
}

TraceSummary by_name(Table& table, const std::string& file) {
  TraceSummary summary;
  summary.file = file;
  for (const CsvRecord& record : table.records()) {
    const auto time = table.number(record, "Total Time (ns)");
    const auto count = table.number(record, "Instances");
    if (!time || !count) continue;
    KernelTime kernel;
    kernel.name = table.text(record, "Name");
    kernel.kind = kernel_class(kernel.name);
    kernel.total = {static_cast<std::int64_t>(*count), Seconds(*time * 1e-9)};
    ClassTime& of_class = summary.whole.classes[static_cast<std::size_t>(kernel.kind)];
    of_class.count += kernel.total.count;
    of_class.time += kernel.total.time;
    summary.whole.duration += kernel.total.time;
    summary.facts.events += static_cast<std::uint64_t>(kernel.total.count);
    summary.kernels.push_back(std::move(kernel));
  }
  table.throw_faults();
  std::sort(summary.kernels.begin(), summary.kernels.end(),
            [](const KernelTime& a, const KernelTime& b) { return a.total.time > b.total.time; });
  return summary;
}

}  // namespace

TraceSummary summarise_nsys(std::string_view text, const std::string& file) {
  Table table(text, file);
  const auto refuse = [&](const char* message) {
    Diagnostic fault;
    fault.place.file = file;
    fault.place.line = fault.place.column = 1;
    fault.message = message;
    fault.hint = "nsys stats --format csv --report cuda_gpu_trace REPORT.nsys-rep";
    throw ScenarioError(std::move(fault));
  };
  const bool trace = table.has("Start (ns)") && table.has("Duration (ns)") && table.has("Name");
  const bool sums = table.has("Total Time (ns)") && table.has("Instances") && table.has("Name");
  if (!trace && !sums) refuse("neither cuda_gpu_trace nor cuda_gpu_kern_sum of nsys stats");
  TraceSummary summary = trace ? by_kernel(table, file) : by_name(table, file);
  if (summary.kernels.empty()) refuse("the table has no kernels");
  return summary;
}

}  // namespace stepcast
