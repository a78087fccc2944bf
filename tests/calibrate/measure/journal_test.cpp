#include "calibrate/measure/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stepcast {
namespace {

using testing::HasSubstr;

class JournalFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            ("stepcast-" + std::to_string(::getpid()) + "-" + info->name() + ".journal");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }

  static JournalHeader header() {
    JournalHeader header;
    header.device = "cpu-host";
    header.model = "Some CPU @ 3 GHz";
    header.node = "cpu-host";
    header.fabric = "ethernet-1g";
    header.link_rate = gigabits_per_second(1);
    header.nodes = header.ranks = 2;
    header.hosts = {"node1", "node2"};
    header.versions = {{"Gloo", "0.5"}};
    header.measured_on = "2026-12-01, node1 node2";
    return header;
  }

  static Measured result(std::int64_t rows) {
    Measured measured;
    measured.what.rows = rows;
    measured.median = Seconds(0.001);
    measured.by_rank = {Seconds(0.001), Seconds(0.0009)};
    return measured;
  }

  std::filesystem::path path_;
};

TEST_F(JournalFile, GivesBackWhatWasAppendedAndItsHeader) {
  {
    Journal journal(path_, header());
    journal.append(result(1));
    journal.append(result(2));
    EXPECT_EQ(journal.count(), 2);
  }
  const JournalContent content = read_journal(path_);
  EXPECT_EQ(difference(content.header, header()), "");
  EXPECT_EQ(content.header.measured_on, header().measured_on);
  ASSERT_EQ(content.results.size(), 2U);
  EXPECT_EQ(content.results[1].what.rows, 2);
  EXPECT_FALSE(content.torn);
}

// What a kill in the middle of a write leaves.
TEST_F(JournalFile, LosesOnlyATornLastLineAndGoesOnBehindTheWholeOnes) {
  {
    Journal journal(path_, header());
    journal.append(result(1));
    journal.append(result(2));
  }
  std::filesystem::resize_file(path_, text().size() - 10);
  const JournalContent content = read_journal(path_);
  EXPECT_TRUE(content.torn);
  ASSERT_EQ(content.results.size(), 1U);
  {
    Journal journal(path_, content);
    journal.append(result(3));
    EXPECT_EQ(journal.count(), 2);
  }
  const JournalContent again = read_journal(path_);
  EXPECT_FALSE(again.torn);
  ASSERT_EQ(again.results.size(), 2U);
  EXPECT_EQ(again.results[1].what.rows, 3);
}

TEST_F(JournalFile, IsNeverOverwritten) {
  { Journal journal(path_, header()); }
  const std::string before = text();
  EXPECT_THROW(Journal(path_, header()), MachineError);
  EXPECT_EQ(text(), before);
}

TEST_F(JournalFile, RefusesWhatIsNoJournal) {
  const auto fault_of = [&](const std::string& content) -> std::string {
    std::ofstream(path_) << content;
    try {
      (void)read_journal(path_);
    } catch (const MachineError& error) {
      EXPECT_THAT(error.hint, HasSubstr("delete it"));
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(fault_of(""), HasSubstr("it has no header"));
  EXPECT_THAT(fault_of("{\"schema\": \"other/1\"}\n"),
              HasSubstr("line 1: it does not begin with the header"));
  EXPECT_THAT(fault_of("[links]\n"), HasSubstr("line 1 is not whole"));
}

TEST_F(JournalFile, SaysWhatDiffersInTheHardware) {
  JournalHeader other = header();
  other.hosts = {"node1", "node7"};
  other.versions = {{"Gloo", "0.6"}};
  other.quick = true;
  other.measured_on = "another day";
  EXPECT_EQ(difference(header(), other),
            "hosts: node1 node2 there, node1 node7 here; versions: Gloo 0.5 there, Gloo 0.6 here");
}

TEST_F(JournalFile, OnAFullDiskNamesTheFileAndHowManyMeasurementsItKeeps) {
  JournalContent three;
  three.results = {result(1), result(2), result(3)};
  Journal journal("/dev/full", three);
  try {
    journal.append(result(4));
    FAIL() << "/dev/full took a line";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("can't write /dev/full: No space left on device; the 3 measurements"));
    EXPECT_THAT(error.hint, HasSubstr("--resume"));
  }
}

// A limit on the file's size cuts the write in the middle of the line, as a disk that fills up does.
TEST_F(JournalFile, TakesBackALineThatCouldNotBeWrittenWhole) {
  Journal journal(path_, header());
  journal.append(result(1));
  const std::string before = text();
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old_limit;
  limit.rlim_cur = before.size() + 20;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THROW(journal.append(result(2)), MachineError);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(text(), before);
  journal.append(result(3));
  EXPECT_EQ(read_journal(path_).results.size(), 2U);
}

}  // namespace
}  // namespace stepcast
