#include "topology/import/smi_node.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace stepcast {
namespace {

/// Sets of devices that belong together.
class Groups {
 public:
  explicit Groups(int size) : parent_(static_cast<std::size_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  [[nodiscard]] int of(int device) const {
    while (parent_[static_cast<std::size_t>(device)] != device)
      device = parent_[static_cast<std::size_t>(device)];
    return device;
  }
  void join(int a, int b) {
    const int one = of(a), other = of(b);
    parent_[static_cast<std::size_t>(std::max(one, other))] = std::min(one, other);
  }
  [[nodiscard]] bool together(int a, int b) const { return of(a) == of(b); }

 private:
  std::vector<int> parent_;
};

class NodeBuilder {
 public:
  NodeBuilder(const SmiMatrix& matrix, const SourcePlace& file)
      : matrix_(matrix), machine_(matrix.size()), bridges_(matrix.size()), pix_(matrix.size()) {
    draft_.format = "nvidia-smi topo -m";
    draft_.file = file;
    draft_.gpus = matrix.gpus;
    draft_.notes = matrix.notes;
  }

  NodeDraft build() {
    for (int nic = matrix_.gpus; nic < matrix_.size(); ++nic) {
      const std::string& label = matrix_.labels[static_cast<std::size_t>(nic)];
      const auto named = matrix_.card_names.find(label);
      draft_.nics.push_back({named == matrix_.card_names.end() ? label : named->second, {}, false});
    }
    check_numbering();
    group();
    lay_hosts();
    lay_bus();
    lay_nvlink();
    return std::move(draft_);
  }

 private:
  using Kind = WireEnd::Kind;

  [[nodiscard]] Relation relation(int a, int b) const {
    const std::optional<MatrixCell>& cell = matrix_.at(a, b);
    return cell ? cell->relation : Relation::nvlink;  // not known, as where NVLink hides it
  }
  [[nodiscard]] WireEnd end(int device) const {
    return device < matrix_.gpus ? WireEnd{Kind::gpu, device} : WireEnd{Kind::nic, device - matrix_.gpus};
  }
  void join(WireEnd a, WireEnd b, const std::string& source) {
    draft_.wires.push_back({a, b, {}, 1, source});
  }

  void check_numbering() {
    for (int gpu = 0; gpu < matrix_.gpus; ++gpu) {
      if (matrix_.labels[static_cast<std::size_t>(gpu)] == "GPU" + std::to_string(gpu)) continue;
      draft_.notes.push_back("the GPUs of the table are renumbered from 0, in its order of numbers: " +
                             matrix_.labels[static_cast<std::size_t>(gpu)] + " is gpu" + std::to_string(gpu));
      return;
    }
  }

  /// Same NUMA affinity or, where there is none, same CPU affinity; a SYS between the two overrules it.
  [[nodiscard]] bool same_affinity(int a, int b) const {
    const auto at = [](const std::vector<std::string>& of, int device) {
      return of[static_cast<std::size_t>(device)];
    };
    const std::string numa[] = {at(matrix_.numa_affinity, a), at(matrix_.numa_affinity, b)};
    const std::string cpus[] = {at(matrix_.cpu_affinity, a), at(matrix_.cpu_affinity, b)};
    const auto stated = [](const std::string& text) { return !text.empty() && text != "N/A"; };
    if (stated(numa[0]) && stated(numa[1])) return numa[0] == numa[1];
    if (stated(cpus[0]) && stated(cpus[1])) return cpus[0] == cpus[1];
    return true;
  }

