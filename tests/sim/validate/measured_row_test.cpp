#include "sim/validate/measured_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

std::string header() {
  std::string text;
  for (const std::string_view column : measured_columns())
    text += (text.empty() ? "" : ",") + std::string(column);
  return text;
}

std::string blanks(std::size_t cells) { return std::string(cells - 1, ','); }

TEST(MeasuredTable, HasTheFortyThreeColumnsOfTheDesign) { EXPECT_EQ(measured_columns().size(), 43u); }

TEST(MeasuredTable, RowsCountFromTheHeaderAsLineOne) {
  const auto table = parse_measured(header() + "\n me ," + blanks(42) + "\n" + blanks(43) + "\n", "t.csv");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].line, 2u);
  EXPECT_EQ(table.rows[1].line, 3u);
  EXPECT_EQ(table.rows[0].text("source"), "me");
  EXPECT_TRUE(table.notes.empty());
}

TEST(MeasuredTable, AMissingColumnIsAFaultInTheHeader) {
  std::string cut = header();
  cut.replace(cut.find("gpus_total,"), 11, "");
  try {
    (void)parse_measured(cut + "\n", "t.csv");
    FAIL();
  } catch (const ScenarioError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1u);
    EXPECT_EQ(error.diagnostics()[0].place.file, "t.csv");
    EXPECT_EQ(error.diagnostics()[0].place.line, 1u);
    EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("\"gpus_total\" is missing"));
  }
}

TEST(MeasuredTable, AnUnknownColumnIsANoteAndNotesAreNone) {
  const auto table = parse_measured(header() + ",notes,weather\n", "t.csv");
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_THAT(table.notes[0], HasSubstr("weather"));
}

TEST(MeasuredTable, AnEmptyFileIsAFault) { EXPECT_THROW((void)parse_measured("", "t.csv"), ScenarioError); }

TEST(MeasuredRow, ReadsNumbersAndRefusesWords) {
  MeasuredRow row;
  row.cells = {
      {"gpus_total", "8"}, {"step_time_s", "1.5e-1"}, {"micro_batch_per_gpu", "16 and 18"}, {"tp", "2.5"}};
  EXPECT_EQ(row.count("gpus_total"), 8);
  EXPECT_DOUBLE_EQ(*row.number("step_time_s"), 0.15);
  EXPECT_FALSE(row.number("seq_len").has_value());
  EXPECT_THROW((void)row.number("micro_batch_per_gpu"), SkippedRow);
  EXPECT_THROW((void)row.count("tp"), SkippedRow);
}

}  // namespace
}  // namespace stepcast
