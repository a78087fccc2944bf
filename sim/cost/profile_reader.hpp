#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/table_reader.hpp"
#include "sim/cost/profile.hpp"

namespace stepcast {

/// What a section's origin is when it does not say: shipped files always say, a user's file holds
/// measurements.
enum class ProfileKind { shipped, user };

/// Each lays the figures of one section over `into`; what the section does not mention stays. Faults are
/// added to `faults`. Keys: docs/profile.md.
void read_gpu_section(const Value& table, ProfileKind kind, GpuProfile& into,
                      std::vector<Diagnostic>& faults);
/// The short form for host devices: GEMM and memory rates of one core, laid over its profile.
void read_host_section(const Value& table, GpuProfile& into, std::vector<Diagnostic>& faults);
void read_link_section(const Value& table, ProfileKind kind, LinkProfile& into,
                       std::vector<Diagnostic>& faults);
void read_software_section(const Value& table, ProfileKind kind, SoftwareProfile& into,
                           std::vector<Diagnostic>& faults);
/// The tables of [[collective]], in order.
void read_collective_sections(const Value& tables, std::vector<MeasuredCollective>& into,
                              std::vector<Diagnostic>& faults);

/// [["1 MiB", "17.4 ms"], ...] under `key`: sizes, ascending, and times above zero (or zero where allowed).
[[nodiscard]] std::vector<std::pair<Bytes, Seconds>> read_points(TableReader& table, const std::string& key,
                                                                 bool zero_allowed,
                                                                 std::vector<Diagnostic>& faults);

/// Reads [[gemm]], [[kernel]] and [[attention]] of one file after the other into what holds for one GPU and
/// software; what is of others is checked, too, and noted once.
class MeasuredSections {
 public:
  MeasuredSections(std::string gpu, std::string software, OperatorTimes& into,
                   std::vector<std::string>& notes, std::vector<Diagnostic>& faults)
      : gpu_(std::move(gpu)), software_(std::move(software)), into_(into), notes_(notes), faults_(faults) {}
  void read(const Value& document, const std::string& file);

 private:
  /// @param seen  the measurements of the section and file that were read before
  void read_table(const std::string& section, const Value& entry, const std::string& file,
                  std::set<std::string>& seen);

  std::string gpu_, software_;
  OperatorTimes& into_;
  std::vector<std::string>& notes_;
  std::vector<Diagnostic>& faults_;
  std::set<std::string> noted_;
};

/// The tables of [[fit]] are for people; only their form is checked.
void check_fit_sections(const Value& tables, std::vector<Diagnostic>& faults);

/// Faults for what a GPU's, a node's or a software's profile cannot do without, at `place`.
void require_complete(const GpuProfile& gpu, const SourcePlace& place, std::vector<Diagnostic>& faults);
void require_complete(const LinkProfile& links, const SourcePlace& place, std::vector<Diagnostic>& faults);
void require_complete(const SoftwareProfile& software, const SourcePlace& place,
                      std::vector<Diagnostic>& faults);

}  // namespace stepcast
