#include "topology/import/nccl_xml.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "topology/figure_reader.hpp"
#include "topology/import/known_hardware.hpp"

namespace stepcast {
namespace {

using Kind = WireEnd::Kind;
using Element = pugi::xml_node;

std::string text_of(const Element& element, const char* attribute) {
  return element.attribute(attribute).value();
}

/// "0x030200" and "0x0302" -> 0x0302; 0 when absent.
unsigned class_of(const std::string& text) {
  if (text.empty()) return 0;
  const unsigned long code = std::strtoul(text.c_str(), nullptr, 16);
  return static_cast<unsigned>(text.size() > 6 ? code >> 8U : code);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_virtual(const std::string& interface) {
  for (const char* prefix : {"docker", "br-", "veth", "virbr", "vnet", "tap", "tun", "cni", "flannel", "cali",
                             "vxlan", "dummy", "lo"}) {
    if (interface.starts_with(prefix)) return true;
  }
  return false;
}

struct Gpu {
  Element pci, gpu;
  std::string busid;
  WireEnd above;
  int dev{-1};
};

struct Card {
  Element pci;                ///< empty for a card without PCIe device
  std::vector<Element> nets;  ///< its ports; empty where the file has only the PCIe device
  std::string busid;
  WireEnd above;
};

class XmlReader {
 public:
  XmlReader(std::string_view xml, const std::string& file) : xml_(xml), text_(xml, file) {
    draft_.format = "NCCL topology XML";
    draft_.file = text_.whole();
  }

  NodeDraft read() {
    // Blanks before a declaration are an error of XML, but common in pastes.
    lead_ = std::min(xml_.find('<'), xml_.size());
    const pugi::xml_parse_result parsed = document_.load_buffer(xml_.data() + lead_, xml_.size() - lead_);
    if (!parsed) {
      fault(place(parsed.offset), std::string("this is no sound XML: ") + parsed.description(),
            "the file may be cut off: give all that NCCL_TOPO_DUMP_FILE wrote");
      throw_faults(std::move(faults_));
    }
    const Element system = document_.child("system");
    if (!system) {
      fault(place(document_.document_element()), "no <system> is here, the root of NCCL's topology", "");
      throw_faults(std::move(faults_));
    }
    if (const std::string version = text_of(system, "version"); version != "1" && !version.empty())
      draft_.notes.push_back("the file says version " + version + "; read as version 1");
    read_hosts(system);
    if (!classless_.empty()) say_classless();
    throw_faults(std::move(faults_));
    number_gpus();
    number_cards();
    read_nvlinks();
    if (gpus_.empty())
      fault(text_.whole(), "no GPU is in this file",
            "a <pci> with a <gpu> in it, or of class 0x0302, is one");
    throw_faults(std::move(faults_));
    say_slow_bridges();
    return std::move(draft_);
  }

 private:
  void fault(SourcePlace at, std::string message, std::string hint) {
    faults_.push_back({std::move(at), std::move(message), std::move(hint)});
  }

  [[nodiscard]] SourcePlace place(std::ptrdiff_t offset) const {
    const std::size_t at =
        std::min(lead_ + static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, offset)), xml_.size());
    const std::string_view before = xml_.substr(0, at);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t begin = before.rfind('\n');
    return text_.place(line, at - (begin == std::string_view::npos ? 0 : begin + 1));
  }
  [[nodiscard]] SourcePlace place(const Element& element) const { return place(element.offset_debug() - 1); }

  void join(WireEnd a, WireEnd b, std::optional<BytesPerSecond> rate, const std::string& source,
            int links = 1) {
    draft_.wires.push_back({a, b, rate, links, source});
  }

