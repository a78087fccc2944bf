#include "calibrate/measure/link_names.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/socket.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "topology/node.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (!bytes || !inet_ntop(address->sa_family, bytes, text.data(), text.size())) return "";
  return text.data();
}

std::string gigabits(double value) { return std::to_string(std::lround(value)) + "g"; }

}  // namespace

std::string fabric_of_interface(const std::string& address, const fs::path& system) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string name;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (one->ifa_addr && text_of(one->ifa_addr) == address) name = one->ifa_name;
  }
  ::freeifaddrs(all);
  return name.empty() ? "" : fabric_of_interface_name(name, system);
}

std::string fabric_of_interface_name(const std::string& name, const fs::path& system) {
  const fs::path interface = system / "class" / "net" / name;
  std::error_code ignored;
  if (!fs::exists(interface / "device", ignored) && !fs::exists(interface / "bonding", ignored)) return "";
  const double megabits = std::atof(first_line(interface / "speed").c_str());
  return megabits >= 1000 ? "ethernet-" + gigabits(megabits / 1000) : "";
}

std::string fabric_of_rdma_cards(const fs::path& system) {
  std::map<std::string, int> ports_of;
  std::error_code fault;
  for (const auto& card : fs::directory_iterator(system / "class" / "infiniband", fault)) {
    for (const auto& port : fs::directory_iterator(card.path() / "ports", fault)) {
      if (first_line(port.path() / "state").find("ACTIVE") == std::string::npos) continue;
      const double rate = std::atof(first_line(port.path() / "rate").c_str());  // "400 Gb/sec (4X NDR)"
      if (rate < 1) continue;
      const bool ethernet = first_line(port.path() / "link_layer") == "Ethernet";
      ++ports_of[(ethernet ? "roce-" : "infiniband-") + gigabits(rate)];
    }
  }
  std::string best;
  for (const auto& [name, ports] : ports_of) {
    if (best.empty() || ports > ports_of[best]) best = name;
  }
  return best;
}

std::string node_preset_of(const std::string& gpu, int gpus_per_node) {
  std::string found;
  int least = 0;
  bool several = false;
  for (const std::string& name : node_preset_names()) {
    const NodeSpec node = load_node(name, {});
    if (node.gpu != gpu || node.gpus < gpus_per_node) continue;
    if (!found.empty() && node.gpus > least) continue;
    several = !found.empty() && node.gpus == least;
    found = name;
    least = node.gpus;
  }
  return several ? "" : found;
}

}  // namespace stepcast
