#include "topology/import/complete_node.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "topology/figure_reader.hpp"
#include "topology/import/known_hardware.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;

const std::vector<std::string> keys{
    "name",          "gpu",          "host.memory_rate",     "host.socket_rate",
    "nvlink.kind",   "nvlink.pairs", "nvlink.links_per_gpu", "nvlink.rate_per_link",
    "nvlink.sharp",  "pcie.rate",    "pcie.peer_to_peer",    "nic.rate",
    "nic.gpudirect", "host.cpu"};

class Completion {
 public:
  Completion(const NodeDraft& draft, const std::vector<ImportSetting>& given,
             const std::vector<std::string>& known_gpus)
      : draft_(draft), known_gpus_(known_gpus), settings_(given, keys, faults_) {
    done_.notes = draft.notes;
  }

  CompletedNode complete() {
    done_.node.name =
        settings_.text("name").value_or(std::filesystem::path(draft_.file.file).stem().string());
    done_.node.gpus = draft_.gpus;
    find_gpu();
    add_nvlinks();
    fill_wires();
    fill_cards();
    fill_switches();
    fill_memory();
    fill_cpu();
    throw_faults(std::move(faults_));
    write_sources();
    return std::move(done_);
  }

 private:
  void ask(const std::string& key, const std::string& why, const std::string& example) {
    for (const Question& question : done_.questions)
      if (question.key == key) return;
    done_.questions.push_back({key, why, example});
  }

  void find_gpu() {
    if (const auto given = settings_.choice("gpu", known_gpus_)) {
      done_.node.gpu = *given;
      gpu_source_ = given_source;
    } else if (draft_.gpu) {
      done_.node.gpu = draft_.gpu->value;
      gpu_source_ = draft_.gpu->source;
    } else if (settings_.find("gpu") == nullptr) {
      ask("gpu",
          "the file does not name the GPU; its profile also gives NVLink's and PCIe's rates, where they are "
          "known",
          example_gpu());
    }
    known_ = known_gpu(done_.node.gpu);
    // Before the GPU is named, only what no shipped profile answers is asked for.
    const KnownGpu* like = known_ != nullptr ? known_ : known_gpu(example_gpu());
    const std::string node = like == nullptr || like->node.empty() ? "hgx-h100" : like->node;
    example_node_ = load_node(node, {});
  }

  /// A profile whose shipped node looks most like this one.
  [[nodiscard]] std::string example_gpu() const {
    if (!draft_.gpu_hint.empty()) return draft_.gpu_hint;
    std::map<int, int> used;
    for (const DraftWire& wire : draft_.wires) {
      for (const WireEnd& end : {wire.first, wire.second})
        if (wire.second.kind <= Kind::nvswitch && wire.first.kind <= Kind::nvswitch && end.kind == Kind::gpu)
          used[end.index] += wire.links;
    }
    std::optional<BytesPerSecond> slot;
    for (const DraftWire& wire : draft_.wires)
      if (wire.first.kind == Kind::gpu && wire.second.kind > Kind::nvswitch) slot = wire.rate;
    int links = draft_.equal_nvlinks;
    for (const auto& [gpu, count] : used) links = std::max(links, count);
    std::string best = "rtx-4090";
    double best_score = -1;
    for (const KnownGpu& known : known_gpus()) {
      const bool there =
          std::find(known_gpus_.begin(), known_gpus_.end(), known.profile) != known_gpus_.end();
      if (known.node.empty() || !there) continue;
      const int own = known.nvlink_links ? known.nvlink_links->value : 0;
      if (own < links || (links == 0 && own > 0 && !draft_.nvlink_unknown)) continue;
      double score = draft_.nvlink_unknown ? 0 : 1.0 / (1 + own - links);
      if (load_node(known.node, {}).gpus == draft_.gpus) score += 0.1;
      if (slot && known.pcie_rate && std::fabs(known.pcie_rate->value / *slot - 1) < 0.05) score += 0.5;
      if (score <= best_score) continue;
      best_score = score;
      best = known.profile;
    }
    return best;
  }

  void add_wire(WireEnd a, WireEnd b, int links, const std::string& source) {
    wires_.push_back({a, b, {}, links, source});
  }

