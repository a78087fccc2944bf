#include "sim/validate/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Diagnostic fault_of(std::string_view text) {
  try {
    (void)parse_csv(text, "t.csv");
  } catch (const ScenarioError& error) {
    return error.diagnostics().front();
  }
  ADD_FAILURE() << "no fault";
  return {};
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineBreaks) {
  const auto records = parse_csv("a,\"b,c\",\"say \"\"hi\"\"\"\n\"two\nlines\",,x\n", "t.csv");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].cells, ElementsAre("a", "b,c", "say \"hi\""));
  EXPECT_THAT(records[1].cells, ElementsAre("two\nlines", "", "x"));
}

// The second record spans lines 2 and 3, so the third one starts on line 4.
TEST(Csv, ARecordHasTheLineWhereItStarts) {
  const auto records = parse_csv("h,i\n\"two\nlines\",1\nlast,2\n", "t.csv");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].line, 2u);
  EXPECT_EQ(records[2].line, 4u);
}

TEST(Csv, CarriageReturnsAByteOrderMarkAndEmptyLinesArePassedOver) {
  const auto records = parse_csv("\xEF\xBB\xBFh,i\r\n\r\n1,2\r\n", "t.csv");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].cells[0], "h");
  EXPECT_THAT(records[1].cells, ElementsAre("1", "2"));
  EXPECT_EQ(records[1].line, 3u);
}

TEST(Csv, TheLastLineNeedsNoEnd) {
  EXPECT_THAT(parse_csv("a,b\n1,", "t.csv").back().cells, ElementsAre("1", ""));
}

TEST(Csv, AnOpenQuoteIsAFaultWhereItOpens) {
  const Diagnostic fault = fault_of("a,b\n1,\"open\n2,3\n");
  EXPECT_EQ(fault.place.line, 2u);
  EXPECT_EQ(fault.place.column, 3u);
  EXPECT_THAT(fault.message, HasSubstr("never closed"));
}

TEST(Csv, TextAfterAClosingQuoteIsAFault) {
  const Diagnostic fault = fault_of("a,b\n\"x\"y,2\n");
  EXPECT_EQ(fault.place.line, 2u);
  EXPECT_EQ(fault.place.column, 4u);
}

TEST(Csv, EveryRecordOfAnotherSizeIsAFault) {
  try {
    (void)parse_csv("a,b\n1\n1,2\n1,2,3\n", "t.csv");
    FAIL();
  } catch (const ScenarioError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2u);
    EXPECT_EQ(error.diagnostics()[0].place.line, 2u);
    EXPECT_EQ(error.diagnostics()[1].place.line, 4u);
    EXPECT_THAT(error.diagnostics()[1].message, HasSubstr("3 cells, the header has 2"));
  }
}

TEST(Csv, AWrittenCellReadsBackAsItself) {
  const std::string cell = "a \"b\", c\nd";
  EXPECT_EQ(parse_csv("h\n" + csv_cell(cell) + "\n", "t.csv")[1].cells[0], cell);
  EXPECT_EQ(csv_cell("plain"), "plain");
}

}  // namespace
}  // namespace stepcast
