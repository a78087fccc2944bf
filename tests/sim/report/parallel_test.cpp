#include "sim/report/parallel.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {
namespace {

TEST(ForEachIndex, EveryIndexRunsOnceWhateverTheNumberOfThreads) {
  for (const int jobs : {0, 1, 2, 7}) {
    std::vector<int> runs(50, 0);
    std::size_t last = 0;
    for_each_index(
        runs.size(), jobs, [&] { return [&](std::size_t i) { ++runs[i]; }; },
        [&](std::size_t done) { last = done; }, nullptr);
    EXPECT_EQ(runs, std::vector<int>(50, 1)) << jobs << " jobs";
    EXPECT_EQ(last, 50U);
  }
}

TEST(ForEachIndex, TheFaultOfTheLowestIndexIsThrown) {
  for (const int jobs : {1, 2, 4}) {
    try {
      for_each_index(
          20, jobs,
          [] {
            return [](std::size_t i) {
              if (i >= 3) throw std::runtime_error(std::to_string(i));
            };
          },
          nullptr, nullptr);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

TEST(ForEachIndex, CancellingThrowsInterrupted) {
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(for_each_index(
                   5, 2, [] { return [](std::size_t) {}; }, nullptr, &cancel),
               Interrupted);
}

TEST(ForEachIndex, NothingToDoIsFine) {
  EXPECT_NO_THROW(for_each_index(
      0, 0, [] { return [](std::size_t) {}; }, nullptr, nullptr));
}

}  // namespace
}  // namespace stepcast
