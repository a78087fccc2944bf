#include <algorithm>
#include <iostream>

#include "cli/import_profile.hpp"
#include "cli/import_workload.hpp"
#include "cli/options.hpp"
#include "cli/topology.hpp"

namespace stepcast {
namespace {

const std::vector<OptionSpec> specs = {
    {"--as", "KIND", "profile, workload or topology; scenario is known, not built yet", false},
    {"--out", "FILE.toml", "the file to write; stdout by default", false},
    {"--scenario", "FILE", "profile: its [cluster] says what a log does not", false},
    {"--operation", "NAME", "profile: what a log measured that does not say it: all_reduce, ...", false},
    {"--ranks", "N", "profile: ranks of a log that does not say them", false},
    {"--nodes", "N", "profile: hosts of a log that does not say them", false},
    {"--node", "NAME", "profile: the node type, for calls inside one node: hgx-h100", false},
    {"--fabric", "NAME", "profile: the network between nodes: infiniband-400g", false},
    {"--link-rate", "RATE", "profile: rate of a card; that of the fabric by default", false},
    {"--in-place", "", "profile: take the in-place half of nccl-tests' tables", false},
    {"--gpu", "NAME", "profile: the GPU's profile, where a trace's name for it is none: a100-sxm-40g", false},
    {"--software", "NAME", "profile: what ran; pytorch-eager or -compiled by a trace's kernels", false},
    {"--json", "FILE|-", "profile: what traces hold, as JSON; \"-\": to stdout, and nothing else there",
     false},
    {"--samples", "N", "workload: samples of one micro-batch; the first extent of the first input by default",
     false},
    {"--set", "key=value", "topology: a figure that the file does not hold; may be repeated", false},
    {"--help", "", "this text", false},
};

std::string help() {
  return "usage: stepcast import FILE... --as profile [--out FILE.toml] [options]\n"
         "       stepcast import TRACE --as workload [--out FILE.toml] [--samples N]\n"
         "       stepcast import FILE --as topology [--out FILE.toml] [--set key=value]...\n"
         "\n"
         "profile: what other programs measured, as a profile for run --profile. Takes logs of nccl-tests "
         "and "
         "traces of\n"
         "PyTorch's profiler, several at once, gzip'd or not. A trace is also shown: kernels by class, idle "
         "times, "
         "collectives.\n"
         "workload: a trace of whole training steps, recorded with shapes, as measured layers for [model] "
         "workload.\n"
         "topology: the same as stepcast topology import FILE; its help lists formats and keys.\n"
         "\n"
         "options:\n" +
         list_options(specs) +
         "\n"
         "examples:\n"
         "  stepcast import all_reduce.log all_gather.log --as profile --scenario mine.toml --out "
         "mine-network.toml\n"
         "  stepcast import all_reduce.log --as profile --nodes 2 --fabric infiniband-400g --out net.toml\n"
         "  stepcast import rank0.json.gz rank1.json.gz --as profile --scenario mine.toml --out "
         "measured.toml\n"
         "  nvidia-smi topo -m > topo.txt; stepcast import topo.txt --as topology --out node.toml\n"
         "\n"
         "docs/import.md says what becomes what.\n";
}

}  // namespace

ExitCode import_command(const Arguments& arguments) {
  const ParsedOptions options = parse_options(arguments, specs, "import");
  if (options.has("--help")) {
    std::cout << help();
    return ExitCode::done;
  }
  const auto kind = options.value("--as");
  const std::vector<std::string> kinds{"profile", "topology", "workload", "scenario"};
  if (!kind) throw usage_error("import: as what?", "write --as profile, --as workload or --as topology");
  if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end())
    throw usage_error("import: unknown kind \"" + *kind + "\"", suggest(*kind, kinds));
  if (options.positionals.empty())
    throw usage_error("import: which file?", "stepcast import FILE --as " + *kind + " --out FILE.toml");
  if (*kind != "profile" && options.has("--json")) throw json_is_of_traces();
  if (*kind == "profile") return import_profile(options);
  if (*kind == "workload") return import_workload(options);
  if (*kind != "topology") throw usage_error("import: --as " + *kind + ": known, not built yet");
  if (options.positionals.size() != 1)
    throw usage_error("import: one topology at a time", "stepcast import FILE --as topology --out FILE.toml");
  return import_topology_file("import --as topology", options.positionals.front(), options.value("--out"),
                              options.values("--set"));
}

}  // namespace stepcast