  void read_hosts(const Element& system) {
    std::vector<Element> cpus;
    std::set<std::string> machines;
    for (const Element& cpu : system.children()) {
      if (std::string_view(cpu.name()) == "cpu") {
        cpus.push_back(cpu);
        machines.insert(text_of(cpu, "host_hash"));
      } else if (cpu.type() == pugi::node_element) {
        unknown(cpu);
      }
    }
    if (machines.size() > 1)
      fault(place(cpus.back()),
            "the file holds " + std::to_string(machines.size()) + " machines (host_hash differs)",
            "give the file of one: the <cpu> elements with one host_hash");
    std::stable_sort(cpus.begin(), cpus.end(), [](const Element& a, const Element& b) {
      return a.attribute("numaid").as_int() < b.attribute("numaid").as_int();
    });
    for (const Element& cpu : cpus) {
      const WireEnd host{Kind::host, static_cast<int>(draft_.hosts.size())};
      const std::size_t before = gpus_.size() + cards_.size();
      read_children(cpu, host);
      if (gpus_.size() + cards_.size() == before) continue;  // nothing hangs there
      read_cpu(cpu);
      const std::string numa = text_of(cpu, "numaid");
      draft_.hosts.push_back(numa.empty() ? "a <cpu> without numaid" : "NUMA node " + numa);
    }
    const int hosts = static_cast<int>(draft_.hosts.size());
    for (int a = 0; a < hosts; ++a)
      for (int b = a + 1; b < hosts; ++b) join({Kind::host, a}, {Kind::host, b}, {}, "two NUMA nodes");
  }

  void read_cpu(const Element& cpu) {
    const std::string arch = text_of(cpu, "arch"), vendor = text_of(cpu, "vendor");
    const char* kind = arch == "arm64"            ? "arm"
                       : arch == "ppc64"          ? "power"
                       : vendor == "GenuineIntel" ? "intel"
                       : vendor == "AuthenticAMD" ? "amd"
                                                  : nullptr;
    if (kind != nullptr && !draft_.cpu)
      draft_.cpu = {kind, "NCCL topology XML: arch " + arch + (vendor.empty() ? "" : ", vendor " + vendor)};
  }

  void unknown(const Element& element) {
    if (unknown_.insert(element.name()).second)
      draft_.notes.push_back("line " + std::to_string(place(element).line) + ": <" + element.name() +
                             "> is not known and left out");
  }

  void read_children(const Element& parent, WireEnd above) {
    for (const Element& child : parent.children()) {
      if (child.type() != pugi::node_element) continue;
      const std::string_view name = child.name();
      if (name == "pci") {
        read_pci(child, above);
      } else if (name == "nic") {
        read_card_without_slot(child, above);
      } else {
        unknown(child);
      }
    }
  }

  void read_pci(const Element& pci, WireEnd above) {
    const unsigned kind = class_of(text_of(pci, "class"));
    const std::string vendor = lower(text_of(pci, "vendor")), busid = lower(text_of(pci, "busid"));
    if (const Element gpu = pci.child("gpu")) {
      add_gpu(pci, gpu, busid, above);
    } else if (pci.child("nic")) {
      Card card{pci, {}, busid, above};
      for (const Element& nic : pci.children("nic"))
        for (const Element& net : nic.children("net")) card.nets.push_back(net);
      if (!card.nets.empty()) cards_.push_back(std::move(card));
    } else if (pci.child("pci")) {
      read_bridge(pci, above);
    } else if (kind == 0x0302 || kind == 0x0300) {
      if (vendor.empty() || vendor == "0x10de") {
        add_gpu(pci, {}, busid, above);
      } else {
        draft_.notes.push_back("line " + std::to_string(place(pci).line) + ": the display adapter " + busid +
                               " is not NVIDIA's and left out");
      }
    } else if (kind >> 8U == 0x02) {
      cards_.push_back({pci, {}, busid, above});
    } else if (kind == 0 && text_of(pci, "class").empty()) {
      classless_.push_back(pci);
    } else if (kind != 0x0604 && kind != 0x0680) {
      draft_.notes.push_back("line " + std::to_string(place(pci).line) + ": " + busid + " of class " +
                             text_of(pci, "class") +
                             " is neither GPU, network card nor bridge, and left out");
    }
  }

