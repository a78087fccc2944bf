#include "../temporary_file.hpp"
#include "read.hpp"
#include "topology/cluster.hpp"
#include "topology/fabric.hpp"
#include "topology/import/fabric_draft.hpp"

namespace stepcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Written for these tests in the form of ibnetdiscover: two leaves, one spine (two cables to leaf-b), three
// hosts.
const std::string discovered = R"(#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#
vendid=0x2c9
devid=0xd2f2
switchguid=0xa1(a1)
Switch	41 "S-00000000000000a1"		# "MF0;leaf-a:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-00000000000000c1"[1](c1) 		# "host10 mlx5_0" lid 11 4xNDR
[2]	"H-00000000000000c2"[1](c2) 		# "host10 mlx5_1" lid 12 4xNDR
[40]	"S-00000000000000b1"[1]		# "MF0;spine:MQM9700/U1" lid 3 4xNDR s=4 w=2
[41]	"H-00000000000000e1"[1](e1) 		# "Mellanox Technologies Aggregation Node" lid 9 4xNDR

switchguid=0xa2(a2)
Switch	41 "S-00000000000000a2"		# "MF0;leaf-b:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-00000000000000c3"[1](c3) 		# "host9 mlx5_0" lid 13 4xNDR
[2]	"H-00000000000000c4"[1](c4) 		# "host9 mlx5_1" lid 14 4xNDR
[3]	"H-00000000000000c5"[1](c5) 		# "host11 mlx5_0" lid 15 4xNDR
[40]	"S-00000000000000b1"[2]		# "MF0;spine:MQM9700/U1" lid 3 4xNDR
[41]	"S-00000000000000b1"[3]		# "MF0;spine:MQM9700/U1" lid 3 4xNDR

switchguid=0xb1(b1)
Switch	41 "S-00000000000000b1"		# "MF0;spine:MQM9700/U1" enhanced port 0 lid 3 lmc 0
[1]	"S-00000000000000a1"[40]		# "MF0;leaf-a:MQM9700/U1" lid 1 4xNDR
[2]	"S-00000000000000a2"[40]		# "MF0;leaf-b:MQM9700/U1" lid 2 4xNDR
[3]	"S-00000000000000a2"[41]		# "MF0;leaf-b:MQM9700/U1" lid 2 4xNDR

caguid=0xc1
Ca	1 "H-00000000000000c1"		# "host10 mlx5_0"
[1](c1) 	"S-00000000000000a1"[1]		# lid 11 lmc 0 "MF0;leaf-a:MQM9700/U1" lid 1 4xNDR

caguid=0xc3
Ca	1 "H-00000000000000c3"		# "host9 mlx5_0"
[1](c3) 	"S-00000000000000a2"[1]		# lid 13 lmc 0 "MF0;leaf-b:MQM9700/U1" lid 2 4xNDR
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Cluster cluster_on(const std::string& toml, int nodes) {
  const TemporaryFile file(toml);
  ClusterRequest request;
  request.nodes = nodes;
  request.node = load_node("hgx-h100", {});
  request.gpus_per_node = 8;
  request.fabric = load_fabric(file.path(), {});
  request.topology = "graph";
  return Cluster(request);
}

TEST(IbnetdiscoverImport, HostsBecomeNodesInTheirNaturalOrder) {
  const TopologyImport import = read_topology(discovered);
  EXPECT_TRUE(import.questions.empty());
  EXPECT_EQ(import.kind, "fabric");
  EXPECT_EQ(import.summary, "3 hosts, 5 cards, 3 switches, 2 links between them");
  // host9 comes before host10, whatever the order of the file.
  EXPECT_THAT(import.toml, HasSubstr("# node0: host9, nic0 mlx5_0, nic1 mlx5_1\n# node1: host10, nic0"));
  EXPECT_THAT(import.toml, HasSubstr("[\"node0.nic1\", \"leaf-b\"]"));
  EXPECT_THAT(import.toml, HasSubstr("[\"leaf-b\", \"spine\", \"400 Gb/s\", 2]"));
  EXPECT_THAT(import.toml, HasSubstr("[\"leaf-a\", \"spine\", \"400 Gb/s\"]"));
  EXPECT_THAT(import.notes, Contains(HasSubstr("aggregation nodes")));
  EXPECT_THAT(import.notes, Contains(HasSubstr("3 cards have no block of their own")));
  EXPECT_THAT(import.notes, Contains(HasSubstr("hosts have from 1 to 2 cards")));
}

TEST(IbnetdiscoverImport, TheFileLoadsAndItsCablesCarry) {
  const Cluster cluster = cluster_on(read_topology(discovered).toml, 3);
  EXPECT_EQ(cluster.request().fabric.link_rate, gigabits_per_second(400));  // 4xNDR
  EXPECT_EQ(cluster.nics_per_node(), 1);                                    // host11 has one
  std::vector<double> up;
  for (const Link& link : cluster.links())
    if (link.kind == LinkKind::fabric && cluster.devices()[static_cast<std::size_t>(link.to)].name == "spine")
      up.push_back(link.capacity.value);
  EXPECT_THAT(up, testing::UnorderedElementsAre(50e9, 100e9));
}

