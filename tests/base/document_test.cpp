#include "base/document.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Document, TomlKeepsOrderAndPlaces) {
  const Value file = parse_toml("b = 1\na = \"x\"\n[t]\n  k = [1, 2.5]\n", "f.toml");
  ASSERT_EQ(file.table.size(), 3U);
  EXPECT_EQ(file.table[0].key, "b");
  EXPECT_EQ(file.table[1].key, "a");
  const Value* k = file.find("t")->find("k");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->place.file, "f.toml");
  EXPECT_EQ(k->place.line, 4U);
  EXPECT_EQ(k->place.column, 7U);
  EXPECT_EQ(k->place.source_line, "  k = [1, 2.5]");
  EXPECT_EQ(k->array[1].real, 2.5);
  EXPECT_EQ(file.find("t")->table[0].key_place.column, 3U);
}

TEST(Document, TomlFaultsNameTheirPlace) {
  try {
    (void)parse_toml("a = 1\nb = = 2\n", "f.toml");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.diagnostics().front().place.line, 2U);
    EXPECT_EQ(error.diagnostics().front().place.file, "f.toml");
  }
}

TEST(Document, JsonValuesKnowWhereTheyStand) {
  const Value file =
      parse_json("{\n  \"hidden\": 4096,\n  \"name\": \"a \\\"b\\\"\",\n  \"list\": [1, null]\n}", "c.json");
  EXPECT_EQ(file.find("hidden")->integer, 4096);
  EXPECT_EQ(file.find("hidden")->place.line, 2U);
  EXPECT_EQ(file.find("hidden")->place.column, 13U);
  EXPECT_EQ(file.find("name")->string, "a \"b\"");
  EXPECT_EQ(file.find("name")->place.column, 11U);
  EXPECT_EQ(file.table[0].key_place.column, 3U);
  EXPECT_EQ(file.find("list")->array[1].kind, Value::Kind::null);
}

// 2^40 needs more than 32 bits, 2^64 - 1 more than a signed integer has.
TEST(Json, KeepsLargeIntegersWhole) {
  const Value file = parse_json("[1099511627776, 18446744073709551615]", "f.json");
  EXPECT_EQ(file.array[0].kind, Value::Kind::integer);
  EXPECT_EQ(file.array[0].integer, 1099511627776);
  EXPECT_EQ(file.array[1].kind, Value::Kind::real);
  EXPECT_EQ(file.array[1].real, 18446744073709551615.0);
}

TEST(Document, JsonCutShortSaysSo) {
  try {
    (void)parse_json("{\n  \"hidden\": 4096,\n  \"name\": \"ab", "c.json");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.diagnostics().front().place.line, 3U);
    EXPECT_NE(error.diagnostics().front().message.find("not valid JSON"), std::string::npos);
  }
}

TEST(Document, DeepJsonDoesNotOverflowTheStack) {
  EXPECT_THROW((void)parse_json(std::string(200000, '['), "deep.json"), ScenarioError);
}

TEST(Document, OverridesAreTomlElseText) {
  EXPECT_EQ(parse_toml_value_or_text("4", "--set").integer, 4);
  EXPECT_EQ(parse_toml_value_or_text("[1, 2]", "--set").array.size(), 2U);
  EXPECT_EQ(parse_toml_value_or_text("fsdp", "--set").string, "fsdp");
  EXPECT_EQ(parse_toml_value_or_text("\"fsdp\"", "--set").string, "fsdp");
  EXPECT_EQ(parse_toml_value_or_text("400 Gb/s", "--set").string, "400 Gb/s");
  EXPECT_EQ(parse_toml_value_or_text("a\nb = 2", "--set").string, "a\nb = 2");
}

TEST(Document, SameContentIgnoresPlacesAndNumberKinds) {
  EXPECT_TRUE(same_content(parse_toml("a = 1\nb = [2.0]", "x"), parse_toml("b = [2]\n\na = 1", "y")));
  EXPECT_FALSE(same_content(parse_toml("a = 1", "x"), parse_toml("a = \"1\"", "x")));
}

TEST(Document, AMissingFileIsAFaultOfItsName) {
  EXPECT_THROW((void)read_file("/nowhere/at/all.toml"), ScenarioError);
  EXPECT_THROW((void)read_file("/tmp"), ScenarioError);
}

}  // namespace
}  // namespace stepcast
