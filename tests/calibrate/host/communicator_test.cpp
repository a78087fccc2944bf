#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "calibrate/backend.hpp"
#include "ranks.hpp"

namespace stepcast {
namespace {

Tensor view(std::vector<float>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), Dtype::fp32};
}

// Element i of rank r's input: small whole numbers, so that sums in any order are exact.
float element(int rank, std::int64_t i) { return static_cast<float>((i * 7 + rank * 13) % 101); }

std::vector<float> input_of(int rank, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = element(rank, i);
  return values;
}

float sum_of(int ranks, std::int64_t i) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += element(rank, i);
  return sum;
}

std::vector<int> all_of(const Meeting& meeting) {
  std::vector<int> ranks;
  for (int rank = 0; rank < meeting.place().size; ++rank) ranks.push_back(rank);
  return ranks;
}

void run(DeviceCommunicator& communicator, Operation operation, Tensor input, Tensor output, int root = 0) {
  communicator.wait(communicator.start({operation, input, output, root}));
}

// 1 element leaves most ranks without any; 700,001 are several segments of 1 MiB.
const std::vector<std::int64_t> odd_counts{1, 2, 7, 1001, 700'001};

class Communicators : public testing::TestWithParam<int> {};

TEST_P(Communicators, AllReduceSumsOverAllRanks) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    EXPECT_EQ(communicator->size(), meeting.place().size);
    EXPECT_EQ(communicator->rank(), meeting.place().rank);
    for (const std::int64_t count : odd_counts) {
      std::vector<float> input = input_of(communicator->rank(), count), output(input.size());
      run(*communicator, Operation::all_reduce, view(input), view(output));
      EXPECT_EQ(input, input_of(communicator->rank(), count));
      run(*communicator, Operation::all_reduce, view(input), view(input));
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(output[static_cast<std::size_t>(i)], sum_of(communicator->size(), i)) << count << " " << i;
      }
      EXPECT_EQ(input, output);
    }
  });
}

TEST_P(Communicators, ReduceScatterLeavesEachRankItsShareOfTheSum) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    for (const std::int64_t share : odd_counts) {
      const std::int64_t count = share * communicator->size(), first = share * communicator->rank();
      std::vector<float> input = input_of(communicator->rank(), count);
      std::vector<float> output(static_cast<std::size_t>(share));
      run(*communicator, Operation::reduce_scatter, view(input), view(output));
      EXPECT_EQ(input, input_of(communicator->rank(), count));
      for (std::int64_t i = 0; i < share; ++i) {
        ASSERT_EQ(output[static_cast<std::size_t>(i)], sum_of(communicator->size(), first + i))
            << share << " " << i;
      }
      run(*communicator, Operation::reduce_scatter, view(input), view(input).part(first, share));
      EXPECT_TRUE(std::equal(output.begin(), output.end(), input.begin() + first));
    }
  });
}

TEST_P(Communicators, AllGatherLaysSharesInRankOrder) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    for (const std::int64_t share : odd_counts) {
      std::vector<float> expected;
      for (int rank = 0; rank < communicator->size(); ++rank) {
        const std::vector<float> of_rank = input_of(rank, share);
        expected.insert(expected.end(), of_rank.begin(), of_rank.end());
      }
      std::vector<float> input = input_of(communicator->rank(), share), output(expected.size());
      run(*communicator, Operation::all_gather, view(input), view(output));
      EXPECT_EQ(output, expected);
      std::vector<float> in_place(expected.size());
      const Tensor own = view(in_place).part(share * communicator->rank(), share);
      std::copy(input.begin(), input.end(), own.floats());
      run(*communicator, Operation::all_gather, own, view(in_place));
      EXPECT_EQ(in_place, expected);
    }
  });
}

TEST_P(Communicators, BroadcastGivesEveryRankTheRootsTensor) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    const int root = communicator->size() - 1;
    for (const std::int64_t count : odd_counts) {
      std::vector<float> input = input_of(communicator->rank(), count), output(input.size());
      run(*communicator, Operation::broadcast, view(input), view(output), root);
      EXPECT_EQ(output, input_of(root, count));
      run(*communicator, Operation::broadcast, view(input), view(input), root);
      EXPECT_EQ(input, input_of(root, count));
    }
  });
}

TEST_P(Communicators, ReduceLeavesTheSumOnTheRoot) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    for (const std::int64_t count : odd_counts) {
      std::vector<float> input = input_of(communicator->rank(), count), output(input.size());
      run(*communicator, Operation::reduce, view(input), view(output), 1);
      EXPECT_EQ(input, input_of(communicator->rank(), count));
      run(*communicator, Operation::reduce, view(input), view(input), 1);
      if (communicator->rank() != 1) continue;
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(output[static_cast<std::size_t>(i)], sum_of(communicator->size(), i)) << count << " " << i;
      }
      EXPECT_EQ(input, output);
    }
  });
}

TEST_P(Communicators, AllToAllSendsShareRToRankR) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    for (const std::int64_t share : odd_counts) {
      const std::int64_t count = share * communicator->size();
      std::vector<float> input = input_of(communicator->rank(), count), output(input.size());
      run(*communicator, Operation::all_to_all, view(input), view(output));
      for (std::int64_t i = 0; i < count; ++i) {
        const int from = static_cast<int>(i / share);
        ASSERT_EQ(output[static_cast<std::size_t>(i)],
                  element(from, communicator->rank() * share + i % share));
      }
    }
  });
}

