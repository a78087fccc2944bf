#include "sim/collective/nccl_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace stepcast {
namespace {

constexpr std::array algorithm_names{std::pair{Algorithm::tree, std::string_view("Tree")},
                                     std::pair{Algorithm::ring, std::string_view("Ring")},
                                     std::pair{Algorithm::collnet_direct, std::string_view("CollNetDirect")},
                                     std::pair{Algorithm::collnet_chain, std::string_view("CollNetChain")},
                                     std::pair{Algorithm::nvls, std::string_view("NVLS")},
                                     std::pair{Algorithm::nvls_tree, std::string_view("NVLSTree")},
                                     std::pair{Algorithm::pat, std::string_view("PAT")}};

constexpr std::array protocol_names{std::pair{Protocol::ll, std::string_view("LL")},
                                    std::pair{Protocol::ll128, std::string_view("LL128")},
                                    std::pair{Protocol::simple, std::string_view("Simple")}};

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view word) {
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
  return word;
}

template <class Names>
auto parse_list(std::string_view list, const Names& names, std::string& unknown) {
  using Item = typename Names::value_type::first_type;
  std::vector<Item> named, result;
  list = trimmed(list);
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  while (true) {
    const auto comma = list.find(',');
    const std::string_view word = trimmed(list.substr(0, comma));
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return equal_in_any_case(name.second, word); });
    if (found != names.end())
      named.push_back(found->first);
    else if (unknown.empty())
      unknown = word.empty() ? "an empty name" : std::string(word);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  for (const auto& [item, name] : names)
    if ((std::find(named.begin(), named.end(), item) != named.end()) != others) result.push_back(item);
  return result;
}

template <class Names>
std::vector<std::string> spellings(const Names& names) {
  std::vector<std::string> result;
  for (const auto& [item, name] : names) result.emplace_back(name);
  return result;
}

}  // namespace

std::string_view name_of(NcclVersion version) {
  switch (version) {
    case NcclVersion::v2_18:
      return "2.18";
    case NcclVersion::v2_21:
      return "2.21";
    case NcclVersion::v2_27:
      return "2.27";
  }
  return "unknown";
}

std::optional<NcclVersion> nccl_version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return {};
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc{} || (second.ptr != end && *second.ptr != '.')) return {};
  if (major != 2 || minor < 18) return {};
  return minor < 21 ? NcclVersion::v2_18 : minor < 27 ? NcclVersion::v2_21 : NcclVersion::v2_27;
}

std::vector<Algorithm> nccl_algorithms(std::string_view list, std::string& unknown) {
  return parse_list(list, algorithm_names, unknown);
}

std::vector<Protocol> nccl_protocols(std::string_view list, std::string& unknown) {
  return parse_list(list, protocol_names, unknown);
}

std::vector<std::string> nccl_algorithm_names() { return spellings(algorithm_names); }
std::vector<std::string> nccl_protocol_names() { return spellings(protocol_names); }

}  // namespace stepcast
