#include <algorithm>

#include "base/print.hpp"
#include "calibrate/import/trace_output.hpp"
#include "sim/report/text_table.hpp"

namespace stepcast {
namespace {

using Align = TextTable::Align;

std::string short_name(const std::string& name) {
  constexpr std::size_t longest = 70;
  return name.size() <= longest ? name : name.substr(0, longest - 3) + "...";
}

std::string count_of(std::int64_t count) { return print_integer(static_cast<double>(count)); }

/// The mean of the steps, or the whole trace where there are none.
struct Mean {
  explicit Mean(const TraceSummary& summary) : summary_(summary) {}

  template <class Get>
  [[nodiscard]] Seconds time(Get get) const {
    if (summary_.steps.empty()) return get(summary_.whole);
    Seconds sum;
    for (const StepTimes& step : summary_.steps) sum += get(step);
    return sum / static_cast<double>(summary_.steps.size());
  }
  [[nodiscard]] Seconds duration() const {
    return time([](const StepTimes& step) { return step.duration; });
  }

 private:
  const TraceSummary& summary_;
};

std::string heading(const TraceSummary& summary) {
  const TraceFacts& facts = summary.facts;
  std::string text = summary.file + ": " + count_of(static_cast<std::int64_t>(facts.events)) + " events";
  if (!summary.gpu.empty()) text += ", " + summary.gpu;
  if (facts.rank >= 0) {
    text += ", rank " + std::to_string(facts.rank);
    if (facts.world_size > 0) text += " of " + std::to_string(facts.world_size);
  }
  const Mean mean(summary);
  text += summary.steps.empty() ? "\nthe whole trace, " + print_time(mean.duration()) + ":\n"
                                : "\nmean of " + std::to_string(summary.steps.size()) + " steps of " +
                                      print_time(mean.duration()) + ":\n";
  return text;
}

std::string class_table(const TraceSummary& summary) {
  const Mean mean(summary);
  const Seconds duration = mean.duration();
  const auto share = [&](Seconds time) { return duration > Seconds(0) ? print_share(time / duration) : ""; };
  TextTable table;
  table.add_column("", Align::left);
  table.add_column("kernels\nin all", Align::right);
  table.add_column("time", Align::right);
  table.add_column("share", Align::right);
  const auto row = [&](const std::string& name, const std::string& count, Seconds time) {
    table.add_row({name, count, print_time(time), share(time)});
  };
  for (int i = 0; i < kernel_classes; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const ClassTime& all = summary.whole.classes[index];
    if (all.count == 0) continue;
    row(std::string(name_of(static_cast<KernelClass>(i))), count_of(all.count),
        mean.time([&](const StepTimes& step) { return step.classes[index].time; }));
  }
  table.add_gap();
  for (int i = 0; i < step_parts; ++i) {
    const Seconds time =
        mean.time([&](const StepTimes& step) { return step.parts[static_cast<std::size_t>(i)]; });
    if (time > Seconds(0)) row(std::string(name_of(static_cast<StepPart>(i))), "", time);
  }
  table.add_gap();
  row("exposed communication", "", mean.time([](const StepTimes& s) { return s.exposed_communication; }));
  row("compute idle, CPU late", "", mean.time([](const StepTimes& s) { return s.waiting_for_launch; }));
  row("compute idle, collective", "",
      mean.time([](const StepTimes& s) { return s.waiting_for_communication; }));
  row("compute idle, other", "", mean.time([](const StepTimes& s) { return s.waiting_for_other; }));
  return table.text();
}

std::string collective_table(const TraceSummary& summary) {
  TextTable table;
  table.add_column("collective", Align::left);
  for (const char* name : {"size", "ranks", "calls", "quartile", "median", "exposed\nin all"})
    table.add_column(name, Align::right);
  constexpr std::size_t most_rows = 20;
  std::size_t rows = 0;
  for (const TracedSeries& series : summary.collectives) {
    if (++rows > most_rows) break;
    table.add_row({series.name, series.size ? print_size(*series.size) : "?",
                   series.ranks > 0 ? std::to_string(series.ranks) : "?",
                   count_of(static_cast<std::int64_t>(series.calls.size())),
                   print_time(series.lower_quartile), print_time(series.median), print_time(series.exposed)});
  }
  std::string text = table.text();
  if (summary.collectives.size() > most_rows)
    text += "and " + std::to_string(summary.collectives.size() - most_rows) + " more\n";
  return text;
}

std::string copy_table(const TraceSummary& summary) {
  TextTable table;
  table.add_column("copies", Align::left);
  for (const char* name : {"count", "bytes", "time", "large ones'\nrate"})
    table.add_column(name, Align::right);
  for (const CopySeries& copies : summary.copies) {
    table.add_row({copies.kind, count_of(copies.count), print_size(copies.bytes), print_time(copies.time),
                   copies.large > 0 ? print_rate(copies.large_rate) : ""});
  }
  return table.text();
}

std::string kernel_table(const TraceSummary& summary) {
  TextTable table;
  table.add_column("longest in all", Align::left);
  for (const char* name : {"count", "time"}) table.add_column(name, Align::right);
  constexpr std::size_t most_rows = 8;
  for (std::size_t i = 0; i < std::min(summary.kernels.size(), most_rows); ++i) {
    const KernelTime& kernel = summary.kernels[i];
    table.add_row({std::string(name_of(kernel.kind)) + ": " + short_name(kernel.name),
                   count_of(kernel.total.count), print_time(kernel.total.time)});
  }
  return table.text();
}

}  // namespace

std::string to_text(const TraceSummary& summary) {
  std::string text = heading(summary) + class_table(summary) + "\n";
  if (summary.launches > 0)
    text +=
        count_of(summary.launches) + " launches, " + print_time(summary.launch_median) + " each (median)\n\n";
  if (!summary.collectives.empty()) text += collective_table(summary) + "\n";
  if (!summary.copies.empty()) text += copy_table(summary) + "\n";
  return text + kernel_table(summary);
}

}  // namespace stepcast