TEST_P(Communicators, SendRecvPassesOnToTheNextRank) {
  with_ranks(GetParam(), [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    const int previous = (communicator->rank() + communicator->size() - 1) % communicator->size();
    for (const std::int64_t count : odd_counts) {
      std::vector<float> input = input_of(communicator->rank(), count), output(input.size());
      run(*communicator, Operation::send_recv, view(input), view(output));
      EXPECT_EQ(output, input_of(previous, count));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(OfRanks, Communicators, testing::Values(2, 3));

TEST(Communicator, CallsUnderWayTogetherRunInOrderBesideCompute) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    constexpr std::int64_t count = 50'001, side = 96;
    std::vector<float> values = input_of(communicator->rank(), count);
    std::vector<float> a(side * side, 1.0F), b(side * side, 2.0F), c(side * side);
    std::vector<int> tickets;
    for (int call = 0; call < 5; ++call) {
      tickets.push_back(communicator->start({Operation::all_reduce, view(values), view(values), 0}));
    }
    backend->device().gemm({view(a), view(b), view(c), side, side, side, 1, false, false, false});
    EXPECT_EQ(c.front(), 192.0F);  // 96 products of 1 and 2
    for (const int ticket : tickets) communicator->wait(ticket);
    // The first call sums both ranks' numbers; each of the four that follow doubles the sum.
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(values[static_cast<std::size_t>(i)], 16 * sum_of(2, i));
    }
    for (const int ticket : tickets) {
      EXPECT_GT(communicator->duration(ticket), Seconds(0));
      EXPECT_GT(communicator->host_time(ticket), Seconds(0));
    }
  });
}

TEST(Communicator, ReachesOnlyItsOwnRanks) {
  with_ranks(3, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const int rank = meeting.place().rank;
    std::vector<float> values{static_cast<float>(rank + 1)};
    if (rank != 1) {
      // Ranks 2 and 0, in this order: rank 0 is the second.
      const auto communicator = backend->communicator({2, 0});
      EXPECT_EQ(communicator->rank(), rank == 2 ? 0 : 1);
      run(*communicator, Operation::all_reduce, view(values), view(values));
      EXPECT_EQ(values[0], 4.0F);  // 1 + 3
    }
    const auto alone = backend->communicator({rank});
    std::vector<float> copied(1);
    run(*alone, Operation::all_reduce, view(values), view(copied));
    EXPECT_EQ(copied, values);
    const auto everyone = backend->communicator(all_of(meeting));
    values = {1};
    run(*everyone, Operation::all_reduce, view(values), view(values));
    EXPECT_EQ(values[0], 3.0F);
  });
}

TEST(Communicator, WaitingForALateRankTakesNoCpu) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    std::vector<float> values(1000, 1.0F);
    run(*communicator, Operation::all_reduce, view(values), view(values));
    constexpr double late = 0.5;
    if (communicator->rank() == 1) std::this_thread::sleep_for(std::chrono::duration<double>(late));
    const std::clock_t before = std::clock();  // of the whole process
    const int ticket = communicator->start({Operation::all_reduce, view(values), view(values), 0});
    communicator->wait(ticket);
    if (communicator->rank() == 1) return;
    EXPECT_GE(communicator->duration(ticket).value, late / 2);  // it did wait
    const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    EXPECT_LT(used, 0.05 * late);  // polling would use all of it, this uses below 1 ms
    EXPECT_LT(communicator->host_time(ticket).value, 0.05 * late);
  });
}

TEST(Communicator, WaitingWithComputeCountsInterruptsAsTheCalls) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    std::vector<float> values = input_of(communicator->rank(), 100'001);
    if (communicator->rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::clock_t before = std::clock();
    const int ticket = communicator->start({Operation::all_reduce, view(values), view(values), 0});
    communicator->wait_computing(ticket);
    const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    for (std::int64_t i = 0; i < 100'001; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], sum_of(2, i));
    // Of the process's time, some at most is the call's; the rest was the arithmetic that waited for rank 1.
    EXPECT_GT(communicator->host_time(ticket), Seconds(0));
    EXPECT_LT(communicator->host_time(ticket).value, used);
  });
}

TEST(Communicator, ARankThatDiesIsAMachineErrorOfTheOthers) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    if (meeting.place().rank == 1) _exit(0);
    std::vector<float> values(100'000, 1.0F);
    const int ticket = communicator->start({Operation::all_reduce, view(values), view(values), 0});
    try {
      communicator->wait(ticket);
      ADD_FAILURE() << "nobody was there to reduce with";
    } catch (const MachineError& failure) {
      EXPECT_NE(std::string(failure.what()).find("all_reduce of 391 KiB among 2 ranks failed"),
                std::string::npos)
          << failure.what();
    }
  });
}

TEST(Communicator, GoesAwayWhileACallIsUnderWay) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    auto communicator = backend->communicator(all_of(meeting));
    std::vector<float> values(1000);
    if (meeting.place().rank == 0) {
      static_cast<void>(communicator->start({Operation::all_reduce, view(values), view(values), 0}));
      communicator.reset();  // would hang if it waited for rank 1, which never calls
      meeting.put("gone", "");
    } else {
      static_cast<void>(meeting.get("gone"));
    }
  });
}

TEST(Communicator, RefusesSixteenBits) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    std::vector<std::uint16_t> values(10);
    const Tensor half{values.data(), 10, Dtype::fp16};
    EXPECT_THROW(static_cast<void>(communicator->start({Operation::all_reduce, half, half, 0})),
                 MachineError);
  });
}

TEST(Communicator, SaysHowCallsRun) {
  with_ranks(2, [](Meeting& meeting) {
    const auto backend = open_host_backend(meeting);
    const auto communicator = backend->communicator(all_of(meeting));
    const CollectiveFacts facts = communicator->facts({Operation::all_reduce, {}, {}, 0});
    EXPECT_EQ(facts.algorithm, "ring");
    EXPECT_EQ(facts.protocol, "tcp");
    EXPECT_EQ(facts.channels, 1);
  });
}

}  // namespace
}  // namespace stepcast