  void add_nvlinks() {
    wires_ = draft_.wires;
    std::string kind = settings_.choice("nvlink.kind", {"none", "mesh", "switch"}).value_or("");
    if (const ImportSetting* pairs = settings_.find("nvlink.pairs")) {
      clear_nvlinks();
      read_pairs(*pairs);
      return;
    }
    if (draft_.nvlink_unknown && kind.empty() && draft_.gpus > 1) {
      if (known_ != nullptr && !known_->nvlink_links) return;  // this GPU has none
      ask("nvlink.kind",
          "the file says nothing of NVLink (no <gpu> in it): none, switch, or, for cables between pairs, "
          "nvlink.pairs=[[0, 1, LINKS], ...] instead",
          example_node_.nvlink == NodeSpec::Nvlink::none ? "none" : "switch");
      return;
    }
    if (kind == "none") {
      clear_nvlinks();
      return;
    }
    if (kind == "mesh" && draft_.nvlink_unknown) {
      settings_.fault("nvlink.kind", "a mesh needs nvlink.pairs",
                      "for example --set nvlink.pairs='[[0, 1, 2]]'");
      return;
    }
    const bool switched = kind == "switch" && (draft_.nvlink_unknown || draft_.equal_nvlinks == 0);
    if (switched) {
      clear_nvlinks();
      join_to_switch(settings_.count("nvlink.links_per_gpu"));
      return;
    }
    if (draft_.equal_nvlinks > 0) choose_kind(kind);
  }

  void clear_nvlinks() {
    std::erase_if(wires_, [](const DraftWire& wire) {
      return wire.first.kind <= Kind::nvswitch && wire.second.kind <= Kind::nvswitch;
    });
  }

  void read_pairs(const ImportSetting& given) {
    const Value list = parse_toml_value_or_text(given.text, "--set nvlink.pairs");
    bool sound = list.kind == Value::Kind::array && !list.array.empty();
    if (sound) {
      for (const Value& pair : list.array) {
        sound = sound && pair.kind == Value::Kind::array && pair.array.size() == 3;
        for (const Value& number : pair.array)
          sound = sound && number.kind == Value::Kind::integer && number.integer >= 0;
        if (!sound || pair.array[0].integer >= draft_.gpus || pair.array[1].integer >= draft_.gpus ||
            pair.array[2].integer < 1 || pair.array[2].integer > 1024) {
          sound = false;
          break;
        }
        add_wire({Kind::gpu, static_cast<int>(pair.array[0].integer)},
                 {Kind::gpu, static_cast<int>(pair.array[1].integer)},
                 static_cast<int>(pair.array[2].integer), given_source);
      }
    }
    if (!sound)
      settings_.fault("nvlink.pairs", given.text + " is no list of [GPU, GPU, links]",
                      "for example [[0, 1, 2], [1, 2, 1]], GPUs 0 to " + std::to_string(draft_.gpus - 1));
  }

  void join_to_switch(std::optional<int> links) {
    std::string source = given_source;
    if (!links && known_ != nullptr && known_->nvlink_links) {
      links = known_->nvlink_links->value;
      source = known_->nvlink_links->source;
    }
    if (!links) {
      if (!done_.node.gpu.empty())
        ask("nvlink.links_per_gpu", "the NVLinks of one GPU",
            std::to_string(example_node_.nvlink_links_per_gpu));
      return;
    }
    for (int gpu = 0; gpu < draft_.gpus; ++gpu)
      add_wire({Kind::gpu, gpu}, {Kind::nvswitch, 0}, *links, source);
  }

  /// Every GPU has c links to each of the n - 1 others: cables when it has so many, else a switch.
  void choose_kind(const std::string& kind) {
    const int links = draft_.equal_nvlinks, needed = links * (draft_.gpus - 1);
    const std::string entry = "NV" + std::to_string(links);
    const bool known = known_ != nullptr && known_->nvlink_links;
    const int most = known ? known_->nvlink_links->value : most_nvlinks_known();
    if (kind.empty() && !known && needed <= most && !done_.node.gpu.empty()) {
      ask("nvlink.kind",
          entry + " between all GPUs may be cables between pairs (mesh) or a switch; how many NVLinks a " +
              done_.node.gpu + " has is not known here",
          "mesh");
      return;
    }
    const bool mesh = kind.empty() ? needed <= most : kind == "mesh";
    if (!mesh) {
      for (int gpu = 0; gpu < draft_.gpus; ++gpu)
        add_wire({Kind::gpu, gpu}, {Kind::nvswitch, 0}, links, entry + " to all others");
    } else {
      for (int a = 0; a < draft_.gpus; ++a)
        for (int b = a + 1; b < draft_.gpus; ++b) add_wire({Kind::gpu, a}, {Kind::gpu, b}, links, entry);
    }
    if (!kind.empty()) return;
    done_.notes.push_back(
        entry + " between all " + std::to_string(draft_.gpus) + " GPUs: " +
        (mesh ? "cables between pairs, for which a GPU needs " : "an NVSwitch, since cables would take ") +
        std::to_string(needed) + " links of a GPU" +
        (known ? " (a " + known_->profile + " has " + std::to_string(most) + ")" : ""));
  }

