#include "sim/collective/nccl_constants.hpp"

#include <string>
#include <string_view>

#include "base/document.hpp"
#include "base/embedded.hpp"
#include "base/quantity.hpp"

namespace stepcast {

std::span<const EmbeddedFile> collective_constants();

namespace {

/// Looks figures up by section and key. The file is ours, so that a fault in it is our own.
class Figures {
 public:
  explicit Figures(const Value& file) : file_(file) {}

  [[nodiscard]] const Value& at(std::string_view section, std::string_view key) const {
    const Value* table = file_.find(section);
    const Value* value = table ? table->find(key) : nullptr;
    STEPCAST_CHECK(value, "nccl.toml lacks " + std::string(section) + "." + std::string(key));
    STEPCAST_CHECK(table->find("source"), "nccl.toml: no source for " + std::string(section));
    return *value;
  }
  [[nodiscard]] double number(std::string_view section, std::string_view key) const {
    return number(at(section, key));
  }
  [[nodiscard]] Seconds time(std::string_view section, std::string_view key) const {
    return time(at(section, key));
  }
  [[nodiscard]] BytesPerSecond rate(std::string_view section, std::string_view key) const {
    const auto parsed = parse_rate(at(section, key).string);
    STEPCAST_CHECK(parsed, "nccl.toml: rate expected at " + std::string(key));
    return *parsed;
  }
  [[nodiscard]] ByProtocol<Seconds> times(std::string_view section, std::string_view key) const {
    const auto& list = three(section, key);
    return {time(list[0]), time(list[1]), time(list[2])};
  }
  [[nodiscard]] ByProtocol<double> numbers(std::string_view section, std::string_view key) const {
    const auto& list = three(section, key);
    return {number(list[0]), number(list[1]), number(list[2])};
  }

 private:
  [[nodiscard]] const std::vector<Value>& three(std::string_view section, std::string_view key) const {
    const Value& value = at(section, key);
    STEPCAST_CHECK(value.array.size() == 3, "nccl.toml: three figures expected at " + std::string(key));
    return value.array;
  }
  static double number(const Value& value) {
    STEPCAST_CHECK(value.is_number(), "nccl.toml: number expected");
    return value.real;
  }
  static Seconds time(const Value& value) {
    const auto parsed = parse_seconds(value.string);
    STEPCAST_CHECK(parsed, "nccl.toml: time expected, got " + value.to_text());
    return *parsed;
  }

  const Value& file_;
};

NcclConstants read_constants() {
  const Value file = parse_toml(collective_constants().front().text, "nccl.toml");
  const Figures figures(file);
  NcclConstants c;
  c.ring_base = figures.times("base_latency", "ring");
  c.tree_base = figures.times("base_latency", "tree");
  c.ring_nvlink = figures.times("step_latency", "ring_nvlink");
  c.tree_nvlink = figures.times("step_latency", "tree_nvlink");
  c.ring_pcie = figures.times("step_latency", "ring_pcie");
  c.tree_pcie = figures.times("step_latency", "tree_pcie");
  c.ring_network = figures.times("step_latency", "ring_network");
  c.tree_network = figures.times("step_latency", "tree_network");
  c.nvls_step = figures.time("step_latency", "nvls");
  c.nvls_network = figures.time("step_latency", "nvls_network");
  c.collnet_direct_step = figures.time("collnet", "direct_step");
  c.collnet_rank = figures.time("collnet", "direct_rank");
  c.collnet_direct_network = figures.time("collnet", "direct_network");
  c.collnet_chain_step = figures.time("collnet", "chain_step");
  c.collnet_chain_network = figures.time("collnet", "chain_network");
  c.collnet_share = figures.number("collnet", "share");
  c.pat_base = figures.time("pat", "base");
  c.pat_step = figures.time("pat", "step");
  c.pat_rank = figures.time("pat", "rank");
  c.nvls_tree_extra = figures.time("step_scale", "nvls_tree_extra");
  const double low_latency = figures.number("step_scale", "low_latency");
  c.local_scale = {low_latency, low_latency, figures.number("step_scale", "simple")};
  c.nvls_scale = figures.number("step_scale", "nvls");
  c.trips_gpudirect = figures.number("network_trips", "gpudirect");
  c.trips_staged = figures.number("network_trips", "staged");
  c.rate_share = {figures.number("protocol", "ll_rate"), figures.number("protocol", "ll128_rate"), 1};
  c.wire = {figures.number("protocol", "ll_wire"), figures.number("protocol", "ll128_wire"), 1};
  c.fill_all_reduce = figures.number("pipeline_fill", "all_reduce");
  c.fill_other = figures.number("pipeline_fill", "other");
  c.fill_without_nvlink = figures.number("pipeline_fill", "without_nvlink");
  c.fill_ll128 = figures.number("pipeline_fill", "ll128");
  c.fill_half = figures.number("pipeline_fill", "half");
  c.nvls_tree_share = figures.number("nvls", "tree_share");
  c.tree_node_share = figures.number("tree", "node_share");
  c.peer_channel_rate = figures.rate("send_recv", "channel_rate");
  c.all_to_all_share = figures.number("all_to_all", "share");
  c.all_to_all_base = figures.time("all_to_all", "base");
  c.all_to_all_remote_peer = figures.time("all_to_all", "remote_peer");
  c.most_channels = static_cast<int>(figures.number("channels", "most"));
  c.ring_passes = figures.number("memory", "ring_passes");
  c.nvls_passes = figures.number("memory", "nvls_passes");
  return c;
}

}  // namespace

const NcclConstants& nccl_constants() {
  static const NcclConstants constants = read_constants();
  return constants;
}

}  // namespace stepcast