  void group() {
    std::size_t astray = 0;
    std::string example;
    for (int a = 0; a < matrix_.size(); ++a) {
      for (int b = a + 1; b < matrix_.size(); ++b) {
        const Relation joined = relation(a, b);
        if (joined == Relation::pix) pix_.join(a, b);
        if (joined == Relation::pix || joined == Relation::pxb) bridges_.join(a, b);
        if (joined >= Relation::pix && joined <= Relation::node) machine_.join(a, b);
        if (b < matrix_.gpus && joined == Relation::nvlink && same_affinity(a, b)) machine_.join(a, b);
      }
    }
    for (int a = 0; a < matrix_.size(); ++a) {
      for (int b = a + 1; b < matrix_.size(); ++b) {
        const Relation stated = relation(a, b);
        if (stated == Relation::nvlink) continue;
        const bool fits = stated == Relation::pix   ? pix_.together(a, b)
                          : stated == Relation::pxb ? !pix_.together(a, b)
                          : stated == Relation::sys ? !machine_.together(a, b)
                                                    : !bridges_.together(a, b);
        if (fits) continue;
        if (astray++ == 0)
          example = matrix_.labels[static_cast<std::size_t>(a)] + " - " +
                    matrix_.labels[static_cast<std::size_t>(b)] + " (" + matrix_.at(a, b)->text + ", line " +
                    std::to_string(matrix_.at(a, b)->place.line) + ")";
      }
    }
    if (astray > 0)
      draft_.notes.push_back(std::to_string(astray) + (astray == 1 ? " pair does" : " pairs do") +
                             " not fit into one tree of PCIe switches, first " + example +
                             ": the nearer relations of the table were followed");
  }

  void lay_hosts() {
    std::map<int, std::string> numa;  // of a group
    std::vector<int> groups;
    for (int device = 0; device < matrix_.size(); ++device) {
      const int group = machine_.of(device);
      if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
      const std::string& text = matrix_.numa_affinity[static_cast<std::size_t>(device)];
      if (numa[group].empty() && text != "N/A") numa[group] = text;
    }
    const auto rank = [&](int group) {
      return numa[group].empty() ? 1'000'000 : std::atoi(numa[group].c_str());
    };
    std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (std::size_t i = 0; i < groups.size(); ++i) {
      host_of_[groups[i]] = static_cast<int>(i);
      draft_.hosts.push_back(numa[groups[i]].empty() ? "a NUMA node without number in the table"
                                                     : "NUMA node " + numa[groups[i]]);
    }
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = a + 1; b < groups.size(); ++b)
        join({Kind::host, static_cast<int>(a)}, {Kind::host, static_cast<int>(b)}, "SYS");
  }

  void lay_bus() {
    std::map<int, std::vector<int>> members;  // of a group beneath PCIe switches
    for (int device = 0; device < matrix_.size(); ++device) members[bridges_.of(device)].push_back(device);
    int switches = 0;
    for (const auto& [group, devices] : members) {
      const WireEnd host{Kind::host, host_of_[machine_.of(devices.front())]};
      if (devices.size() == 1) {
        join(end(devices.front()), host, "PHB, NODE or alone");
        continue;
      }
      const bool one = std::all_of(devices.begin(), devices.end(),
                                   [&](int device) { return pix_.together(device, devices.front()); });
      const WireEnd root{Kind::pcie, switches++};
      join(root, host, one ? "PIX" : "PXB");
      std::map<int, WireEnd> leaves;
      for (const int device : devices) {
        WireEnd above = root;
        if (!one) {
          const auto [leaf, fresh] = leaves.try_emplace(pix_.of(device));
          if (fresh) {
            leaf->second = {Kind::pcie, switches++};
            join(leaf->second, root, "PXB");
          }
          above = leaf->second;
        }
        join(end(device), above, one ? "PIX" : "PXB");
      }
    }
  }

  void lay_nvlink() {
    std::vector<int> counts;
    for (int a = 0; a < matrix_.gpus; ++a) {
      for (int b = a + 1; b < matrix_.gpus; ++b) {
        const std::optional<MatrixCell>& cell = matrix_.at(a, b);
        counts.push_back(cell->nvlinks);
        if (cell->nvlinks > 0)
          draft_.wires.push_back({{Kind::gpu, a}, {Kind::gpu, b}, {}, cell->nvlinks, cell->text});
      }
    }
    const bool equal = !counts.empty() && counts.front() > 0 &&
                       std::all_of(counts.begin(), counts.end(), [&](int c) { return c == counts.front(); });
    if (!equal || matrix_.gpus < 3) return;
    draft_.equal_nvlinks = counts.front();
    std::erase_if(draft_.wires, [](const DraftWire& wire) { return wire.second.kind == Kind::gpu; });
  }

  const SmiMatrix& matrix_;
  NodeDraft draft_;
  Groups machine_, bridges_, pix_;
  std::map<int, int> host_of_;
};

}  // namespace

NodeDraft node_of(const SmiMatrix& matrix, const SourcePlace& file) {
  return NodeBuilder(matrix, file).build();
}

}  // namespace stepcast