  void fill_wires() {
    const auto given_bus = settings_.rate("pcie.rate"), given_link = settings_.rate("nvlink.rate_per_link"),
               given_socket = settings_.rate("host.socket_rate");
    for (DraftWire& draft : wires_) {
      NodeWire wire{draft.first, draft.second, draft.rate.value_or(BytesPerSecond{}), draft.links};
      if (wire.is_nvlink()) {
        fill_nvlink(wire, given_link);
      } else if (wire.is_between_sockets()) {
        if (given_socket) wire.rate = *given_socket;
        if (!(wire.rate.value > 0))
          ask("host.socket_rate", "what joins the sockets (NUMA nodes), per direction",
              exact_rate(example_socket_rate()));
      } else {
        fill_bus(wire, given_bus);
      }
      done_.node.wires.push_back(wire);
      comments_.push_back(draft.source);
    }
    if (given_bus) sources_.insert("PCIe: " + std::string(given_source));
    if (given_socket) sources_.insert("between sockets: " + std::string(given_source));
    if (given_link) sources_.insert("NVLink, rate per link: " + std::string(given_source));
  }

  /// Both were asked for; a node that has one socket shows none.
  [[nodiscard]] BytesPerSecond example_socket_rate() const {
    return example_node_.socket_rate.value > 0 ? example_node_.socket_rate
                                               : load_node("hgx-h100", {}).socket_rate;
  }

  void fill_nvlink(NodeWire& wire, const std::optional<BytesPerSecond>& given) {
    done_.node.nvlink = NodeSpec::Nvlink::mesh;
    if (given) {
      wire.rate = wire.links * *given;
    } else if (known_ != nullptr && known_->nvlink_rate_per_link) {
      wire.rate = wire.links * known_->nvlink_rate_per_link->value;
      sources_.insert("NVLink, " + exact_rate(known_->nvlink_rate_per_link->value) +
                      " per link: " + known_->nvlink_rate_per_link->source);
    } else if (!done_.node.gpu.empty()) {
      ask("nvlink.rate_per_link", "the rate of one NVLink of a " + done_.node.gpu + ", per direction",
          "25 GB/s");
    }
  }

  void fill_bus(NodeWire& wire, const std::optional<BytesPerSecond>& given) {
    const bool card = wire.first.kind == Kind::nic;
    const NodeDraft::Nic* nic = card ? &draft_.nics[static_cast<std::size_t>(wire.first.index)] : nullptr;
    if (nic != nullptr && nic->slot_by_rate) {
      if (nic->rate) wire.rate = *nic->rate;
      if (!nic->rate) ask("nic.rate", "the line rate of one network card", "100 Gb/s");
      if (const auto rate = nic->rate ? nic->rate : settings_.rate("nic.rate")) wire.rate = *rate;
      sources_.insert("a card without PCIe device: its line rate, so that its slot limits nothing");
      return;
    }
    if (given) wire.rate = *given;
    if (wire.rate.value > 0) {
      sources_.insert("PCIe: " + draft_.format);
      return;
    }
    if (known_ != nullptr && known_->pcie_rate) {
      wire.rate = known_->pcie_rate->value;
      sources_.insert("PCIe: " + known_->pcie_rate->source);
    } else if (!done_.node.gpu.empty()) {
      ask("pcie.rate",
          "the rate of one PCIe slot, per direction: 15.75 GB/s with PCIe 3 x16, 31.5 with 4, 63 with 5",
          exact_rate(example_node_.pcie_rate));
    }
  }

  void fill_cards() {
    if (draft_.nics.empty()) return;
    const auto given = settings_.rate("nic.rate");
    done_.sources.nic_rates = given ? given_source : draft_.nic_rate_source;
    for (const NodeDraft::Nic& nic : draft_.nics) {
      const auto rate = given ? given : nic.rate;
      if (!rate) ask("nic.rate", "the line rate of one network card (" + nic.name + ")", "400 Gb/s");
      done_.node.nic_rates.push_back(rate.value_or(BytesPerSecond{}));
    }
    done_.node.nics_default = static_cast<int>(draft_.nics.size());
  }