TEST(IbnetdiscoverImport, NamesThatTomlDoesNotTakeAreMended) {
  const std::string odd =
      replaced(discovered, "\"MF0;leaf-a:MQM9700/U1\" enhanced", "\"MF0;l\\\xff\x01:MQM9700/U1\" enhanced");
  EXPECT_EQ(cluster_on(read_topology(odd).toml, 2).node_count(), 2);
}

TEST(IbnetdiscoverImport, WhatIsCutOrUnknownIsSaid) {
  const Diagnostic torn =
      fault_in(replaced(discovered, "[2]\t\"H-00000000000000c4\"[1](c4)", "[2]\t\"H-000000"));
  EXPECT_THAT(torn.message, HasSubstr("the line may be cut off"));
  EXPECT_EQ(torn.place.line, 16U);
  const std::string one_switch = discovered.substr(0, discovered.find("switchguid=0xa2"));
  EXPECT_THAT(read_topology(one_switch).notes,
              Contains(HasSubstr("1 switches have no block of their own, first spine")));
  std::string no_speed = discovered;
  for (std::size_t at; (at = no_speed.find(" 4xNDR")) != std::string::npos;) no_speed.erase(at, 6);
  EXPECT_THAT(keys_of(read_topology(no_speed)), ElementsAre("link.rate"));
  EXPECT_TRUE(read_topology(no_speed, {{"link.rate", "400 Gb/s"}}).questions.empty());
  EXPECT_THAT(
      fault_in(discovered + "caguid=0xc1\nCa\t1 \"H-00000000000000c1\"\t# \"host10 mlx5_0\"\n").message,
      HasSubstr("stands there twice"));
  EXPECT_THAT(fault_in(discovered + "what is this\n").message, HasSubstr("no part of ibnetdiscover"));
}

const std::string tree = R"(# topology.conf
SwitchName=top Switches=leaf[1-2]   # a comment
switchname=leaf1 nodes=n[01-04],login
SwitchName=leaf2 Nodes=n[05-08] LinkSpeed=100
)";

const std::vector<ImportSetting> answers{
    {"transport", "roce"}, {"link.rate", "200 Gb/s"}, {"nic.per_node", "2"}, {"oversubscription", "2"}};

TEST(SlurmImport, AskForWhatATreeOfNamesCannotTell) {
  EXPECT_THAT(keys_of(read_topology(tree)),
              ElementsAre("link.rate", "nic.per_node", "oversubscription", "transport"));
}

TEST(SlurmImport, UplinksFollowFromWhatHangsBeneath) {
  const TopologyImport import = read_topology(tree, answers);
  EXPECT_EQ(import.summary, "9 hosts, 3 switches, 2 links between them");
  // Natural order: login, n01 .. n08. Five nodes of two cards of 200 Gb/s over 2: 1000 Gb/s; four: 800 Gb/s.
  EXPECT_THAT(import.toml, HasSubstr("[\"node[0-4].nic*\", \"leaf1\"]"));
  EXPECT_THAT(import.toml, HasSubstr("[\"node[5-8].nic*\", \"leaf2\"]"));
  EXPECT_THAT(import.toml, HasSubstr("[\"leaf1\", \"top\", \"1000 Gb/s\"]"));
  EXPECT_THAT(import.toml, HasSubstr("[\"leaf2\", \"top\", \"800 Gb/s\"]"));
  EXPECT_THAT(import.toml, HasSubstr("# node5 to node8: n05 to n08"));
  EXPECT_EQ(cluster_on(import.toml, 9).nics_per_node(), 2);
}

TEST(SlurmImport, FaultsNameTheSwitch) {
  EXPECT_THAT(fault_in(replaced(tree, "leaf[1-2]", "leaf[1-3]")).message,
              HasSubstr("leaf3 beneath it, which has no line"));
  EXPECT_THAT(fault_in(replaced(tree, "leaf[1-2]", "leaf[2-1]")).message, HasSubstr("is no list of names"));
  EXPECT_THAT(fault_in(replaced(tree, "n[05-08]", "n[1-99999999]")).message,
              HasSubstr("is no list of names"));
  EXPECT_THAT(fault_in(tree + "SwitchName=leaf2 Nodes=x\n").message, HasSubstr("stands there twice"));
  EXPECT_THAT(fault_in(replaced(tree, "Nodes=n[05-08]", "Switches=top")).message, HasSubstr("above itself"));
  EXPECT_THAT(fault_in("SwitchName=a Switches=b\nSwitchName=b\n").message, HasSubstr("no switch has Nodes"));
  EXPECT_THAT(fault_in(tree, {{"oversubscription", "0.5"}}).message, HasSubstr("no oversubscription"));
}

TEST(SlurmImport, PartsThatDoNotMeetAreSaid) {
  const TopologyImport import =
      read_topology("SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\n", answers);
  EXPECT_THAT(import.notes, Contains(HasSubstr("2 parts that do not meet; node2 (n2) is the first")));
  EXPECT_EQ(cluster_on(import.toml, 2).node_count(), 2);
}

TEST(NaturalOrder, NumbersCountAsNumbers) {
  std::vector<std::string> names{"n10", "n9", "m2", "n09", "n1a", "n1"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names, ElementsAre("m2", "n1", "n1a", "n09", "n9", "n10"));
}

}  // namespace
}  // namespace stepcast
