#include <algorithm>
#include <iostream>

#include "cli/options.hpp"
#include "cli/topology.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--as", "KIND", "topology; workload, profile and scenario are known, not built yet", false},
    {"--out", "FILE.toml", "the file to write; stdout by default", false},
    {"--set", "key=value", "a figure that the file does not hold; may be repeated", false},
    {"--help", "", "this text", false},
};

}  // namespace

ExitCode import_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "import");
  if (options.has("--help")) {
    std::cout << "usage: stepcast import FILE --as topology [--out FILE.toml] [--set key=value]...\n\n"
                 "The same as stepcast topology import FILE; its help lists formats and keys.\n\noptions:\n" +
                     list_options(specs);
    return ExitCode::done;
  }
  const auto kind = options.value("--as");
  const std::vector<std::string> kinds{"topology", "workload", "profile", "scenario"};
  if (!kind) throw usage_error("import: as what?", "write --as topology");
  if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end())
    throw usage_error("import: unknown kind \"" + *kind + "\"", suggest(*kind, kinds));
  if (*kind != "topology") throw usage_error("import: --as " + *kind + ": known, not built yet");
  if (options.positionals.size() != 1)
    throw usage_error(
        "import: " + std::string(options.positionals.empty() ? "which file?" : "one topology at a time"),
        "stepcast import FILE --as topology --out FILE.toml");
  return import_topology_file("import --as topology", options.positionals.front(), options.value("--out"),
                              options.values("--set"));
}

}  // namespace stepcast