  void fill_switch(bool& into, std::string& source, const char* key,
                   const std::optional<Sourced<bool>>& of_draft, const std::optional<Sourced<bool>>& of_gpu,
                   const std::string& why) {
    if (const auto given = settings_.boolean(key)) {
      into = *given;
      source = given_source;
    } else if (of_draft) {
      into = of_draft->value;
      source = of_draft->source;
    } else if (of_gpu) {
      into = of_gpu->value;
      source = of_gpu->source;
    } else if (!done_.node.gpu.empty()) {
      ask(key, why, "true");
    }
  }

  void fill_switches() {
    const auto of_gpu = [&](auto member) { return known_ == nullptr ? std::nullopt : known_->*member; };
    fill_switch(done_.node.pcie_peer_to_peer, done_.sources.peer_to_peer, "pcie.peer_to_peer", {},
                of_gpu(&KnownGpu::peer_to_peer), "whether GPUs read each other over PCIe (true or false)");
    if (draft_.nics.empty()) {
      done_.sources.gpudirect = "no network card";
    } else {
      fill_switch(done_.node.gpudirect, done_.sources.gpudirect, "nic.gpudirect", draft_.gpudirect,
                  of_gpu(&KnownGpu::gpudirect), "whether the cards read GPU memory (true or false)");
    }
    const bool switched = std::any_of(wires_.begin(), wires_.end(), [](const DraftWire& wire) {
      return wire.second.kind == Kind::nvswitch;
    });
    if (!switched) return;
    done_.node.nvlink = NodeSpec::Nvlink::fabric_switch;
    const std::optional<Sourced<bool>> none = Sourced<bool>{false, ""};
    const auto sharp = of_gpu(&KnownGpu::sharp);
    fill_switch(done_.node.nvlink_sharp, done_.sources.sharp, "nvlink.sharp", {}, sharp ? sharp : none, "");
  }

  void fill_memory() {
    if (const auto given = settings_.rate("host.memory_rate")) {
      done_.node.host_memory_rate = *given;
      done_.sources.memory_rate = given_source;
    } else if (settings_.find("host.memory_rate") == nullptr) {
      ask("host.memory_rate", "the memory of one socket (channels x their rate)",
          exact_rate(example_node_.host_memory_rate));
    }
  }

  void fill_cpu() {
    if (const auto given = settings_.choice("host.cpu", {"intel", "amd", "arm", "power"})) {
      done_.node.cpu = *given;
      done_.sources.cpu = given_source;
    } else if (draft_.cpu) {
      done_.node.cpu = draft_.cpu->value;
      done_.sources.cpu = draft_.cpu->source;
    } else if (settings_.find("host.cpu") == nullptr) {
      ask("host.cpu", "the kind of CPU, which NCCL distinguishes: intel, amd, arm or power",
          example_node_.cpu);
    }
  }

  void write_sources() {
    std::string links = draft_.format + " of " + std::filesystem::path(draft_.file.file).filename().string();
    for (const std::string& source : sources_) links += "; " + source;
    done_.sources.links = links;
    done_.sources.wire_comments = comments_;
    std::vector<std::string>& header = done_.sources.header;
    header.push_back("Imported by stepcast from " + draft_.format + ", file " +
                     std::filesystem::path(draft_.file.file).filename().string() + ".");
    header.push_back("gpu: " + gpu_source_ + ".");
    for (std::size_t i = 0; i < draft_.hosts.size(); ++i)
      header.push_back("host" + std::to_string(i) + ": " + draft_.hosts[i] + ".");
    for (std::size_t i = 0; i < draft_.nics.size(); ++i)
      if (!draft_.nics[i].name.empty())
        header.push_back("nic" + std::to_string(i) + ": " + draft_.nics[i].name + ".");
    for (const std::string& note : done_.notes) header.push_back("Note: " + note + ".");
  }

  const NodeDraft& draft_;
  const std::vector<std::string>& known_gpus_;
  std::vector<Diagnostic> faults_;
  Settings settings_;
  CompletedNode done_;
  std::vector<DraftWire> wires_;
  std::vector<std::string> comments_;
  std::set<std::string> sources_;
  const KnownGpu* known_{};
  NodeSpec example_node_;
  std::string gpu_source_;
};

}  // namespace

CompletedNode complete_node(const NodeDraft& draft, const std::vector<ImportSetting>& settings,
                            const std::vector<std::string>& known_gpus) {
  return Completion(draft, settings, known_gpus).complete();
}

}  // namespace stepcast
