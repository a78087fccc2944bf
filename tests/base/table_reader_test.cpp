#include "base/table_reader.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(TableReader, CollectsEveryFaultOfATable) {
  const Value file =
      parse_toml("nodes = -1\nrate = 400\nfabrik = \"x\"\nword = \"fast\"\nflag = 1\n", "f.toml");
  std::vector<Diagnostic> faults;
  TableReader reader(file, "cluster", faults);
  EXPECT_FALSE(reader.integer("nodes", 1));
  EXPECT_FALSE(reader.rate("rate"));
  EXPECT_FALSE(reader.string("fabric"));
  EXPECT_FALSE(reader.choice("word", {"fast-lane", "slow"}));
  EXPECT_FALSE(reader.boolean("flag"));
  reader.require("gpu", "the name of a GPU");
  reader.finish();
  ASSERT_EQ(faults.size(), 6U);
  EXPECT_EQ(faults[0].message, "cluster.nodes is -1, must be at least 1");
  EXPECT_NE(faults[1].message.find("needs a unit"), std::string::npos);
  EXPECT_NE(faults[1].hint.find("Gb/s"), std::string::npos);
  EXPECT_NE(faults[2].message.find("fast-lane, slow"), std::string::npos);
  EXPECT_EQ(faults[3].message, "cluster.flag must be true or false, not a whole number");
  EXPECT_EQ(faults[4].message, "cluster.gpu is missing");
  EXPECT_EQ(faults[5].message, "unknown key \"cluster.fabrik\"");
  EXPECT_EQ(faults[5].hint, "did you mean \"fabric\"?");
  EXPECT_EQ(faults[5].place.line, 3U);
}

TEST(TableReader, ReadsQuantities) {
  const Value file = parse_toml("a = \"64 MiB\"\nb = \"5 us\"\nc = \"400 Gb/s\"\nd = \"5 Melements\"\n", "f");
  std::vector<Diagnostic> faults;
  TableReader reader(file, "", faults);
  EXPECT_DOUBLE_EQ(reader.bytes("a")->value, 67108864.0);
  EXPECT_DOUBLE_EQ(reader.seconds("b")->value, 5e-6);
  EXPECT_DOUBLE_EQ(reader.rate("c")->value, 50e9);
  EXPECT_DOUBLE_EQ(*reader.elements("d"), 5e6);
  reader.finish();
  EXPECT_TRUE(faults.empty());
}

}  // namespace
}  // namespace stepcast
