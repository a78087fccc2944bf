#include "sim/cost/profile.hpp"

#include <algorithm>
#include <span>

#include "base/document.hpp"
#include "base/embedded.hpp"
#include "base/table_reader.hpp"
#include "sim/cost/profile_reader.hpp"

namespace stepcast {

std::span<const EmbeddedFile> gpu_profile_files();
std::span<const EmbeddedFile> link_profile_files();
std::span<const EmbeddedFile> software_profile_files();

namespace {

constexpr std::string_view generic_links = "default";

const EmbeddedFile* find_file(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

/// Lays the shipped file `name` over `into`, after the file that it extends. False when there is none.
template <class Section, class Read>
bool lay_shipped(std::span<const EmbeddedFile> files, std::string_view name, std::string_view section,
                 std::string_view name_key, Section& into, Read read) {
  const EmbeddedFile* const file = find_file(files, name);
  if (file == nullptr) return false;
  const Value document = parse_toml(file->text, "shipped profile " + std::string(name));
  const Value* const table = document.find(section);
  STEPCAST_CHECK(table != nullptr, "shipped profile " + std::string(name) + " has no such section");
  const Value* const own_name = table->find(name_key);
  STEPCAST_CHECK(own_name != nullptr && own_name->string == name,
                 "shipped profile " + std::string(name) + " bears another name");
  if (const Value* const base = table->find("extends")) {
    STEPCAST_CHECK(lay_shipped(files, base->string, section, name_key, into, read),
                   "shipped profile " + std::string(name) + " extends an unknown one");
  }
  std::vector<Diagnostic> faults;
  read(*table, ProfileKind::shipped, into, faults);
  STEPCAST_CHECK(faults.empty(), render(faults.front()));
  return true;
}

/// The name that a section bears; a fault and nothing when it has none.
std::optional<std::string> section_name(const Value& table, const std::string& section, std::string_view key,
                                        std::vector<Diagnostic>& faults) {
  const Value* const name = table.find(key);
  if (name != nullptr && name->kind == Value::Kind::string) return name->string;
  faults.push_back({name != nullptr ? name->place : table.place,
                    "[" + section + "] needs " + std::string(key) + " = \"...\"",
                    "the section applies only where the scenario's hardware bears that name"});
  return {};
}

struct UserFile {
  std::string name;
  Value document;
};

/// Reads `[section]` of every user file in order: over `into` where the name fits, else over a copy, so that
/// its faults are still found, with a note.
template <class Section, class Read>
void lay_user_files(const std::vector<UserFile>& files, const std::string& section, std::string_view key,
                    const std::string& wanted, bool& known, Section& into, Read read,
                    std::vector<std::string>& notes, std::vector<Diagnostic>& faults) {
  for (const UserFile& file : files) {
    const Value* const table = file.document.find(section);
    if (table == nullptr || table->kind != Value::Kind::table)
      continue;  // a wrong kind is reported with the keys
    const auto name = section_name(*table, section, key, faults);
    if (name && *name == wanted) {
      read(*table, into, faults);
      known = true;
    } else {
      Section unused = into;
      read(*table, unused, faults);
      if (name) {
        notes.push_back(file.name + ": [" + section + "] of \"" + *name +
                        "\" was not used, this scenario has \"" + wanted + "\"");
      }
    }
  }
}

void check_top_level(const UserFile& file, std::vector<Diagnostic>& faults) {
  TableReader top(file.document, "", faults);
  for (const char* section : {"gpu", "links", "software", "host"}) (void)top.table(section);
  for (const char* section : {"collective", "gemm", "kernel", "attention"}) (void)top.tables(section);
  if (const Value* const fits = top.tables("fit")) check_fit_sections(*fits, faults);
  (void)top.string("description");
  (void)top.choice("schema", {"stepcast.profile/1"});
  top.finish();
}

}  // namespace

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::measured:
      return "measured";
    case Origin::published:
      return "published";
    case Origin::datasheet:
      return "datasheet";
    case Origin::extrapolated:
      return "extrapolated";
  }
  return "extrapolated";
}

Dtype effective_dtype(const GpuProfile& gpu, Dtype type) {
  if (gpu.peak.contains(type)) return type;
  if (type == Dtype::fp8) return effective_dtype(gpu, Dtype::bf16);
  return Dtype::fp32;
}

