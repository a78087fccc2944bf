#include "calibrate/launch/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast {
namespace {

using testing::HasSubstr;

/// Three ranks that are heard of for ever.
Watch three() { return {{"a", "b", "c"}, Seconds(1000), Seconds(0)}; }

TEST(Watch, NobodyIsLateWithinTheAnnouncedTime) {
  Watch watch = three();
  for (int rank = 0; rank < 3; ++rank) watch.doing(rank, "gemm", Seconds(10), Seconds(0));
  EXPECT_FALSE(watch.overdue(Seconds(10)));
  EXPECT_TRUE(watch.overdue(Seconds(11)));
  for (int rank = 0; rank < 3; ++rank) watch.doing(rank, "", Seconds(0), Seconds(10));
  EXPECT_FALSE(watch.overdue(Seconds(11)));
}

TEST(Watch, TheOneThatHasNotReachedTheCollectiveIsToBlame) {
  Watch watch = three();
  watch.doing(0, "all_reduce", Seconds(10), Seconds(0));
  watch.doing(1, "gemm", Seconds(5), Seconds(0));
  watch.doing(2, "all_reduce", Seconds(10), Seconds(0));
  const auto verdict = watch.overdue(Seconds(11));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
  EXPECT_EQ(verdict->text,
            "rank 1 (host b) has not reached \"all_reduce\", where others wait longer than the 10 s "
            "announced: last "
            "seen in \"gemm\"");
}

TEST(Watch, ItIsExcusedWhileWithinItsOwnTime) {
  Watch watch = three();
  watch.doing(0, "all_reduce", Seconds(10), Seconds(0));
  watch.doing(1, "long gemm", Seconds(60), Seconds(0));
  watch.doing(2, "all_reduce", Seconds(10), Seconds(0));
  EXPECT_FALSE(watch.overdue(Seconds(59)));
  ASSERT_TRUE(watch.overdue(Seconds(61)));
  EXPECT_EQ(watch.overdue(Seconds(61))->rank, 1);
}

TEST(Watch, TheSameWorkAgainIsAnotherWork) {
  Watch watch = three();
  for (int rank = 0; rank < 3; ++rank) watch.doing(rank, "all_reduce", Seconds(10), Seconds(0));
  watch.doing(0, "all_reduce", Seconds(10), Seconds(5));
  watch.doing(2, "all_reduce", Seconds(10), Seconds(5));
  const auto verdict = watch.overdue(Seconds(16));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);  // still in the first one
}

TEST(Watch, AllThatAreInItAreNamedWhenNobodyLags) {
  Watch watch = three();
  for (int rank = 0; rank < 3; ++rank) watch.doing(rank, "all_reduce", Seconds(10), Seconds(rank));
  EXPECT_FALSE(watch.overdue(Seconds(11)));  // rank 2 came at 2 s and has until 12 s
  const auto verdict = watch.overdue(Seconds(13));
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->text,
              HasSubstr("rank 0 (host a), rank 1 (host b), rank 2 (host c) are in \"all_reduce\""));
}

TEST(Watch, ARankThatWaitsForOthersIsNotToBlame) {
  Watch watch = three();
  for (int rank = 0; rank < 3; ++rank) watch.doing(rank, "gemm", Seconds(10), Seconds(0));
  watch.waits(0, true);  // in a barrier after the gemm
  watch.waits(2, true);
  const auto verdict = watch.overdue(Seconds(11));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->rank, 1);
}

TEST(Watch, ARankThatKeepsOthersInABarrierIsToBlame) {
  Watch watch = three();
  watch.doing(0, "gemm", Seconds(10), Seconds(0));
  watch.doing(1, "gemm", Seconds(10), Seconds(0));
  watch.doing(1, "", Seconds(0), Seconds(1));
  watch.doing(2, "gemm", Seconds(10), Seconds(0));
  watch.waits(0, true);
  watch.waits(2, true);
  const auto verdict = watch.overdue(Seconds(11));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->text,
            "rank 1 (host b) keeps rank 0 (host a) waiting since the end of \"gemm\", longer than the 10 s "
            "announced");
}

TEST(Watch, SilenceIsNoticedAndGoodbyesAreNotSilence) {
  Watch watch({"a", "b", "c"}, Seconds(8), Seconds(0));
  watch.heard(0, Seconds(5));
  watch.heard(2, Seconds(5));
  watch.doing(1, "gemm", Seconds(100), Seconds(0));
  const auto verdict = watch.overdue(Seconds(9));
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->text, HasSubstr("rank 1 (host b) has been silent for 9 s during \"gemm\""));
  watch.left(1);
  EXPECT_FALSE(watch.overdue(Seconds(9)));
}

TEST(Watch, TimeInWhichTheWatcherSleptDoesNotCount) {
  Watch watch({"a", "b"}, Seconds(8), Seconds(0));
  watch.doing(1, "gemm", Seconds(20), Seconds(0));
  watch.forgive(Seconds(3600));
  EXPECT_FALSE(watch.overdue(Seconds(3607)));
}

}  // namespace
}  // namespace stepcast
