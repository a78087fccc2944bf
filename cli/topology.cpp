#include "cli/topology.hpp"

#include <iostream>

#include "cli/options.hpp"

namespace stepcast {
namespace {

std::string help() {
  return "usage: stepcast topology show FILE|PRESET|SCENARIO [--svg FILE] [--dot FILE] [--json FILE|-]\n"
         "       stepcast topology import FILE|- [--out FILE.toml] [--set key=value]...\n"
         "       stepcast topology export FILE|PRESET|SCENARIO --format toml|nccl-xml [--out FILE]\n"
         "\n"
         "  show     a machine, or the network of a scenario, as text or as a drawing\n"
         "  import   a node or fabric file out of what other tools print\n"
         "  export   a machine as a node file with every wire, or as NCCL topology XML\n"
         "\n"
         "stepcast topology PART --help says more.\n";
}

}  // namespace

ExitCode topology_command(const Arguments& arguments) {
  const std::string part = arguments.empty() ? "" : arguments.front();
  if (part == "--help" || part == "-h") {
    std::cout << help();
    return ExitCode::done;
  }
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (part == "show") return topology_show(rest);
  if (part == "export") return topology_export(rest);
  if (part == "import") return topology_import(rest);
  if (part.empty()) throw usage_error("topology: show, import or export?", "stepcast topology --help");
  throw usage_error("topology: unknown part \"" + part + "\"", suggest(part, {"show", "import", "export"}));
}

}  // namespace stepcast
