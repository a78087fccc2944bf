#include "calibrate/fit/profile_writer.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/fit/collective_groups.hpp"
#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/robust_fit.hpp"
#include "calibrate/fit/toml_text.hpp"
#include "sim/scenario/scenario.hpp"

namespace stepcast {

namespace {

using Kind = Measurement::Kind;
using toml::text;

constexpr const char* own_software = "stepcast-trainer";
constexpr const char* source = "stepcast calibrate";

/// Times of one table by a key that orders and tells apart its points.
struct Points {
  std::map<std::vector<double>, std::vector<double>> times;
  std::vector<double> spreads;

  void add(std::vector<double> key, const Measured& one) {
    times[std::move(key)].push_back(one.median.value);
    spreads.push_back(one.spread);
  }
};

class ProfileWriter {
 public:
  explicit ProfileWriter(const MeasuredSet& set) : set_(set), fits_(fit_all(set)) {}

  std::string write() {
    line("schema = \"stepcast.profile/1\"");
    line("description = " + text("calibration of " + set_.device.model + " on " + set_.measured_on));
    set_.device.compute_capability > 0 ? gpu() : host();
    links();
    software();
    gemms();
    kernels();
    attentions();
    collectives();
    fits();
    return std::move(text_);
  }

 private:
  void line(const std::string& content) { text_ += content + "\n"; }
  void key(const std::string& name, const std::string& value) { line(name + " = " + value); }

  void figure(const std::string& name, const std::string& value, double spread = 0,
              const std::string& from = source) {
    line(name + " = { value = " + value + ", source = " + text(from) + ", measured_on = " +
         text(set_.measured_on) + (spread > 0 ? ", spread = " + toml::number(spread) : "") + " }");
  }
  /// A figure that a fit found; nothing where there is no such fit.
  void fitted(const std::string& name, const std::string& of, const std::string& parameter) {
    const FitParameter* const found = fits_.find(of, parameter);
    if (found == nullptr || (!(found->value > 0) && found->unit != FitParameter::Unit::time)) return;
    figure(name, toml::parameter(found->unit, found->value), std::min(10.0, found->relative_error()),
           std::string(source) + ", fit of " + of);
  }
  void origin(double spread) {
    key("source", text(source));
    key("measured_on", text(set_.measured_on));
    key("spread", toml::number(std::min(10.0, spread)));
  }

  /// Median spread of all kernels from run to run; 0 without any.
  [[nodiscard]] double kernel_spread() const {
    std::vector<double> spreads;
    for (const Measured& one : set_.results) {
      const Kind kind = one.what.kind;
      if (kind == Kind::gemm || kind == Kind::attention || kind == Kind::kernel)
        spreads.push_back(one.spread);
    }
    return spreads.empty() ? 0 : std::min(1.0, median_of(std::move(spreads)));
  }

  /// The type whose products were measured in most shapes: there is one latency for all.
  [[nodiscard]] std::string main_gemm() const {
    const Fit* most = nullptr;
    for (const Fit& fit : fits_.fits)
      if (fit.of.starts_with("gemm ") && (most == nullptr || fit.points > most->points)) most = &fit;
    return most != nullptr ? most->of : "";
  }

  void gpu() {
    line("\n[gpu]");
    key("name", text(set_.device.profile_name));
    if (set_.device.memory_capacity > Bytes(0))
      figure("memory_capacity", toml::size(set_.device.memory_capacity));
    fitted("memory_rate", "copy", "rate");
    fitted("memory_latency", "copy", "latency");
    const FitParameter* const down = fits_.find("copy to the device", "rate");
    const FitParameter* const up = fits_.find("copy to the host", "rate");
    const bool up_is_slower = up != nullptr && (down == nullptr || up->value < down->value);
    fitted("host_link_rate", up_is_slower ? "copy to the host" : "copy to the device", "rate");
    fitted("gemm_latency", main_gemm(), "latency");
    if (kernel_spread() > 0) figure("kernel_jitter", toml::number(kernel_spread()));
    ceilings();
  }

