#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/calibrate/launch/forked_ranks.hpp"

namespace stepcast {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// Rank 0 keeps what was done, once.
void keep_on_abort(Meeting& meeting) {
  meeting.on_abort([] { std::ofstream("kept", std::ios::app) << "kept;"; });
}

/// All are in one collective for ever; the file says that they are.
void hang_together(Meeting& meeting) {
  keep_on_abort(meeting);
  meeting.doing("all_reduce 1 MiB", Seconds(100));
  meeting.barrier();
  std::ofstream("all are in it");
  hang();
}

int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(Failure, AKilledRankEndsAllAndIsNamedWithHostAndWork) {
  ForkedRanks ranks("aab", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(2, SIGKILL);
  EXPECT_THAT(ranks.exit_codes(), ElementsAre(3, 3, 128 + SIGKILL));
  EXPECT_THAT(ranks.printed(),
              HasSubstr("stepcast: error: rank 2 (host b) ended during \"all_reduce 1 MiB\""));
  EXPECT_EQ(lines(ranks.printed()), 1) << ranks.printed();
  EXPECT_EQ(ranks.text_of("kept"), "kept;");
}

TEST(Failure, AStoppedRankEndsAll) {
  ForkedRanks ranks("ab", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(1, SIGSTOP);
  EXPECT_EQ(ranks.exit_code(0), 3);
  ranks.send_signal(1, SIGCONT);
  EXPECT_EQ(ranks.exit_code(1), 3);  // it hears of its end when it wakes
  EXPECT_THAT(ranks.printed(),
              HasSubstr("rank 1 (host b) has been silent for 2 s during \"all_reduce 1 MiB\""));
  EXPECT_EQ(ranks.text_of("kept"), "kept;");
}

TEST(Failure, WhenRank0IsKilledTheOthersSaySoAndEnd) {
  ForkedRanks ranks("abc", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(0, SIGKILL);
  EXPECT_THAT(ranks.exit_codes(), ElementsAre(128 + SIGKILL, 3, 3));
  EXPECT_THAT(ranks.printed(), HasSubstr("rank 0 (host a) ended, while rank 2 was in \"all_reduce 1 MiB\""));
  EXPECT_EQ(lines(ranks.printed()), 2) << ranks.printed();
}

TEST(Failure, AStoppedRank0IsNoticedByTheOthers) {
  ForkedRanks ranks("ab", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(0, SIGSTOP);
  EXPECT_EQ(ranks.exit_code(1), 3);
  EXPECT_THAT(ranks.printed(), HasSubstr("rank 0 (host a) has been silent for 2 s"));
}

TEST(Failure, TheRankThatLagsIsNamedNotThoseThatWaitForIt) {
  ForkedRanks ranks("abc", [](Meeting& meeting) {
    meeting.doing("gemm", Seconds(0.2));
    if (meeting.place().rank == 2) hang();
    meeting.doing("all_reduce 1 MiB", Seconds(0.2));
    hang();
  });
  EXPECT_THAT(ranks.exit_codes(), Each(3));
  EXPECT_THAT(ranks.printed(), HasSubstr("rank 2 (host c) "));
  EXPECT_EQ(lines(ranks.printed()), 1) << ranks.printed();
}

TEST(Failure, AnInterruptOfOneRankEndsAllWithoutBlame) {
  ForkedRanks ranks("abc", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(1, SIGINT);
  EXPECT_THAT(ranks.exit_codes(), Each(130));
  EXPECT_EQ(ranks.printed(), "stepcast: interrupted\n");
  EXPECT_EQ(ranks.text_of("kept"), "kept;");
}

TEST(Failure, TerminationOfAllIsNoRanksFault) {
  ForkedRanks ranks("ab", hang_together);
  ranks.wait_for("all are in it");
  ranks.send_signal(0, SIGTERM);
  ranks.send_signal(1, SIGTERM);
  EXPECT_THAT(ranks.exit_codes(), Each(128 + SIGTERM));
  EXPECT_EQ(ranks.text_of("kept"), "kept;");
}

TEST(Failure, ADeathIsTheCauseOfWhatOthersReportBecauseOfIt) {
  // Rank 1 sees its connection break and gives up; it was rank 2 that died, a little later on the wire.
  ForkedRanks ranks("abc", [](Meeting& meeting) {
    meeting.doing("all_reduce 1 MiB", Seconds(100));
    meeting.barrier();
    if (meeting.place().rank == 1) throw MachineError("connection closed by peer");
    if (meeting.place().rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      _exit(1);
    }
    hang();
  });
  EXPECT_THAT(ranks.exit_codes(), ElementsAre(3, 3, 1));
  EXPECT_THAT(ranks.printed(), HasSubstr("rank 2 (host c) ended during"));
  EXPECT_EQ(lines(ranks.printed()), 1) << ranks.printed();
}

TEST(Failure, ARankThatThrowsPrintsItsOwnErrorAndEndsTheOthers) {
  ForkedRanks ranks("ab", [](Meeting& meeting) {
    if (meeting.place().rank == 1) throw MachineError("out of device memory");
    hang();
  });
  EXPECT_THAT(ranks.exit_codes(), Each(3));
  EXPECT_THAT(ranks.printed(), HasSubstr("stepcast: error: out of device memory\n"));
  EXPECT_THAT(ranks.printed(), HasSubstr("rank 1 (host b) gave up"));
}

TEST(Failure, ARankThatAbandonsTellsWhy) {
  ForkedRanks ranks("ab", [](Meeting& meeting) {
    keep_on_abort(meeting);
    if (meeting.place().rank == 0) {
      meeting.abandon("the disk is full");
      throw MachineError("the disk is full");
    }
    hang();
  });
  EXPECT_THAT(ranks.exit_codes(), Each(3));
  EXPECT_EQ(ranks.printed(), "stepcast: error: the disk is full\n");
  EXPECT_EQ(ranks.text_of("kept"), "kept;");
}

TEST(Failure, ARankThatHasFinishedWhileOthersWaitForItIsNamed) {
  ForkedRanks ranks("ab", [](Meeting& meeting) {
    if (meeting.place().rank == 0) meeting.barrier();
  });
  EXPECT_EQ(ranks.exit_code(0), 3);
  EXPECT_EQ(ranks.exit_code(1), 0);
  EXPECT_THAT(ranks.printed(),
              HasSubstr("rank 1 (host b) has finished, but others wait for it in a barrier"));
}

TEST(Failure, RanksThatNeverComeAreNamed) {
  const auto meet_nobody = [] {
    MeetingLimits limits = quick_limits();
    limits.meet = Seconds(0.3);
    Rendezvous rendezvous;
    rendezvous.size = 3;
    (void)meet_over_tcp(rendezvous, {}, listen_on(0), limits);
  };
  EXPECT_EXIT(meet_nobody(), testing::ExitedWithCode(3), "ranks 1, 2 did not come within 0 s to rank 0");
}

}  // namespace
}  // namespace stepcast
