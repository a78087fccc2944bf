#include "sim/collective/nccl_tuning_constants.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/document.hpp"
#include "base/embedded.hpp"

namespace stepcast {

std::span<const EmbeddedFile> collective_constants();

namespace {

/// Looks keys up in the tables of a version and of the newer ones. The file is ours, so that a fault in it is
/// our own.
class VersionTables {
 public:
  VersionTables(const Value& file, NcclVersion version) {
    for (const NcclVersion candidate : {NcclVersion::v2_18, NcclVersion::v2_21, NcclVersion::v2_27}) {
      if (candidate < version) continue;
      const Value* table = file.find(name_of(candidate));
      STEPCAST_CHECK(table && table->find("source"),
                     "nccl_tuning.toml: no sourced table " + std::string(name_of(candidate)));
      tables_.push_back(table);
    }
  }

  void read(std::string_view key, bool& into) const { into = at(key).boolean; }
  void read(std::string_view key, double& into) const { into = number(at(key)); }
  void read(std::string_view key, int& into) const { into = static_cast<int>(number(at(key))); }
  template <std::size_t N>
  void read(std::string_view key, std::array<double, N>& into) const {
    fill(at(key), into);
  }
  template <std::size_t N, std::size_t M>
  void read(std::string_view key, std::array<std::array<double, M>, N>& into) const {
    const auto& rows = list(at(key), N);
    for (std::size_t i = 0; i < N; ++i) fill(rows[i], into[i]);
  }
  void read(std::string_view key, std::vector<double>& into) const { fill(at(key), into); }
  template <std::size_t N>
  void read(std::string_view key, std::array<std::vector<double>, N>& into) const {
    const auto& rows = list(at(key), N);
    for (std::size_t i = 0; i < N; ++i) fill(rows[i], into[i]);
  }
  void read(std::string_view key, std::vector<std::pair<int, double>>& into) const {
    for (const Value& pair : at(key).array)
      into.emplace_back(static_cast<int>(number(list(pair, 2)[0])), number(pair.array[1]));
  }
  void read(std::string_view key, std::vector<std::pair<std::string, double>>& into) const {
    for (const Value& pair : at(key).array) into.emplace_back(list(pair, 2)[0].string, number(pair.array[1]));
  }

 private:
  [[nodiscard]] const Value& at(std::string_view key) const {
    for (const Value* table : tables_)
      if (const Value* value = table->find(key)) return *value;
    STEPCAST_CHECK(false, "nccl_tuning.toml lacks " + std::string(key));
    return *tables_.front();
  }
  static double number(const Value& value) {
    STEPCAST_CHECK(value.is_number(), "nccl_tuning.toml: number expected, got " + value.to_text());
    return value.real;
  }
  static const std::vector<Value>& list(const Value& value, std::size_t size) {
    STEPCAST_CHECK(value.array.size() == size, "nccl_tuning.toml: a list of another length expected");
    return value.array;
  }
  template <std::size_t N>
  static void fill(const Value& value, std::array<double, N>& into) {
    const auto& figures = list(value, N);
    for (std::size_t i = 0; i < N; ++i) into[i] = number(figures[i]);
  }
  static void fill(const Value& value, std::vector<double>& into) {
    for (const Value& figure : value.array) into.push_back(number(figure));
  }

