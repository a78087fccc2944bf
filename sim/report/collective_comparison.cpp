#include "sim/report/collective_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/report/collective_interval.hpp"
#include "sim/report/collective_json.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/nccl_tests.hpp"
#include "sim/report/text_table.hpp"

namespace stepcast {
namespace {

double error_of(const CollectiveRow& predicted, Seconds measured) { return predicted.time / measured - 1; }

double middle(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

/// How far off a band of sizes is, those that correct the model left out.
struct BandError {
  std::string band;
  std::vector<double> predicted, corrected;  ///< |error|
};

std::vector<BandError> errors_by_band(const CollectiveComparison& comparison) {
  std::vector<BandError> bands;
  for (const SizeBand& band : collective_bands()) {
    BandError found{band.name, {}, {}};
    for (const auto& row : comparison.rows) {
      if (&collective_band(row.predicted.size) != &band || row.fitted) continue;
      found.predicted.push_back(std::abs(error_of(row.predicted, row.measured)));
      if (row.corrected) found.corrected.push_back(std::abs(error_of(*row.corrected, row.measured)));
    }
    if (!found.predicted.empty()) bands.push_back(std::move(found));
  }
  return bands;
}

std::string percent(double share, const char* sign = "") {
  char text[32];
  std::snprintf(text, sizeof text, "%s%.1f", share > 0 ? sign : "", 100 * share);
  return text;
}

std::string bytes_text(Bytes size) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", size.value);
  return text;
}

std::string row_table(const CollectiveComparison& comparison) {
  TextTable table;
  for (const char* name : {"size\n(B)", "measured\n(us)", "busbw\n(GB/s)", "predicted\n(us)", "busbw\n(GB/s)",
                           "error\n(%)", "5 %\n(us)", "95 %\n(us)"})
    table.add_column(name, TextTable::Align::right);
  table.add_column("chosen", TextTable::Align::left);
  const bool corrected = comparison.fit.has_value();
  if (corrected) {
    for (const char* name : {"corrected\n(us)", "error\n(%)"})
      table.add_column(name, TextTable::Align::right);
  }
  for (const auto& row : comparison.rows) {
    const CollectiveRow& predicted = row.predicted;
    const BytesPerSecond bus =
        CollectiveModel::bus_bandwidth(comparison.operation, predicted.size, comparison.ranks, row.measured);
    std::vector<std::string> cells = {bytes_text(predicted.size),
                                      nccl_tests_time(row.measured),
                                      nccl_tests_rate(bus),
                                      nccl_tests_time(predicted.time),
                                      nccl_tests_rate(predicted.bus_bandwidth),
                                      percent(error_of(predicted, row.measured), "+"),
                                      nccl_tests_time(predicted.low),
                                      nccl_tests_time(predicted.high),
                                      std::string(name_of(predicted.algorithm)) + " " +
                                          std::string(name_of(predicted.protocol)) + " " +
                                          std::to_string(predicted.channels)};
    if (corrected) {
      cells.push_back(nccl_tests_time(row.corrected->time));
      cells.push_back(row.fitted ? "fitted" : percent(error_of(*row.corrected, row.measured), "+"));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string band_table(const CollectiveComparison& comparison) {
  TextTable table;
  table.add_column("size", TextTable::Align::left);
  for (const char* name : {"sizes", "median\n|error| %", "p90\n|error| %"})
    table.add_column(name, TextTable::Align::right);
  if (comparison.fit) {
    for (const char* name : {"corrected\nmedian %", "corrected\np90 %"})
      table.add_column(name, TextTable::Align::right);
  }
  for (const BandError& band : errors_by_band(comparison)) {
    std::vector<std::string> cells = {band.band, std::to_string(band.predicted.size()),
                                      percent(middle(band.predicted, 0.5)),
                                      percent(middle(band.predicted, 0.9))};
    if (comparison.fit) {
      cells.push_back(percent(middle(band.corrected, 0.5)));
      cells.push_back(percent(middle(band.corrected, 0.9)));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return made + "\"";
}

}  // namespace

CollectiveComparison compare_collective(const Scenario& scenario, Operation operation,
                                        const MeasuredTimes& times, bool fit) {
  CollectiveComparison comparison;
  comparison.operation = operation;
  Profile profile = collective_profile(scenario);
  const auto model = collective_model(scenario, profile);
  comparison.ranks = model->cluster().gpu_count();
  std::vector<Bytes> sizes;
  for (const auto& [size, time] : times) sizes.push_back(size);
  const std::vector<CollectiveRow> predicted = collective_rows(*model, operation, sizes);
  for (std::size_t i = 0; i < times.size(); ++i)
    comparison.rows.push_back({times[i].second, predicted[i], std::nullopt, false});
  if (!fit) return comparison;

  comparison.fit = as_measured(scenario, operation, five_sizes(times));
  profile.collectives.push_back(*comparison.fit);
  const std::vector<CollectiveRow> corrected =
      collective_rows(*collective_model(scenario, profile), operation, sizes);
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto& row = comparison.rows[i];
    row.corrected = corrected[i];
    row.fitted = std::any_of(comparison.fit->points.begin(), comparison.fit->points.end(),
                             [&](const auto& point) { return point.first == times[i].first; });
  }
  return comparison;
}

std::string to_text(const CollectiveComparison& comparison) {
  std::string text =
      std::string(nccl_tests_name(comparison.operation)) + " on " + std::to_string(comparison.ranks) +
      " ranks: " + comparison.log + " (" + (comparison.in_place ? "in place" : "out of place") +
      ") beside the prediction; error = predicted / measured time - 1\n\n" + row_table(comparison);
  const std::string bands = band_table(comparison);
  if (comparison.fit) {
    text += "\nThe model was corrected at the sizes marked \"fitted\"; " +
            (errors_by_band(comparison).empty() ? std::string("no other size is left to judge it by.\n")
                                                : "the others are judged:\n" + bands);
  } else {
    text += "\n" + bands;
  }
  return text;
}

std::string to_json(const CollectiveComparison& comparison) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", collectives_schema);
  json.member("operation", nccl_tests_name(comparison.operation));
  json.member("ranks", comparison.ranks);
  json.member("log", comparison.log);
  json.member("in_place", comparison.in_place);
  json.key("rows");
  json.begin_array();
  for (const auto& row : comparison.rows) {
    json.begin_object();
    write_collective_row(json, row.predicted);
    json.member("measured_s", row.measured.value);
    json.member("relative_error", error_of(row.predicted, row.measured));
    if (row.corrected) {
      json.member("corrected_s", row.corrected->time.value);
      json.member("corrected_error", error_of(*row.corrected, row.measured));
      json.member("fitted", row.fitted);
    }
    json.end_object();
  }
  json.end_array();
  json.key("summary");
  json.begin_array();
  for (const BandError& band : errors_by_band(comparison)) {
    json.begin_object();
    json.member("group", band.band);
    json.member("rows", static_cast<int>(band.predicted.size()));
    json.member("median_abs_error", middle(band.predicted, 0.5));
    json.member("p90_abs_error", middle(band.predicted, 0.9));
    if (!band.corrected.empty()) {
      json.member("corrected_median_abs_error", middle(band.corrected, 0.5));
      json.member("corrected_p90_abs_error", middle(band.corrected, 0.9));
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

std::string profile_text(const std::vector<MeasuredCollective>& measured) {
  std::string text = "schema = \"stepcast.profile/1\"\n";
  for (const MeasuredCollective& one : measured) text += "\n" + section_text(one);
  return text;
}

std::string section_text(const MeasuredCollective& measured) {
  std::string text = "[[collective]]\noperation = " + quoted(measured.operation) +
                     "\nranks = " + std::to_string(measured.ranks) +
                     "\nnodes = " + std::to_string(measured.nodes) + "\nfabric = " + quoted(measured.fabric) +
                     "\n";
  char line[96];
  if (measured.gpus_per_node) text += "gpus_per_node = " + std::to_string(*measured.gpus_per_node) + "\n";
  if (measured.link_rate) {
    std::snprintf(line, sizeof line, "link_rate = \"%.9g Gb/s\"\n", measured.link_rate->value * 8 / 1e9);
    text += line;
  }
  if (!measured.nccl_version.empty()) text += "nccl_version = " + quoted(measured.nccl_version) + "\n";
  text += "source = " + quoted(measured.source) + "\n";
  if (!measured.measured_on.empty()) text += "measured_on = " + quoted(measured.measured_on) + "\n";
  text += "points = [";
  for (std::size_t i = 0; i < measured.points.size(); ++i) {
    const auto& [size, time] = measured.points[i];
    std::snprintf(line, sizeof line, "%s[\"%.0f B\", \"%.9g us\"]", i > 0 ? ", " : "", size.value,
                  time.value * 1e6);
    text += line;
  }
  return text + "]\n";
}

}  // namespace stepcast
