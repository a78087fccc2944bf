#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"
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

/// Faults for what a GPU's, a node's or a software's profile cannot do without, at `place`.
void require_complete(const GpuProfile& gpu, const SourcePlace& place, std::vector<Diagnostic>& faults);
void require_complete(const LinkProfile& links, const SourcePlace& place, std::vector<Diagnostic>& faults);
void require_complete(const SoftwareProfile& software, const SourcePlace& place,
                      std::vector<Diagnostic>& faults);

}  // namespace stepcast