  /// Shares of the datasheet's peaks, where the device's are known.
  void ceilings() {
    const auto known = gpu_profile_names();
    if (std::find(known.begin(), known.end(), set_.device.profile_name) == known.end()) return;
    const GpuProfile base = load_profile(set_.device.profile_name, set_.node, own_software, {}, {}).gpu;
    bool first = true;
    for (const auto& [type, peak] : base.peak) {
      const std::string of = "gemm " + std::string(name_of(type));
      const FitParameter* const rate = fits_.find(of, "rate");
      if (rate == nullptr) continue;
      const double share = rate->value / peak.value.value;
      constexpr double least = 0.01, most = 1.5;  // what a profile accepts
      if (share < least || share > most) continue;
      if (first) line("\n[gpu.gemm_ceiling]");
      first = false;
      figure(std::string(name_of(type)), toml::number(share), std::min(10.0, rate->relative_error()),
             std::string(source) + ", fit of " + of);
    }
  }

  void host() {
    line("\n[host]");
    key("name", text(set_.device.profile_name));
    if (set_.device.memory_capacity > Bytes(0))
      figure("memory_capacity", toml::size(set_.device.memory_capacity));
    fitted("memory_rate", "copy", "rate");
    fitted("memory_latency", "copy", "latency");
    fitted("gemm_latency", main_gemm(), "latency");
    if (kernel_spread() > 0) figure("kernel_jitter", toml::number(kernel_spread()));
    if (fits_.find("gemm fp32", "rate") == nullptr) return;
    line("\n[host.gemm_rate]");
    fitted("fp32", "gemm fp32", "rate");
  }

  void links() {
    std::vector<double> spreads;
    for (const CollectiveSeries& series : collective_series(set_)) spreads.push_back(series.spread);
    if (spreads.empty() || set_.node.empty()) return;
    line("\n[links]");
    key("node", text(set_.node));
    figure("collective_jitter", toml::number(std::min(1.0, median_of(std::move(spreads)))));
  }

  void software() {
    // A host device launches nothing (docs/profile.md).
    if (set_.device.compute_capability == 0 || fits_.find("launch", "time") == nullptr) return;
    line("\n[software]");
    key("name", text(own_software));
    fitted("host_per_kernel", "launch", "time");
  }

