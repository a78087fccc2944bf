#include <gmock/gmock.h>

#include "program.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

class TopologyCommand : public CommandLine {
 protected:
  // Written for these tests: two GPUs with NVLink, one card.
  void SetUp() override {
    CommandLine::SetUp();
    write("topo.txt",
          "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
          "GPU0\t X \tNV12\tPIX\t0-31\t0\n"
          "GPU1\tNV12\t X \tPIX\t0-31\t0\n"
          "NIC0\tPIX\tPIX\t X \n");
  }
};

TEST_F(TopologyCommand, ImportAsksForWhatIsMissingAndTheCommandItShowsWorks) {
  const Outcome asked = stepcast("topology import topo.txt --out node.toml");
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_EQ(asked.out, "");
  for (const char* key : {"gpu", "nic.rate", "host.memory_rate", "host.cpu"})
    EXPECT_THAT(asked.err, HasSubstr("topo.txt: error: " + std::string(key) + " is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "node.toml"));
  const std::string begin = "    stepcast topology import";
  const std::size_t at = asked.err.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = asked.err.find('\n', at);
  const Outcome done = shell(program() + asked.err.substr(at + 12, end - at - 12));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("2 GPUs, NVLink between 1 pair"));
  write("scenario.toml", scenario().replace(scenario().find("dgx-a100-80g"), 12, "node.toml"));
  EXPECT_EQ(stepcast("run scenario.toml").exit_code, 0);
}

TEST_F(TopologyCommand, ImportReadsStdinAndWritesStdoutAndHasTwoNames) {
  const std::string settings =
      " --set gpu=a100-pcie-80g --set nic.rate='200 Gb/s' --set host.memory_rate='200 GB/s' --set "
      "host.cpu=amd --set name=x";
  const Outcome piped = shell("cat topo.txt | " + program() + " topology import -" + settings);
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("[graph.links]"));
  const Outcome named = stepcast("import topo.txt --as topology --out node.toml" + settings);
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.out, "");
  EXPECT_THAT(read("node.toml"), HasSubstr("of topo.txt"));
}

TEST_F(TopologyCommand, ShowDrawsNodesAndScenarios) {
  const Outcome node = stepcast("topology show hgx-h100 --dot node.dot");
  EXPECT_EQ(node.exit_code, 0) << node.err;
  EXPECT_THAT(node.out, HasSubstr("`-- pcie3"));
  EXPECT_THAT(read("node.dot"), HasSubstr("graph topology {"));
  write("scenario.toml", scenario());
  const Outcome network = stepcast("topology show scenario.toml --set cluster.nodes=2,3");
  EXPECT_EQ(network.exit_code, 0) << network.err;
  EXPECT_THAT(network.out, HasSubstr("2 nodes, 16 cards of 200 Gb/s each"));
  EXPECT_THAT(network.err, HasSubstr("the scenario has 2 points"));
  const Outcome json = stepcast("topology show scenario.toml --json -");
  EXPECT_THAT(json.out, testing::StartsWith("{"));
  EXPECT_THAT(json.out, HasSubstr("\"stepcast.topology/1\""));
  EXPECT_THAT(stepcast("topology show roce-200g").out, HasSubstr("line rate of a card 200 Gb/s"));
  EXPECT_EQ(stepcast("topology show roce-200g --dot x.dot").exit_code, 2);
  EXPECT_THAT(stepcast("topology show hgx-h10").err, HasSubstr("did you mean \"hgx-h100\""));
  EXPECT_THAT(stepcast("topology show hgx-h100 --set a=1").err, HasSubstr("--set is for scenarios"));
}

TEST_F(TopologyCommand, AnSvgNeedsGraphviz) {
  const Outcome without = shell("PATH= " + program() + " topology show hgx-h100 --svg node.svg");
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.err, HasSubstr("Graphviz"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "node.svg"));
  if (shell("command -v dot").exit_code != 0) GTEST_SKIP() << "Graphviz is not installed";
  const Outcome drawn = stepcast("topology show hgx-h100 --svg node.svg");
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(read("node.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(read("node.svg"), HasSubstr("nvswitch0"));
}

TEST_F(TopologyCommand, ExportWritesBothFormatsAndTheTomlIsTheSameNode) {
  EXPECT_EQ(stepcast("topology export dgx-a100-80g --format toml --out mine.toml").exit_code, 0);
  write("preset.toml", scenario());
  write("mine_too.toml", scenario().replace(scenario().find("dgx-a100-80g"), 12, "mine.toml"));
  const Outcome preset = stepcast("run preset.toml --json -"), own = stepcast("run mine_too.toml --json -");
  EXPECT_EQ(own.exit_code, 0) << own.err;
  const auto step = [](const std::string& json) {
    const std::size_t at = json.find("\"step_time_s\"");
    return json.substr(at, json.find('\n', at) - at);
  };
  EXPECT_EQ(step(own.out), step(preset.out));
  const Outcome xml = stepcast("topology export preset.toml --format nccl-xml");
  EXPECT_EQ(xml.exit_code, 0) << xml.err;
  EXPECT_THAT(xml.out, HasSubstr("sm=\"80\""));
  EXPECT_THAT(xml.out, HasSubstr("speed=\"200000\""));
  EXPECT_THAT(stepcast("topology export hgx-h100").err, HasSubstr("in which format?"));
  EXPECT_EQ(stepcast("topology export roce-200g --format toml").exit_code, 2);
}

TEST_F(TopologyCommand, ATreeOfSlurmBecomesAFabricThatShowDraws) {
  write("topology.conf",
        "SwitchName=top Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-8]\n");
  const Outcome done = stepcast(
      "topology import topology.conf --out fabric.toml --set transport=infiniband --set link.rate='200 Gb/s' "
      "--set nic.per_node=8 --set oversubscription=4");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const Outcome shown = stepcast("topology show fabric.toml --dot fabric.dot");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  // Four nodes of eight cards of 200 Gb/s over 4.
  EXPECT_THAT(shown.out, HasSubstr("2 links up, 1600 Gb/s each, 3200 Gb/s in all"));
  EXPECT_THAT(shown.out, HasSubstr("oversubscription 4 : 1"));
  EXPECT_THAT(read("fabric.dot"), HasSubstr("\"leaf1\" -- \"top\""));
  write("scenario.toml", scenario().replace(scenario().find("infiniband-200g"), 15, "fabric.toml"));
  EXPECT_EQ(stepcast("run scenario.toml").exit_code, 0);
}

TEST_F(TopologyCommand, MistakesAreToldApart) {
  EXPECT_EQ(stepcast("topology").exit_code, 2);
  EXPECT_THAT(stepcast("topology improt topo.txt").err, HasSubstr("did you mean \"import\""));
  EXPECT_THAT(stepcast("topology import").err, HasSubstr("which file?"));
  EXPECT_THAT(stepcast("topology import absent.txt").err, HasSubstr("absent.txt"));
  EXPECT_THAT(stepcast("topology import topo.txt --set gpu").err, HasSubstr("--set needs key=value"));
  EXPECT_THAT(stepcast("import topo.txt --as topolgy").err, HasSubstr("did you mean \"topology\""));
  EXPECT_THAT(stepcast("import topo.txt").err, HasSubstr("as what?"));
  EXPECT_EQ(stepcast("topology --help").exit_code, 0);
  EXPECT_EQ(stepcast("topology import --help").exit_code, 0);
}

}  // namespace
}  // namespace stepcast
