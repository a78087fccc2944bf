#include "calibrate/launch/host_list.hpp"

#include <stdexcept>

namespace stepcast {

std::string first_host(std::string_view list) {
  std::string host;
  std::size_t at = 0;
  while (at < list.size() && list[at] != ',') {
    if (list[at] != '[') {
      host += list[at++];
      continue;
    }
    const std::size_t close = list.find(']', at);
    if (close == std::string_view::npos) throw std::invalid_argument("a bracket isn't closed");
    const std::string_view ranges = list.substr(at + 1, close - at - 1);
    const std::string_view first = ranges.substr(0, ranges.find_first_of(",-"));
    if (first.empty()) throw std::invalid_argument("a bracket is empty");
    host += first;
    at = close + 1;
  }
  if (host.empty()) throw std::invalid_argument("no host in it");
  return host;
}

}  // namespace stepcast
