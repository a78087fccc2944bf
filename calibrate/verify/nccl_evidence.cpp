#include "calibrate/verify/nccl_evidence.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "calibrate/verify/log_reader.hpp"
#include "topology/fabric.hpp"

namespace stepcast {
namespace {

using Match = std::match_results<std::string_view::const_iterator>;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

class EvidenceReader {
 public:
  explicit EvidenceReader(const Scenario& scenario)
      : cluster_(scenario.cluster),
        node_(scenario.cluster.node_spec),
        across_(scenario.cluster.nodes > 1),
        rdma_(across_ && scenario.cluster.fabric_spec.transport != Transport::ethernet),
        nvlink_(node_.nvlink != NodeSpec::Nvlink::none && scenario.cluster.gpus_per_node > 1) {}

  void line(std::string_view text, unsigned number) {
    number_ = number;
    text_ = text;
    environment();
    if (has(text, " NCCL ")) {
      if (rdma_) network();
      if (nvlink_) inside_node();
      topology();
    }
    if (has(text, "link_speed=")) topology_file();
  }

  Testimony finish() {
    if (rdma_ && channels_ > 0 && direct_channels_ == 0 && cluster_.fabric_spec.gpudirect && node_.gpudirect)
      found_.push_back({Cause::no_gpudirect, channel_line_, channel_text_});
    const int nics =
        cluster_.fabric_spec.nics_per_node > 0 ? cluster_.fabric_spec.nics_per_node : node_.nics_default;
    if (across_ && nics > 1 && cards_used_.size() == 1)
      found_.push_back({Cause::one_nic, channel_line_, channel_text_});
    else if (across_ && nics > 1 && cards_listed_ == 1)
      found_.push_back({Cause::one_nic, listed_line_, listed_text_});
    Testimony said{std::move(found_), {}};
    if (cards_used_.size() > 1) said.refuted.insert(Cause::one_nic);
    if (direct_channels_ > 0) said.refuted.insert(Cause::no_gpudirect);
    if (channels_ > 0) said.refuted.insert(Cause::tcp_sockets);
    if (reads_) said.refuted.insert(Cause::no_nvlink);
    for (const Evidence& one : said.evidence) said.refuted.erase(one.cause);
    return said;
  }

 private:
  void add(Cause cause, const char* kind) {
    if (!kinds_.insert(kind).second) return;
    found_.push_back({cause, number_, shortened()});
  }

  [[nodiscard]] std::string shortened() const {
    std::string_view text = text_;
    if (const std::size_t at = text.find("NCCL "); at != std::string_view::npos) text = text.substr(at);
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    constexpr std::size_t most = 150;
    return std::string(text.substr(0, most)) + (text.size() > most ? "..." : "");
  }

  /// "NCCL_IB_DISABLE set by environment to 1.", or set on a command line.
  [[nodiscard]] bool is_set(std::string_view name) const {
    if (!has(text_, name)) return false;
    const auto by_nccl = number_after(text_, std::string(name) + " set by environment to");
    return by_nccl == 1 || number_after(text_, name) == 1;
  }

  void environment() {
    if (rdma_ && is_set("NCCL_IB_DISABLE")) add(Cause::tcp_sockets, "NCCL_IB_DISABLE");
    if (cluster_.gpus_per_node > 1 && is_set("NCCL_P2P_DISABLE")) add(Cause::no_nvlink, "NCCL_P2P_DISABLE");
  }

  void network() {
    if (has(text_, "Using network Socket") || has(text_, "via NET/Socket")) add(Cause::tcp_sockets, "socket");
    if (has(text_, "NET/IB : No device found")) add(Cause::tcp_sockets, "no device");
    if (has(text_, "GPU Direct RDMA Disabled for HCA")) add(Cause::no_gpudirect, "disabled");
    if (has(text_, "NET/IB : Using [0]")) {
      int cards = 0;
      for (std::size_t at = text_.find('['); at != std::string_view::npos; at = text_.find('[', at + 1)) {
        const std::size_t end = text_.find(']', at);
        if (end != std::string_view::npos && text_.substr(at + 1, end - at - 1) == std::to_string(cards))
          ++cards;
      }
      if (listed_line_ == 0) {
        listed_line_ = number_;
        listed_text_ = shortened();
      }
      cards_listed_ = std::max(cards_listed_, cards);
    }
    const std::size_t via = text_.find("via NET/");
    if (via == std::string_view::npos || has(text_, "via NET/Socket")) return;
    // "[send] via NET/IB/3/GDRDMA", "via NET/AWS Libfabric/0/GDRDMA"
    const std::string_view way = text_.substr(via + std::string_view("via NET/").size());
    const std::size_t slash = way.find('/');
    if (slash == std::string_view::npos) return;
    if (const auto card = leading_number(way.substr(slash + 1))) cards_used_.insert(static_cast<int>(*card));
    ++channels_;
    if (has(way, "GDRDMA")) ++direct_channels_;
    if (channel_line_ == 0) {
      channel_line_ = number_;
      channel_text_ = shortened();
    }
  }

