#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "calibrate/device.hpp"
#include "calibrate/launch/host_list.hpp"
#include "calibrate/launch/meeting.hpp"

namespace stepcast {
namespace {

using Environment = std::map<std::string, std::string>;
using testing::HasSubstr;

Environment with(Environment base, const Environment& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}

Environment without(Environment base, const std::string& name) {
  base.erase(name);
  return base;
}

/// MeetingMessage and hint of the error, or "no error".
std::string fault_of(const Environment& environment) {
  try {
    (void)read_rendezvous(environment);
  } catch (const MachineError& error) {
    return std::string(error.what()) + " | " + error.hint;
  }
  return "no error";
}

const Environment srun = {
    {"SLURM_JOB_ID", "4711"},          {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"},
    {"SLURM_STEP_NUM_TASKS", "8"},     {"SLURM_NTASKS", "8"},  {"SLURM_STEP_NODELIST", "n[02-03]"},
    {"SLURM_JOB_NODELIST", "n[01-04]"}};
const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
const Environment torchrun = {
    {"RANK", "5"}, {"WORLD_SIZE", "16"}, {"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29400"}};

TEST(HostList, FirstHostOfSlurmsLists) {
  EXPECT_EQ(first_host("n[01-03,7],gpu1"), "n01");
  EXPECT_EQ(first_host("gpu1,n[01-03]"), "gpu1");
  EXPECT_EQ(first_host("n[7]"), "n7");
  EXPECT_EQ(first_host("rack[2-3]n[08,11]-ib"), "rack2n08-ib");
  EXPECT_EQ(first_host("login.cluster.org"), "login.cluster.org");
}

TEST(HostList, WhatIsNoListIsTold) {
  EXPECT_THROW((void)first_host(""), std::invalid_argument);
  EXPECT_THROW((void)first_host("n[01-03"), std::invalid_argument);
  EXPECT_THROW((void)first_host("n[]"), std::invalid_argument);
}

TEST(Rendezvous, WithoutALauncherAProcessIsAlone) {
  const Rendezvous alone = read_rendezvous({{"MASTER_ADDR", "left over"}});
  EXPECT_EQ(alone.size, 1);
  EXPECT_EQ(alone.launcher, "none");
}

TEST(Rendezvous, SrunsTasksMeetOnTheFirstHostOfTheStep) {
  const Rendezvous found = read_rendezvous(srun);
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.size, 8);
  EXPECT_EQ(found.address, "n02");  // of the step, not of the job
  EXPECT_EQ(found.launcher, "srun");
  EXPECT_EQ(read_rendezvous(without(srun, "SLURM_STEP_NODELIST")).address, "n01");
}

TEST(Rendezvous, ThePortComesFromJobAndStepUnlessGiven) {
  const int port = read_rendezvous(srun).port;
  EXPECT_GE(port, 20000);
  EXPECT_LT(port, 32000);  // Linux hands out ports from 32768
  EXPECT_EQ(read_rendezvous(with(srun, {{"SLURM_PROCID", "0"}})).port, port);
  EXPECT_NE(read_rendezvous(with(srun, {{"SLURM_STEP_ID", "1"}})).port, port);
  EXPECT_NE(read_rendezvous(with(srun, {{"SLURM_JOB_ID", "4712"}})).port, port);
  EXPECT_EQ(read_rendezvous(with(srun, {{"MASTER_PORT", "4000"}})).port, 4000);
}

TEST(Rendezvous, TheBatchScriptItselfIsAloneThoughItSeesTheJobsTasks) {
  EXPECT_EQ(read_rendezvous(with(without(srun, "SLURM_STEP_ID"), {{"SLURM_PROCID", "0"}})).size, 1);
  // The shell of an interactive salloc is a step of its own kind: SLURM_INTERACTIVE_STEP.
  EXPECT_EQ(read_rendezvous(with(srun, {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}})).size, 1);
}

TEST(Rendezvous, TheStepsTasksCountNotTheJobs) {
  EXPECT_EQ(read_rendezvous(with(srun, {{"SLURM_NTASKS", "64"}})).size, 8);
  EXPECT_EQ(read_rendezvous(without(srun, "SLURM_STEP_NUM_TASKS")).size, 8);
}

TEST(Rendezvous, MpirunsRanksAskMpiUnlessTheAddressIsGiven) {
  const Rendezvous asks = read_rendezvous(mpirun);
  EXPECT_EQ(asks.rank, 1);
  EXPECT_EQ(asks.size, 2);
  EXPECT_EQ(asks.address, "");
  EXPECT_EQ(asks.port, 0);
  EXPECT_EQ(asks.launcher, "mpirun");
  const Rendezvous given = read_rendezvous(with(mpirun, {{"MASTER_ADDR", "n1"}, {"PMIX_NAMESPACE", "77@1"}}));
  EXPECT_EQ(given.address, "n1");
  EXPECT_NE(given.port,
            read_rendezvous(with(mpirun, {{"MASTER_ADDR", "n1"}, {"PMIX_NAMESPACE", "78@1"}})).port);
}

TEST(Rendezvous, HydrasRanksNeedAnAddress) {
  const Rendezvous found =
      read_rendezvous({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "4000"}});
  EXPECT_EQ(found.rank, 2);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.port, 4000);
  EXPECT_EQ(found.launcher, "mpirun");
}

