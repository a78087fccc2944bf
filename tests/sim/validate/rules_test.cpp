#include "sim/validate/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

MeasuredRow row_of(const std::string& gpu) {
  MeasuredRow row;
  row.cells = {{"gpu", gpu}, {"model", "m"}};
  return row;
}

TEST(Mapping, TheFirstRuleWhosePatternsAllMatchIsTaken) {
  const Mapping mapping(R"(
[[gpu]]
when = { gpu = 'a100', model = 'other' }
node = "first"
[[gpu]]
when = { gpu = 'A100' }
node = "second"
[[gpu]]
when = { gpu = 'a' }
node = "third"
)",
                        "m.toml");
  EXPECT_EQ(mapping.first("gpu", row_of("NVIDIA A100"))->text("node"), "second");
  EXPECT_EQ(mapping.first("gpu", row_of("A10"))->text("node"), "third");
  EXPECT_EQ(mapping.first("gpu", row_of("H100")), nullptr);
}

TEST(Mapping, FaultsNameTheirPlace) {
  try {
    const Mapping mapping(
        "[[gpu]]\nwhen = { gqu = 'x' }\nnod = \"n\"\n[[gpu]]\nwhen = { gpu = '(' }\n[[gpo]]\n", "m.toml");
    FAIL();
  } catch (const ScenarioError& error) {
    ASSERT_EQ(error.diagnostics().size(), 4u);
    EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("unknown column \"gqu\""));
    EXPECT_THAT(error.diagnostics()[1].hint, HasSubstr("node"));
    EXPECT_EQ(error.diagnostics()[1].place.line, 3u);
    EXPECT_THAT(error.diagnostics()[2].message, HasSubstr("not a regular expression"));
    EXPECT_THAT(error.diagnostics()[3].hint, HasSubstr("gpu"));
  }
}

TEST(Mapping, TheShippedOneIsWellFormed) { EXPECT_NO_THROW((void)Mapping::shipped()); }

TEST(Mapping, ReasonsQuoteTheRow) {
  EXPECT_EQ(filled_in("GPU {gpu} of {model}", row_of("T4")), "GPU T4 of m");
  EXPECT_EQ(filled_in("open {brace", row_of("T4")), "open {brace");
}

}  // namespace
}  // namespace stepcast