  /// The rest of a table: origin and points, each `prefix(key)` and its time.
  void points_of(const Points& points, const std::function<std::string(const std::vector<double>&)>& prefix) {
    origin(median_of(points.spreads));
    line("points = [");
    for (const auto& [place, times] : points.times)
      line("  [" + prefix(place) + ", " + toml::time(Seconds(median_of(times))) + "],");
    line("]");
  }
  static std::string numbers(const std::vector<double>& values, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += (i > 0 ? ", " : "") + toml::number(values[i]);
    return all;
  }
  static std::string pass_name(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

  void gemms() {
    std::map<Dtype, Points> tables;
    for (const Measured& one : set_.results) {
      const Measurement& what = one.what;
      if (what.kind != Kind::gemm || one.median <= Seconds(0) || (what.transpose_a && what.transpose_b))
        continue;
      const GemmLayout layout = what.transpose_a   ? GemmLayout::tn
                                : what.transpose_b ? GemmLayout::nt
                                                   : GemmLayout::nn;
      tables[what.dtype].add({static_cast<double>(layout), static_cast<double>(what.rows),
                              static_cast<double>(what.columns), static_cast<double>(what.depth)},
                             one);
    }
    for (const auto& [type, points] : tables) {
      line("\n[[gemm]]");
      key("device", text(set_.device.profile_name));
      key("dtype", text(std::string(name_of(type))));
      points_of(points, [](const std::vector<double>& place) {
        const auto layout = static_cast<GemmLayout>(static_cast<int>(place[0]));
        return numbers({place[1], place[2], place[3]}, 3) + ", " + text(std::string(name_of(layout)));
      });
    }
  }

  void kernels() {
    std::map<std::tuple<std::string, Pass, Dtype>, Points> tables;
    for (const Measured& one : set_.results) {
      const Measurement& what = one.what;
      if (what.kind != Kind::kernel || one.median <= Seconds(0) || what.moved <= Bytes(0)) continue;
      const bool plain = what.operation == "copy" || what.operation == "adamw";
      const bool one_pass = plain || what.operation == "cross_entropy";
      tables[{what.operation, one_pass ? Pass::forward : what.pass, plain ? Dtype::fp32 : what.dtype}].add(
          {what.moved.value}, one);
    }
    for (const auto& [which, points] : tables) {
      const auto& [operation, pass, type] = which;
      line("\n[[kernel]]");
      key("device", text(set_.device.profile_name));
      key("software", text(own_software));
      key("operation", text(operation));
      if (operation != "copy" && operation != "adamw") {
        // One kernel makes the loss and its gradient.
        key("pass", text(operation == "cross_entropy" ? "both" : pass_name(pass)));
        key("dtype", text(std::string(name_of(type))));
      }
      points_of(points, [](const std::vector<double>& place) { return toml::size(Bytes(place[0])); });
    }
  }

  void attentions() {
    std::map<std::pair<Pass, Dtype>, Points> tables;
    // Samples times heads is what counts; the first of equal ones names the shape.
    std::map<std::vector<double>, std::pair<double, double>> shapes;
    for (const Measured& one : set_.results) {
      const Measurement& what = one.what;
      if (what.kind != Kind::attention || one.median <= Seconds(0)) continue;
      std::vector<double> place{static_cast<double>(what.samples * what.heads),
                                static_cast<double>(what.head_dim), static_cast<double>(what.length)};
      shapes.try_emplace(place, static_cast<double>(what.samples), static_cast<double>(what.heads));
      tables[{what.pass, what.dtype}].add(std::move(place), one);
    }
    for (const auto& [which, points] : tables) {
      line("\n[[attention]]");
      key("device", text(set_.device.profile_name));
      key("software", text(own_software));
      key("kernel", text("eager"));
      key("pass", text(pass_name(which.first)));
      key("dtype", text(std::string(name_of(which.second))));
      points_of(points, [&](const std::vector<double>& place) {
        const auto& [samples, heads] = shapes.at(place);
        return numbers({samples, heads, place[1], place[2]}, 4);
      });
    }
  }

  void collectives() {
    std::string nccl;
    for (const auto& [library, version] : set_.device.versions)
      if (library == "NCCL") nccl = version;
    for (const CollectiveSeries& series : collective_series(set_)) {
      const std::string& fabric = series.nodes == 1 ? set_.node : set_.fabric;
      if (fabric.empty() || series.ranks < 2) continue;
      line("\n[[collective]]");
      key("operation", text(std::string(name_of(series.operation))));
      key("ranks", std::to_string(series.ranks));
      key("nodes", std::to_string(series.nodes));
      key("fabric", text(fabric));
      // Inside one node the fabric's rate says nothing.
      if (series.nodes > 1 && set_.link_rate.value > 0) key("link_rate", toml::line_rate(set_.link_rate));
      if (series.ranks % series.nodes == 0) key("gpus_per_node", std::to_string(series.ranks / series.nodes));
      if (!nccl.empty()) key("nccl_version", text(nccl));
      origin(series.spread);
      line("points = [");
      for (const TimedSize& point : series.times)
        line("  [" + toml::size(point.size) + ", " + toml::time(point.time) + "],");
      line("]");
      if (series.cpu_times.empty()) continue;
      line("cpu_points = [");
      for (const auto& [size, time] : series.cpu_times)
        line("  [" + toml::size(size) + ", " + toml::time(time) + "],");
      line("]");
    }
  }

  void fits() {
    for (const Fit& fit : fits_.fits) {
      line("\n[[fit]]");
      key("of", text(fit.of));
      key("curve", text(fit.curve));
      line("parameters = [");
      for (const FitParameter& one : fit.parameters) {
        line("  [" + text(one.name) + ", " + toml::parameter(one.unit, one.value) + ", " +
             toml::parameter(one.unit, one.low) + ", " + toml::parameter(one.unit, one.high) + "],");
      }
      line("]");
      key("residual", toml::number(fit.residual));
      key("points", std::to_string(fit.points));
      if (!fit.warning.empty()) key("warning", text(fit.warning));
      key("source", text(source));
      key("measured_on", text(set_.measured_on));
    }
  }

  const MeasuredSet& set_;
  FitSummary fits_;
  std::string text_;
};

}  // namespace

std::string profile_toml(const MeasuredSet& set) { return ProfileWriter(set).write(); }

}  // namespace stepcast