std::vector<std::string> gpu_profile_names() { return names_of(gpu_profile_files()); }

std::vector<std::string> software_profile_names() { return names_of(software_profile_files()); }

Profile load_profile(const std::string& gpu, const std::string& node, const std::string& software,
                     const std::vector<std::string>& files, const SourcePlace& place) {
  Profile profile;
  std::vector<Diagnostic> faults;

  std::vector<UserFile> user_files;
  for (const std::string& file : files) {
    try {
      user_files.push_back({file, parse_toml(read_file(file), file)});
      check_top_level(user_files.back(), faults);
    } catch (const ScenarioError& error) {  // a syntax fault in one file must not hide those of the next
      faults.insert(faults.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  bool gpu_known = lay_shipped(gpu_profile_files(), gpu, "gpu", "name", profile.gpu, read_gpu_section);
  bool links_known =
      lay_shipped(link_profile_files(), node, "links", "node", profile.links, read_link_section);
  if (!links_known) {
    lay_shipped(link_profile_files(), generic_links, "links", "node", profile.links, read_link_section);
    profile.notes.push_back("no link profile for node \"" + node + "\": generic efficiencies are used");
  }
  bool software_known = lay_shipped(software_profile_files(), software, "software", "name", profile.software,
                                    read_software_section);

  const auto user_gpu = [](const Value& table, GpuProfile& into, std::vector<Diagnostic>& found) {
    read_gpu_section(table, ProfileKind::user, into, found);
  };
  const auto user_links = [](const Value& table, LinkProfile& into, std::vector<Diagnostic>& found) {
    read_link_section(table, ProfileKind::user, into, found);
  };
  const auto user_software = [](const Value& table, SoftwareProfile& into, std::vector<Diagnostic>& found) {
    read_software_section(table, ProfileKind::user, into, found);
  };
  lay_user_files(user_files, "gpu", "name", gpu, gpu_known, profile.gpu, user_gpu, profile.notes, faults);
  bool host_known = false;
  lay_user_files(user_files, "host", "name", gpu, host_known, profile.gpu, read_host_section, profile.notes,
                 faults);
  lay_user_files(user_files, "links", "node", node, links_known, profile.links, user_links, profile.notes,
                 faults);
  lay_user_files(user_files, "software", "name", software, software_known, profile.software, user_software,
                 profile.notes, faults);
  for (const UserFile& file : user_files) {
    const Value* const collectives = file.document.find("collective");
    if (collectives != nullptr && collectives->kind == Value::Kind::array) {
      read_collective_sections(*collectives, profile.collectives, faults);
    }
  }
  MeasuredSections measured(gpu, software, profile.gpu.measured, profile.notes, faults);
  for (const UserFile& file : user_files) measured.read(file.document, file.name);

  if (!gpu_known) {
    faults.push_back({place, "no profile for the GPU \"" + gpu + "\"", suggest(gpu, gpu_profile_names())});
  } else if (faults.empty()) {
    require_complete(profile.gpu, place, faults);
  }
  if (!software_known) {
    faults.push_back({place, "no profile for the software \"" + software + "\"",
                      suggest(software, software_profile_names())});
  } else if (faults.empty()) {
    require_complete(profile.software, place, faults);
  }
  if (faults.empty()) require_complete(profile.links, place, faults);
  if (!faults.empty()) throw ScenarioError(std::move(faults));

  profile.gpu.name = gpu;
  profile.links.node = node;
  profile.software.name = software;
  profile.software.attention_kernel = "eager";  // needs nothing of the GPU but its products
  for (const std::string& kernel : profile.software.attention_kernels) {
    if (kernel == "eager" || profile.gpu.attention.contains(kernel)) {
      profile.software.attention_kernel = kernel;
      break;
    }
  }
  if (profile.gpu.compute_capability.value == 0) {
    // A host device runs its kernels itself: nothing is launched beside them, and what a call of a kernel
    // costs is in its time.
    const std::string source = "a host device runs its kernels itself";
    profile.software.host_per_kernel = {Seconds(0), source, "", 0};
    profile.software.host_per_collective = {Seconds(0), source, "", 0};
  }
  profile.kernel_jitter = profile.gpu.kernel_jitter.value;
  profile.collective_jitter = profile.links.collective_jitter.value;
  return profile;
}

}  // namespace stepcast