  void read_bridge(const Element& pci, WireEnd above) {
    const WireEnd bridge{Kind::pcie, switches_};
    const std::size_t wires = draft_.wires.size(), before = gpus_.size() + cards_.size();
    ++switches_;
    bridge_lines_[bridge.index] = place(pci).line;
    const auto [rate, source] = rate_of(pci);
    join(bridge, above, rate, source);
    read_children(pci, bridge);
    if (gpus_.size() + cards_.size() > before) return;
    draft_.wires.resize(wires);  // nothing hangs there
    switches_ = bridge.index;
  }

  void add_gpu(const Element& pci, const Element& gpu, const std::string& busid, WireEnd above) {
    for (const Gpu& other : gpus_)
      if (other.busid == busid && !busid.empty())
        fault(place(pci), "the GPU " + busid + " stands there twice", "");
    gpus_.push_back({pci, gpu, busid, above, gpu ? gpu.attribute("dev").as_int(-1) : -1});
  }

  void read_card_without_slot(const Element& nic, WireEnd above) {
    std::vector<std::string> left_out;
    for (const Element& net : nic.children("net")) {
      const std::string name = text_of(net, "name");
      if (is_virtual(name)) {
        left_out.push_back(name);
      } else {
        cards_.push_back({{}, {net}, "", above});
      }
    }
    if (left_out.empty()) return;
    std::string text;
    for (const std::string& name : left_out) text += (text.empty() ? "" : ", ") + name;
    draft_.notes.push_back("interfaces that are no hardware are not counted as network cards: " + text);
  }

  /// Of the link from a device up to what it hangs on.
  std::pair<std::optional<BytesPerSecond>, std::string> rate_of(const Element& pci) {
    const std::string speed = text_of(pci, "link_speed");
    const int width = pci.attribute("link_width").as_int(0);
    const double gigatransfers = std::strtod(speed.c_str(), nullptr);
    if (!(gigatransfers > 0) || width < 1 || width > 32)
      return {{}, "no link_speed or link_width in the file"};
    const std::optional<BytesPerSecond> rate = pcie_rate(gigatransfers, width);
    if (!rate) return {{}, "link_speed \"" + speed + "\" is of no PCIe generation"};
    std::string number = speed.substr(0, speed.find_first_not_of("0123456789."));
    return {rate, "link_speed " + number + " GT/s, link_width " + std::to_string(width)};
  }

  void say_classless() {
    std::string lines;
    for (const Element& pci : classless_)
      lines += (lines.empty() ? "" : ", ") + std::to_string(place(pci).line);
    fault(
        place(classless_.front()),
        "these <pci> have no class, so that GPUs and network cards can't be told apart: lines " + lines,
        "add class=\"0x030200\" to GPUs and class=\"0x020000\" to network cards, or let NCCL write the file: "
        "NCCL_TOPO_DUMP_FILE");
  }