  void inside_node() {
    // GPUs of compute capability 8 and above read each other's memory over NVLink, and only then (NCCL,
    // graph/paths.cc, ncclTopoCheckP2p).
    if (has(text_, "via P2P/") && has(text_, "/read")) reads_ = true;
    if (has(text_, "P2P is disabled")) add(Cause::no_nvlink, "P2P is disabled");
    if (has(text_, "via SHM/") || text_.ends_with("via SHM")) add(Cause::no_nvlink, "SHM");
    // "+ NVL[20.0] - GPU/0-65000": what NCCL found between two GPUs.
    static const std::regex nvlink(R"(\+ NVL\[([0-9.]+)\] - (GPU|NVS))");
    Match found;
    if (has(text_, "+ NVL[") && std::regex_search(text_.begin(), text_.end(), found, nvlink)) {
      // NCCL counts a link of 25 GB/s as 20 or a little more (ncclTopoNVLinkBw).
      constexpr double counted = 0.7;
      if (*leading_number(found[1].str()) < counted * 0.5 * expected_nvlink()) add(Cause::no_nvlink, "NVL");
    }
  }

  /// GB/s between the two GPUs of a pair that has most links, or of a GPU to its switch.
  [[nodiscard]] double expected_nvlink() const {
    int links = node_.nvlink == NodeSpec::Nvlink::mesh ? 0 : node_.nvlink_links_per_gpu;
    for (const NvlinkPair& pair : node_.nvlink_mesh) links = std::max(links, pair.links);
    return links * node_.nvlink_rate_per_link.value / 1e9;
  }

  void topology() {
    // "+ PCI[12.0] - GPU/0-17000": NCCL counts x16 of generation 4 as 24 GB/s, three quarters of the raw
    // rate.
    static const std::regex pci(R"(\+ PCI\[([0-9.]+)\] - GPU)");
    Match found;
    if (has(text_, "+ PCI[") && std::regex_search(text_.begin(), text_.end(), found, pci)) {
      constexpr double counted = 0.75, down = 0.6;
      const double expected = counted * node_.pcie_rate.value / 1e9;
      if (*leading_number(found[1].str()) < down * expected) add(Cause::slow_pcie, "PCI");
    }
    // "Pattern 4, ..., type NVL/PIX, ...": the farthest ways among GPUs, and from GPUs to cards.
    static const std::regex types(R"(type ([A-Z0-9]+)/([A-Z0-9]+))");
    if (has(text_, "Pattern ") && std::regex_search(text_.begin(), text_.end(), found, types)) {
      const std::string gpus = found[1].str(), cards = found[2].str();
      if (nvlink_ && fully_linked() && gpus != "NVL" && gpus != "NVB" && gpus != "LOC")
        add(Cause::no_nvlink, "pattern");
      if (rdma_ && cards == "SYS" && !node_.nic_gpu.empty()) add(Cause::wrong_numa_node, "pattern");
    }
  }

  [[nodiscard]] bool fully_linked() const {
    return node_.nvlink == NodeSpec::Nvlink::fabric_switch || cluster_.gpus_per_node <= 2;
  }

  /// <pci ... class="0x030200" ... link_speed="16.0 GT/s PCIe" link_width="8">: a GPU; class 0x02...: a card,
  /// which must carry its line rate.
  void topology_file() {
    static const std::regex link(
        R"_(class="0x0([23])[^>]*link_speed="([0-9.]+) GT/s[^"]*" link_width="(\d+)")_");
    Match found;
    if (!std::regex_search(text_.begin(), text_.end(), found, link)) return;
    constexpr double encoding = 128.0 / 130, down = 0.6;
    const double rate =
        1e9 * *leading_number(found[2].str()) * *leading_number(found[3].str()) / 8 * encoding;
    const bool gpu = found[1].str() == "3";
    if (gpu && rate < down * node_.pcie_rate.value) add(Cause::slow_pcie, "GPU in a topology file");
    if (!gpu && rdma_ && rate < cluster_.fabric_spec.link_rate.value)
      add(Cause::slow_pcie, "card in a topology file");
  }

  const ClusterSection& cluster_;
  const NodeSpec& node_;
  bool across_, rdma_, nvlink_;
  std::string_view text_;
  unsigned number_{};
  std::vector<Evidence> found_;
  std::set<std::string> kinds_;
  int channels_{}, direct_channels_{}, cards_listed_{};
  bool reads_{};
  std::set<int> cards_used_;
  unsigned channel_line_{}, listed_line_{};
  std::string channel_text_, listed_text_;
};

}  // namespace

Testimony find_evidence(std::string_view log, const Scenario& scenario) {
  EvidenceReader reader(scenario);
  unsigned number = 0;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    reader.line(log.substr(0, end), ++number);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
  }
  return reader.finish();
}

}  // namespace stepcast