TEST(Rendezvous, SrunWithPmi2IsSrun) {
  EXPECT_EQ(read_rendezvous(with(srun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}})).launcher, "srun");
}

TEST(Rendezvous, AnMpirunInsideAnSrunWins) {
  // mpirun's daemons are tasks of a step: one a node.
  const Environment daemons = with(srun, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(read_rendezvous(with(daemons, mpirun)).launcher, "mpirun");
  const Rendezvous hydra = read_rendezvous(with(daemons, {{"PMI_RANK", "5"}, {"PMI_SIZE", "16"}}));
  EXPECT_EQ(hydra.launcher, "mpirun");
  EXPECT_EQ(hydra.size, 16);
}

TEST(Rendezvous, RankAndWorldSizeWinOverTheLauncherAround) {
  const Rendezvous found = read_rendezvous(with(srun, torchrun));
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.size, 16);
  EXPECT_EQ(found.address, "10.0.0.7");
  EXPECT_EQ(found.port, 29400);
  EXPECT_EQ(found.launcher, "script");
}

TEST(Rendezvous, TorchrunsAgentKeepsMasterPortForItself) {
  const Environment agent = with(torchrun, {{"TORCHELASTIC_RUN_ID", "a"}});
  EXPECT_EQ(read_rendezvous(agent).launcher, "torchrun");
  EXPECT_NE(read_rendezvous(agent).port, 29400);
  EXPECT_NE(read_rendezvous(agent).port, read_rendezvous(with(agent, {{"TORCHELASTIC_RUN_ID", "b"}})).port);
}

TEST(Rendezvous, WorldSizeAloneIsLeftOverFromAScript) {
  // sbatch scripts often export WORLD_SIZE and MASTER_ADDR, and let srun count the ranks.
  const Rendezvous found = read_rendezvous(with(srun, {{"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n09"}}));
  EXPECT_EQ(found.launcher, "srun");
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.address, "n09");
}

TEST(Rendezvous, WhatIsMissingIsNamedWithWhatToSet) {
  EXPECT_THAT(fault_of({{"RANK", "1"}}), HasSubstr("RANK is set, but WORLD_SIZE is not | set RANK"));
  EXPECT_THAT(fault_of(without(torchrun, "MASTER_ADDR")), HasSubstr("MASTER_ADDR is not | set MASTER_ADDR"));
  EXPECT_THAT(fault_of(without(mpirun, "OMPI_COMM_WORLD_SIZE")), HasSubstr("OMPI_COMM_WORLD_SIZE is not"));
  EXPECT_THAT(fault_of({{"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK is not"));
  EXPECT_THAT(fault_of(without(srun, "SLURM_PROCID")), HasSubstr("SLURM_PROCID is not"));
  EXPECT_THAT(fault_of(without(srun, "SLURM_JOB_ID")), HasSubstr("SLURM_JOB_ID is not"));
  EXPECT_THAT(fault_of(without(without(srun, "SLURM_STEP_NODELIST"), "SLURM_JOB_NODELIST")),
              HasSubstr("SLURM_JOB_NODELIST is set | srun sets them"));
}

TEST(Rendezvous, WhatIsWrongIsNamed) {
  EXPECT_THAT(fault_of(with(torchrun, {{"RANK", "one"}})), HasSubstr("RANK=one is not a whole number"));
  EXPECT_THAT(fault_of(with(torchrun, {{"RANK", "16"}})), HasSubstr("RANK=16 is not below WORLD_SIZE=16"));
  EXPECT_THAT(fault_of(with(torchrun, {{"RANK", "0"}, {"WORLD_SIZE", "0"}})), HasSubstr("WORLD_SIZE=0"));
  EXPECT_THAT(fault_of(with(torchrun, {{"MASTER_PORT", "70000"}})), HasSubstr("MASTER_PORT=70000"));
  EXPECT_THAT(fault_of(with(srun, {{"SLURM_STEP_NODELIST", "n[1-"}})), HasSubstr("SLURM_STEP_NODELIST=n[1-"));
}

}  // namespace
}  // namespace stepcast
