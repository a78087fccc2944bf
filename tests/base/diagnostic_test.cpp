#include "base/diagnostic.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Diagnostic, ShowsPlaceExcerptAndHint) {
  const Diagnostic fault{{"rail_32.toml", 14, 10, 16, "fabric = \"infinband-400g\""},
                         "unknown fabric \"infinband-400g\"",
                         "did you mean \"infiniband-400g\"?"};
  EXPECT_EQ(render(fault),
            "rail_32.toml:14:10: error: unknown fabric \"infinband-400g\"\n"
            "  14 | fabric = \"infinband-400g\"\n"
            "     |          ^~~~~~~~~~~~~~~~\n"
            "  hint: did you mean \"infiniband-400g\"?\n");
}

TEST(Diagnostic, LongLinesAreCutAroundThePlace) {
  Diagnostic fault{{"config.json", 1, 5001, 3, std::string(10000, 'x')}, "wrong", ""};
  const std::string text = render(fault);
  EXPECT_LT(text.size(), 400U);
  EXPECT_NE(text.find("config.json:1:5001: error: wrong"), std::string::npos);
}

TEST(Diagnostic, SuggestsTheNearestNameOrListsAll) {
  EXPECT_EQ(suggest("strategi", {"software", "strategy"}), "did you mean \"strategy\"?");
  EXPECT_EQ(suggest("colour", {"a", "b"}), "known: a, b");
}

TEST(Diagnostic, AnErrorHoldsAllFaults) {
  const ScenarioError error({{{"a", 1, 1, 1, ""}, "one", ""}, {{"a", 2, 1, 1, ""}, "two", ""}});
  EXPECT_EQ(error.diagnostics().size(), 2U);
  EXPECT_STREQ(error.what(), "a:1:1: error: one\n");
}

TEST(Diagnostic, AFailedCheckNamesFileAndLine) {
  try {
    STEPCAST_CHECK(1 == 2, "arithmetic");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("diagnostic_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepcast
