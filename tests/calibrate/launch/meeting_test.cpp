#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/calibrate/launch/forked_ranks.hpp"

namespace stepcast {
namespace {

using testing::Each;

TEST(Meeting, TextsReachWhoAsksForThem) {
  ForkedRanks ranks("aaa", [](Meeting& meeting) {
    const int rank = meeting.place().rank;
    // Each asks for its neighbour's text, whether it is there yet or not; one is longer than a socket holds.
    const std::string text(rank == 1 ? 3'000'000 : 3, static_cast<char>('x' + rank));
    if (rank != 2) meeting.put("of " + std::to_string(rank), text);
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      meeting.put("of 2", text);
    }
    const int next = (rank + 1) % 3;
    const std::string got = meeting.get("of " + std::to_string(next));
    require(got.size() == (next == 1 ? 3'000'000U : 3U) && got.front() == static_cast<char>('x' + next),
            "get");
  });
  EXPECT_THAT(ranks.exit_codes(), Each(0)) << ranks.printed();
}

TEST(Meeting, AllWaitInABarrierUntilTheLastComes) {
  ForkedRanks ranks("aaaa", [](Meeting& meeting) {
    if (meeting.place().rank == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::ofstream("the last one came");
    }
    meeting.barrier();
    require(std::filesystem::exists("the last one came"), "barrier");
  });
  EXPECT_THAT(ranks.exit_codes(), Each(0)) << ranks.printed();
}

TEST(Meeting, GatherAndBroadcastManyTimes) {
  ForkedRanks ranks("aaa", [](Meeting& meeting) {
    const int rank = meeting.place().rank;
    for (int time = 0; time < 50; ++time) {
      const std::string mine = std::to_string(10 * time + rank);
      const std::vector<std::string> all = meeting.gather(mine);
      const std::string first = std::to_string(10 * time);
      const std::vector<std::string> wanted = {first, std::to_string(10 * time + 1),
                                               std::to_string(10 * time + 2)};
      require(all == (rank == 0 ? wanted : std::vector<std::string>{}), "gather");
      require(meeting.broadcast(mine) == first, "broadcast");
    }
  });
  EXPECT_THAT(ranks.exit_codes(), Each(0)) << ranks.printed();
}

TEST(Meeting, NodesAreNumberedInTheOrderOfTheirFirstRank) {
  ForkedRanks ranks("baba", [](Meeting& meeting) {
    const RankPlace& place = meeting.place();
    require(place.size == 4 && place.nodes == 2, "size");
    require(place.node_of_rank == std::vector<int>({0, 1, 0, 1}), "node_of_rank");
    require(place.host_of_rank == std::vector<std::string>({"b", "a", "b", "a"}), "host_of_rank");
    require(place.node == place.rank % 2 && place.local_rank == place.rank / 2 && place.local_size == 2,
            "local");
    require(place.host == (place.rank % 2 == 0 ? "b" : "a"), "host");
    require(meeting.interface_address() == "127.0.0.1", "address");
  });
  EXPECT_THAT(ranks.exit_codes(), Each(0)) << ranks.printed();
}

TEST(Meeting, RanksMayLeaveInAnyOrder) {
  ForkedRanks ranks("aaa", [](Meeting& meeting) {
    const int rank = meeting.place().rank;
    std::this_thread::sleep_for(std::chrono::milliseconds(rank == 0 ? 0 : 300 / rank));
  });
  EXPECT_THAT(ranks.exit_codes(), Each(0)) << ranks.printed();
}

/// A rank that tries to join a meeting that isn't its own, or is none.
std::string refusal(const Rendezvous& rendezvous, int port) {
  MeetingLimits limits = quick_limits();
  limits.meet = Seconds(0.5);
  try {
    (void)meet_over_tcp(rendezvous, {{"127.0.0.1"}, port}, Socket(), limits);
  } catch (const MachineError& error) {
    return std::string(error.what()) + " | " + error.hint;
  }
  return "let in";
}

TEST(Meeting, AnotherProgramOnThePortIsTold) {
  const Socket listener = listen_on(0);
  std::thread other_program([&] {
    pollfd waiting{listener.get(), POLLIN, 0};
    poll(&waiting, 1, 5000);
    const Socket visitor = accept_from(listener);
    (void)!write(visitor.get(), "SSH-2.0-OpenSSH\r\n", 17);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  Rendezvous rendezvous;
  rendezvous.rank = 1;
  rendezvous.size = 2;
  const std::string told = refusal(rendezvous, port_of(listener));
  other_program.join();
  EXPECT_THAT(told, testing::HasSubstr("another program listens there"));
  EXPECT_THAT(told, testing::HasSubstr("set MASTER_PORT"));
}

TEST(Meeting, NobodyThereIsToldWithWhatToSet) {
  int port = 0;
  {
    const Socket listener = listen_on(0);
    port = port_of(listener);
  }
  Rendezvous rendezvous;
  rendezvous.rank = 1;
  rendezvous.size = 2;
  const std::string told = refusal(rendezvous, port);
  EXPECT_THAT(told, testing::HasSubstr("can't reach rank 0 at 127.0.0.1, port " + std::to_string(port)));
  EXPECT_THAT(told, testing::HasSubstr("set MASTER_ADDR"));
}

TEST(Meeting, RanksOfAnotherJobAreRefusedAndThoseOfThisOneStillMeet) {
  Socket listener = listen_on(0);
  const int port = port_of(listener);
  auto [own_end, servers_end] = socket_pair();
  Rendezvous rendezvous;
  rendezvous.size = 2;
  rendezvous.job = "one";
  std::string told;
  {
    // The visitors are threads here: a refused rank starts none of its own.
    MeetingServer server(rendezvous, quick_limits(), std::move(listener), std::move(servers_end));
    Rendezvous other = rendezvous;
    other.rank = 1;
    other.job = "two";
    told = refusal(other, port);
    other.job = "one";
    other.size = 3;
    // Of the same job, it ends the meeting.
    EXPECT_THAT(refusal(other, port),
                testing::HasSubstr("rank 0 was started as one of 2 ranks, rank 1 as one of 3"));
  }
  EXPECT_THAT(told, testing::HasSubstr("the port belongs to another job of stepcast (one; this one is two)"));
}

}  // namespace
}  // namespace stepcast