  std::vector<const Value*> tables_;  ///< the version's own first, then newer ones
};

NcclTuningConstants read_version(const Value& file, NcclVersion version) {
  const VersionTables tables(file, version);
  NcclTuningConstants c;
  const auto read = [&tables](std::string_view key, auto& into) { tables.read(key, into); };
  read("tree_base", c.tree_base);
  read("ring_base", c.ring_base);
  read("collnet_base", c.collnet_base);
  read("nvls_base", c.nvls_base);
  read("pat_base", c.pat_base);
  read("tree_nvlink", c.tree_nvlink);
  read("ring_nvlink", c.ring_nvlink);
  read("tree_pci", c.tree_pci);
  read("ring_pci", c.ring_pci);
  read("tree_network", c.tree_network);
  read("ring_network", c.ring_network);
  read("collnet_direct_intra", c.collnet_direct_intra);
  read("collnet_direct_network", c.collnet_direct_network);
  read("collnet_chain_intra", c.collnet_chain_intra);
  read("collnet_chain_network", c.collnet_chain_network);
  read("collnet_rank", c.collnet_rank);
  read("nvls_nvlink", c.nvls_nvlink);
  read("nvls_network", c.nvls_network);
  read("nvls_tree_network", c.nvls_tree_network);
  read("pat_network", c.pat_network);
  read("pat_overlap", c.pat_overlap);
  read("pat_rank", c.pat_rank);
  read("post", c.post);
  read("post_amd", c.post_amd);
  read("ll_share", c.ll_share);
  read("ll_share_plain", c.ll_share_plain);
  read("ll_max_node", c.ll_max_node);
  read("ll_max_nodes", c.ll_max_nodes);
  read("ll_max_nodes_amd", c.ll_max_nodes_amd);
  read("ring_ll128_share", c.ring_ll128_share);
  read("ring_ll128_share_single", c.ring_ll128_share_single);
  read("ring_ll128_max", c.ring_ll128_max);
  read("tree_share", c.tree_share);
  read("tree_ll_share", c.tree_ll_share);
  read("tree_ll128_share_node", c.tree_ll128_share_node);
  read("tree_ll128_share_nodes", c.tree_ll128_share_nodes);
  read("tree_plain", c.tree_plain);
  read("tree_max", c.tree_max);
  read("tree_ll128_max", c.tree_ll128_max);
  read("nvls_tree_max", c.nvls_tree_max);
  read("nvls_efficiency", c.nvls_efficiency);
  read("nvls_old_rating", c.nvls_old_rating);
  read("pat", c.pat);
  read("ring_wraps", c.ring_wraps);
  read("pat_share", c.pat_share);
  read("collnet_direct_hopper", c.collnet_direct_hopper);
  read("plateau", c.plateau);
  read("plateau_old", c.plateau_old);
  read("plateau_bytes", c.plateau_bytes);
  read("most_channels", c.most_channels);
  read("most_rings", c.most_rings);
  read("threads", c.threads);
  read("bytes_per_thread", c.bytes_per_thread);
  read("tree_threads", c.tree_threads);
  read("slow_threads", c.slow_threads);
  read("slow_rate", c.slow_rate);
  read("nvls_channels", c.nvls_channels);
  read("nvls_channels_across", c.nvls_channels_across);
  read("p2p_network_rate", c.p2p_network_rate);
  read("p2p_channels", c.p2p_channels);
  read("nvlink_rates", c.nvlink_rates);
  read("pcie_share", c.pcie_share);
  read("cpu_rates", c.cpu_rates);
  read("intel_peer_cost", c.intel_peer_cost);
  read("speeds_inside", c.speeds_inside);
  read("speeds_across", c.speeds_across);
  read("lowest_speed", c.lowest_speed);
  read("tree_correction_ll", c.tree_correction[0]);
  read("tree_correction_ll128", c.tree_correction[1]);
  read("tree_correction_simple", c.tree_correction[2]);
  return c;
}

}  // namespace

const NcclTuningConstants& nccl_tuning_constants(NcclVersion version) {
  static const auto all = [] {
    const auto files = collective_constants();
    const auto file = std::find_if(files.begin(), files.end(), [](const EmbeddedFile& embedded) {
      return embedded.name == "nccl_tuning";
    });
    STEPCAST_CHECK(file != files.end(), "nccl_tuning.toml is not embedded");
    const Value document = parse_toml(file->text, "nccl_tuning.toml");
    return std::array{read_version(document, NcclVersion::v2_18), read_version(document, NcclVersion::v2_21),
                      read_version(document, NcclVersion::v2_27)};
  }();
  return all[static_cast<std::size_t>(version)];
}

std::size_t nccl_generation(int compute_capability) {
  return compute_capability < 80 ? 0 : compute_capability < 90 ? 1 : compute_capability < 100 ? 2 : 3;
}

}  // namespace stepcast