  void number_gpus() {
    const bool by_dev = std::all_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) { return gpu.dev >= 0; });
    const bool any_gpu =
        std::any_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) { return bool(gpu.gpu); });
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [&](const Gpu& a, const Gpu& b) { return by_dev ? a.dev < b.dev : a.busid < b.busid; });
    for (std::size_t i = 1; by_dev && i < gpus_.size(); ++i)
      if (gpus_[i].dev == gpus_[i - 1].dev)
        fault(place(gpus_[i].pci), "two GPUs have dev " + std::to_string(gpus_[i].dev), "");
    if (!by_dev && !gpus_.empty())
      draft_.notes.push_back(
          "the file gives no numbers of GPUs: they are numbered by their bus ids, as CUDA does");
    draft_.gpus = static_cast<int>(gpus_.size());
    draft_.nvlink_unknown = !any_gpu;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto [rate, source] = rate_of(gpus_[i].pci);
      join({Kind::gpu, static_cast<int>(i)}, gpus_[i].above, rate, source);
      ids.insert(lower(text_of(gpus_[i].pci, "device")));
    }
    ids.erase("");
    if (ids.size() > 1)
      draft_.notes.push_back("the GPUs are of several kinds; one profile stands for all of them");
    if (ids.size() != 1) return;
    if (const KnownGpu* known = known_gpu_by_device(*ids.begin())) {
      draft_.gpu = {known->profile, "NCCL topology XML: PCI device id " + *ids.begin()};
    } else if (const OtherGpu* other = other_gpu_by_device(*ids.begin())) {
      draft_.gpu_hint = other->like;
      draft_.notes.push_back("the GPU is " + other->name + " (PCI device id " + *ids.begin() +
                             "), which has no profile here; the nearest that has one is " + other->like);
    }
  }

  void number_cards() {
    const auto dev = [](const Card& card) {
      return card.nets.empty() ? -1 : card.nets.front().attribute("dev").as_int(-1);
    };
    const bool by_dev =
        std::all_of(cards_.begin(), cards_.end(), [&](const Card& card) { return dev(card) >= 0; });
    std::stable_sort(cards_.begin(), cards_.end(), [&](const Card& a, const Card& b) {
      return by_dev ? dev(a) < dev(b) : a.busid < b.busid;
    });
    int ports = 0, with_gdr = 0, direct = 0;
    for (const Card& card : cards_) {
      WireEnd above = card.above;
      std::pair<std::optional<BytesPerSecond>, std::string> slot;
      if (card.pci) slot = rate_of(card.pci);
      if (card.nets.size() > 1) {
        // The ports of one card share its slot.
        const WireEnd shared{Kind::pcie, switches_++};
        join(shared, above, slot.first,
             slot.second + " (a card with " + std::to_string(card.nets.size()) + " ports)");
        above = shared;
      }
      for (std::size_t port = 0; port < std::max<std::size_t>(1, card.nets.size()); ++port) {
        const Element net = card.nets.empty() ? Element() : card.nets[port];
        NodeDraft::Nic nic{net ? text_of(net, "name") : card.busid, {}, !card.pci};
        if (const double speed = net.attribute("speed").as_double(0); speed > 0)
          nic.rate = gigabits_per_second(speed / 1e3);
        if (net.attribute("gdr")) {
          ++with_gdr;
          if (net.attribute("gdr").as_int() > 0) ++direct;
        }
        draft_.nics.push_back(nic);
        join({Kind::nic, ports++}, above, slot.first, card.pci ? slot.second : "no PCIe device in the file");
      }
    }
    draft_.nic_rate_source = "NCCL topology XML: speed of <net>";
    if (with_gdr > 0) draft_.gpudirect = {direct == ports, "NCCL topology XML: gdr of <net>"};
  }

  void read_nvlinks() {
    std::map<std::string, int> by_bus;
    for (std::size_t i = 0; i < gpus_.size(); ++i) by_bus[gpus_[i].busid] = static_cast<int>(i);
    std::map<std::pair<int, int>, int> pairs;  // from, to
    for (int gpu = 0; gpu < static_cast<int>(gpus_.size()); ++gpu) {
      const Element element = gpus_[static_cast<std::size_t>(gpu)].gpu;
      int to_switch = 0, to_itself = 0;
      for (const Element& nvlink : element.children()) {
        if (nvlink.type() != pugi::node_element) continue;
        if (std::string_view(nvlink.name()) == "c2c") {
          read_c2c(nvlink, gpu);
          continue;
        }
        if (std::string_view(nvlink.name()) != "nvlink") {
          unknown(nvlink);
          continue;
        }
        const int count = nvlink.attribute("count").as_int(1);
        const std::string target = lower(text_of(nvlink, "target"));
        const auto peer = by_bus.find(target);
        if (count < 1 || count > 1024) {
          fault(place(nvlink), "count=\"" + text_of(nvlink, "count") + "\" is no number of NVLinks", "");
        } else if (class_of(text_of(nvlink, "tclass")) == 0x0680) {
          to_switch += count;
        } else if (peer == by_bus.end()) {
          draft_.notes.push_back("line " + std::to_string(place(nvlink).line) + ": the NVLink to " + target +
                                 " leads to no GPU or switch of this file, and is left out");
        } else if (peer->second == gpu) {
          to_itself += count;
        } else {
          pairs[{gpu, peer->second}] += count;
        }
      }
      if (to_switch > 0)
        join({Kind::gpu, gpu}, {Kind::nvswitch, 0}, {}, "NVLink count " + std::to_string(to_switch),
             to_switch);
      if (to_itself > 0)
        draft_.notes.push_back("line " + std::to_string(place(element).line) + ": " +
                               std::to_string(to_itself) + " NVLinks of gpu" + std::to_string(gpu) +
                               " lead to itself, and are left out");
    }
    for (const auto& [ends, count] : pairs) {
      const auto back = pairs.find({ends.second, ends.first});
      if (back != pairs.end() && back->second != count && ends.first < ends.second)
        fault(place(gpus_[static_cast<std::size_t>(ends.second)].gpu),
              "gpu" + std::to_string(ends.first) + " says " + std::to_string(count) + " NVLinks to gpu" +
                  std::to_string(ends.second) + ", but that one says " + std::to_string(back->second),
              "count must be alike at both ends");
      if (back == pairs.end() || ends.first < ends.second) {
        const auto [low, high] = std::minmax(ends.first, ends.second);
        join({Kind::gpu, low}, {Kind::gpu, high}, {}, "NVLink count " + std::to_string(count), count);
      }
    }
  }

  /// NVLink-C2C: the GPU's way to its host, beside or instead of PCIe.
  void read_c2c(const Element& c2c, int gpu) {
    const double megabytes = c2c.attribute("bw").as_double(0) * c2c.attribute("count").as_double(1);
    if (!(megabytes > 0)) return;
    WireEnd host = gpus_[static_cast<std::size_t>(gpu)].above;
    while (host.kind != Kind::host) {
      const auto up = std::find_if(draft_.wires.begin(), draft_.wires.end(),
                                   [&](const DraftWire& wire) { return wire.first == host; });
      host = up->second;
    }
    std::erase_if(draft_.wires, [&](const DraftWire& wire) {
      return wire.first == WireEnd{Kind::gpu, gpu} && wire.second == host;
    });
    join({Kind::gpu, gpu}, host, BytesPerSecond(megabytes * 1e6), "bw and count of <c2c>");
  }

  /// Idle links and switches that are seen from inside report less than they carry.
  void say_slow_bridges() {
    for (const DraftWire& wire : draft_.wires) {
      if (wire.first.kind != Kind::pcie || !wire.rate) continue;
      for (const DraftWire& below : draft_.wires) {
        if (below.second != wire.first || !below.rate || !(*below.rate > *wire.rate)) continue;
        const auto line = bridge_lines_.find(wire.first.index);
        if (line == bridge_lines_.end()) continue;
        draft_.notes.push_back(
            "line " + std::to_string(line->second) + ": this bridge reports " + wire.source +
            ", less than what hangs beneath it; taken as it stands (an idle link reports less "
            "than it carries: --set pcie.rate=... sets all PCIe links)");
        return;
      }
    }
  }

  std::string_view xml_;
  SourceText text_;
  std::size_t lead_{};
  pugi::xml_document document_;
  NodeDraft draft_;
  std::vector<Gpu> gpus_;
  std::vector<Card> cards_;
  std::vector<Element> classless_;
  std::map<int, unsigned> bridge_lines_;
  std::set<std::string> unknown_;
  int switches_{};
  std::vector<Diagnostic> faults_;
};

}  // namespace

NodeDraft read_nccl_xml(std::string_view xml, const std::string& file) { return XmlReader(xml, file).read(); }

}  // namespace stepcast
