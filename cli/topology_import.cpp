#include <iostream>
#include <iterator>

#include "base/document.hpp"
#include "cli/files.hpp"
#include "cli/options.hpp"
#include "cli/topology.hpp"
#include "sim/cost/profile.hpp"
#include "topology/import/import.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--out", "FILE.toml", "the file to write; stdout by default", false},
    {"--set", "key=value", "a figure that the file does not hold, or another one; may be repeated", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast topology import FILE|- [--out FILE.toml] [--set key=value]...\n"
         "\n"
         "Reads what other tools print and writes a node or fabric file for scenarios. The format is told by "
         "the\n"
         "content: nvidia-smi topo -m, NCCL topology XML (NCCL_TOPO_DUMP_FILE), ibnetdiscover, Slurm "
         "topology.conf.\n"
         "What the file can't tell is asked for: exit code 2 and the keys to add with --set; nothing is "
         "guessed.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  nvidia-smi topo -m > topo.txt; stepcast topology import topo.txt --out node.toml\n"
         "  stepcast topology import topo.txt --out node.toml --set gpu=h100-sxm --set nic.rate=\"400 Gb/s\" "
         "\\\n"
         "      --set host.cpu=intel --set host.memory_rate=\"307.2 GB/s\" --set host.socket_rate=\"128 "
         "GB/s\"\n"
         "\n"
         "docs/import.md lists formats and keys.\n";
}

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t'\"[](){}*?$&;|<>\\#~`") == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<ImportSetting> settings_of(const std::string& command, const std::vector<std::string>& texts) {
  std::vector<ImportSetting> settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error(command + ": --set needs key=value, not \"" + text + "\"",
                        "for example --set nic.rate=\"400 Gb/s\"");
    settings.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return settings;
}

/// Every figure that is missing, and the command that gives them all.
[[noreturn]] void ask(const std::string& command, const std::string& file,
                      const std::optional<std::string>& out, const std::vector<std::string>& settings,
                      const TopologyImport& import) {
  std::vector<Diagnostic> faults;
  std::string whole = "stepcast " + command + " " + quoted(file);
  if (out) whole += " --out " + quoted(*out);
  for (const std::string& setting : settings) whole += " --set " + quoted(setting);
  const SourcePlace place{file, 0, 0, 1, ""};
  for (const Question& question : import.questions) {
    const std::string setting = "--set " + quoted(question.key + "=" + question.example);
    faults.push_back({place, question.key + " is missing: " + question.why, "for example " + setting});
    whole += " " + setting;
  }
  faults.push_back({place, import.format + " does not hold all that a " + import.kind + " file needs",
                    "add what is missing, with your own figures in place of these examples:\n    " + whole});
  throw ScenarioError(std::move(faults));
}

}  // namespace

ExitCode import_topology_file(const std::string& command, const std::string& file,
                              const std::optional<std::string>& out,
                              const std::vector<std::string>& settings) {
  const std::vector<ImportSetting> given = settings_of(command, settings);
  if (out) require_writable(*out, "--out");
  const std::string text =
      file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(file);
  const TopologyImport import =
      import_topology(text, file == "-" ? "stdin" : file, given, gpu_profile_names());
  std::cerr << import.format << ": " << import.summary << "\n";
  for (const std::string& note : import.notes) std::cerr << "note: " << note << "\n";
  if (!import.questions.empty()) ask(command, file, out, settings, import);
  if (out) {
    write_atomically(*out, import.toml);
  } else {
    std::cout << import.toml;
  }
  return ExitCode::done;
}

ExitCode topology_import(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "topology import");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  if (options.positionals.size() != 1)
    throw usage_error(
        options.positionals.empty() ? "topology import: which file?" : "topology import: one file at a time",
        "stepcast topology import FILE --out FILE.toml");
  return import_topology_file("topology import", options.positionals.front(), options.value("--out"),
                              options.values("--set"));
}

}  // namespace stepcast
