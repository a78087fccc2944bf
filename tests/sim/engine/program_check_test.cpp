#include "sim/engine/program_check.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/diagnostic.hpp"
#include "tests/sim/engine/program_builder.hpp"

namespace stepcast {
namespace {

using test::ProgramBuilder;

/// Two ranks, each: compute, then a collective of both; sound.
Program sound() {
  ProgramBuilder make(2);
  const int work = make.work({10});
  const int call = make.call(make.cost(1, 100, {{make.resource(1e12), 1}}), 2);
  for (int rank = 0; rank < 2; ++rank) {
    const int t = make.compute(rank, 0, work);
    make.collective(rank, 1, call, {{t, 0}});
  }
  return make.program;
}

void expect_fault(const Program& program, const std::string& says) {
  try {
    check(program);
    FAIL() << "accepted, expected: " << says;
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
  EXPECT_THROW((void)simulate(program), InternalError);
}

TEST(ProgramCheck, AcceptsASoundProgram) { EXPECT_NO_THROW(check(sound())); }

struct Spoiled {
  const char* name;
  std::function<void(Program&)> spoil;
  const char* says;
};

class SpoiledProgram : public testing::TestWithParam<Spoiled> {};

TEST_P(SpoiledProgram, IsRefusedWithThePlace) {
  Program program = sound();
  GetParam().spoil(program);
  expect_fault(program, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    ProgramCheck, SpoiledProgram,
    testing::Values(
        Spoiled{"Rank", [](Program& p) { p.tasks[2].rank = 2; }, "task 2: unknown rank"},
        Spoiled{"Stream", [](Program& p) { p.tasks[1].stream = 2; }, "task 1: unknown stream"},
        Spoiled{"Work", [](Program& p) { p.tasks[0].payload = 7; }, "task 0: unknown work"},
        Spoiled{"Collective", [](Program& p) { p.tasks[1].payload = -1; }, "task 1: unknown collective"},
        Spoiled{"WaitRange", [](Program& p) { p.tasks[1].wait_count = 9; }, "its waits are out of range"},
        Spoiled{"WaitTask", [](Program& p) { p.waits[0].task = 4; }, "wait 0: unknown task"},
        Spoiled{"WaitForward", [](Program& p) { p.waits[0].steps_back = -1; }, "a later step"},
        Spoiled{"HostTime", [](Program& p) { p.tasks[0].host_time = -1; }, "negative host time"},
        Spoiled{"Cost", [](Program& p) { p.collectives[0].cost = 1; }, "collective 0: unknown cost"},
        Spoiled{"CommunicatorIndex", [](Program& p) { p.collectives[0].communicator = 3; },
                "unknown communicator"},
        Spoiled{"Participants", [](Program& p) { p.collectives[0].participants = 3; },
                "its number of tasks is not its number of participants"},
        Spoiled{"TwiceOnOneRank", [](Program& p) { p.tasks[3].rank = 0; }, "takes part in the call twice"},
        Spoiled{"Resource", [](Program& p) { p.collective_costs[0].loads[0].resource = 5; },
                "unknown resource"},
        Spoiled{"Capacity", [](Program& p) { p.resources[0].capacity = 0; }, "capacity must be positive"},
        Spoiled{"Weight", [](Program& p) { p.collective_costs[0].loads[0].weight = -1; },
                "a weight is negative"},
        Spoiled{"Payload", [](Program& p) { p.collective_costs[0].payload = -5; }, "payload is negative"},
        Spoiled{"Durations", [](Program& p) { p.works[0].durations.clear(); }, "differ in number"},
        Spoiled{"Levels",
                [](Program& p) {
                  p.reserved_levels = {0, 8, 8};
                },
                "must ascend"},
        Spoiled{"Concurrency", [](Program& p) { p.communicators[0].concurrency = 0; }, "serves no call"},
        Spoiled{"EndTask", [](Program& p) { p.end_task = 4; }, "end_task is no task"},
        Spoiled{"Marks", [](Program& p) { p.repeated_micro_batches = 3; }, "two marks"},
        Spoiled{"SelfWait", [](Program& p) { p.waits[0].task = 1; },
                "waits, within one step, for what waits for it"}),
    [](const testing::TestParamInfo<Spoiled>& param) { return std::string(param.param.name); });

TEST(ProgramCheck, RefusesCommunicatorOrdersThatDifferBetweenRanks) {
  ProgramBuilder make(2, 3);
  const int cost = make.cost(1, 100, {{make.resource(1e12), 1}});
  const int a = make.call(cost, 2), b = make.call(cost, 2);
  make.collective(0, 1, a);
  make.collective(0, 2, b);
  make.collective(1, 2, b);
  make.collective(1, 1, a);
  expect_fault(make.program, "issued in different orders on different ranks");
}

// Rank 0's stream: a then b; rank 1's: b then a, on two communicators: each rank's kernel waits for the
// other's.
TEST(ProgramCheck, RefusesStreamsThatCrossBetweenRanks) {
  ProgramBuilder make(2, 1);
  const int cost = make.cost(1, 100, {{make.resource(1e12), 1}});
  const int a = make.call(cost, 2, 0), b = make.call(cost, 2, make.communicator());
  make.collective(0, 0, a);
  make.collective(0, 0, b);
  make.collective(1, 0, b);
  make.collective(1, 0, a);
  expect_fault(make.program, "waits, within one step, for what waits for it");
}

TEST(ProgramCheck, RefusesACpuThatWaitsForWhatItHasNotIssued) {
  ProgramBuilder make;
  const int work = make.work({10});
  make.compute(0, 0, work);
  make.host_wait(0, {{2, 0}});
  make.compute(0, 0, work);
  expect_fault(make.program, "waits, within one step, for what waits for it");
}

TEST(ProgramCheck, AcceptsAWaitForALaterTaskOfTheStepBefore) {
  ProgramBuilder make;
  const int work = make.work({10});
  make.compute(0, 0, work, {{1, 1}});
  make.compute(0, 1, work);
  EXPECT_NO_THROW(check(make.program));
}

}  // namespace
}  // namespace stepcast
