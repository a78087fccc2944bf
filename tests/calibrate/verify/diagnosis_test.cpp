// Logs are made from the model's own predictions of a broken cluster: doctor must name what was broken.
#include "calibrate/verify/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.hpp"
#include "calibrate/verify/findings.hpp"
#include "sim/report/collective_model.hpp"
#include "sim/report/collective_table.hpp"
#include "tests/calibrate/verify/scenarios.hpp"

namespace stepcast {
namespace {

using Times = std::vector<std::pair<Bytes, Seconds>>;

/// 1 MiB to 1 GiB, `slower` times what the model says.
Times times_on(const Scenario& scenario, double slower = 1) {
  std::vector<Bytes> sizes;
  for (double mib = 1; mib <= 1024; mib *= 4) sizes.push_back(mebibytes(mib));
  const Profile profile = collective_profile(scenario);
  Times times;
  for (const CollectiveRow& row :
       collective_rows(*collective_model(scenario, profile), Operation::all_reduce, sizes))
    times.emplace_back(row.size, slower * row.time);
  return times;
}

Diagnosis diagnosis_of(const Times& times, const Scenario& scenario, const Testimony& said = {}) {
  Diagnosis diagnosis;
  diagnosis.file = "x.log";
  diagnosis.kind = "nccl-tests log";
  diagnosis.hardware = hardware_of(scenario);
  compare_collective_times(diagnosis, scenario, Operation::all_reduce, times, said);
  return diagnosis;
}

const Scenario& hypothesis(const std::vector<Hypothesis>& all, Cause cause) {
  for (const Hypothesis& one : all)
    if (one.cause == cause) return one.scenario;
  throw std::logic_error("the scenario can't have this cause");
}

TEST(Diagnosis, NothingIsFoundAtTwoThirdsOfThePerformance) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const Diagnosis diagnosis = diagnosis_of(times_on(scenario, 1.5), scenario);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.figures.size(), 6u);  // 1, 4, 16, 64, 256, 1024 MiB
  EXPECT_THAT(to_text(diagnosis), testing::HasSubstr("All is as expected"));
}

TEST(Diagnosis, ASizeThatIsSlowAloneIsNamedThoughItsBandIsNot) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  Times times = times_on(scenario);
  times[1].second = 4 * times[1].second;  // 4 MiB, of a band with 1 MiB
  const Diagnosis diagnosis = diagnosis_of(times, scenario);
  EXPECT_TRUE(diagnosis.findings.empty());
  const std::string text = to_text(diagnosis);
  EXPECT_THAT(text, testing::HasSubstr("by themselves: all_reduce on 16 ranks, 4.00 MiB (25.0 %)."));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("All is as expected")));
}

TEST(Diagnosis, NamesWhatWasBroken) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const std::vector<Hypothesis> all = hypotheses_of(scenario);
  for (const Cause cause : {Cause::tcp_sockets, Cause::no_gpudirect, Cause::one_nic, Cause::no_nvlink}) {
    const Diagnosis diagnosis = diagnosis_of(times_on(hypothesis(all, cause)), scenario);
    ASSERT_EQ(diagnosis.findings.size(), 1u) << name_of(cause);
    const Suspect* likely = diagnosis.findings[0].likely();
    ASSERT_NE(likely, nullptr) << name_of(cause);
    EXPECT_EQ(likely->cause, cause) << name_of(likely->cause);
    EXPECT_NEAR(likely->factor, 1, 1e-9);
  }
}

TEST(Diagnosis, ALineOfTheLogBeatsANumberThatFitsBetter) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const Times times = times_on(hypothesis(hypotheses_of(scenario), Cause::one_nic));
  const Testimony said{{{Cause::no_gpudirect, 7, "via NET/IB/0"}}, {}};
  const Diagnosis diagnosis = diagnosis_of(times, scenario, said);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].likely()->cause, Cause::no_gpudirect);
}

TEST(Diagnosis, WhatTheLogRefutesIsNoSuspect) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const Times times = times_on(hypothesis(hypotheses_of(scenario), Cause::one_nic));
  const Diagnosis diagnosis = diagnosis_of(times, scenario, {{}, {Cause::one_nic}});
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  for (const Suspect& suspect : diagnosis.findings[0].suspects) EXPECT_NE(suspect.cause, Cause::one_nic);
}

TEST(Diagnosis, WhatNoCauseExplainsHasNoLikelyOne) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const Diagnosis diagnosis = diagnosis_of(times_on(scenario, 1e4), scenario);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].likely(), nullptr);
  EXPECT_THAT(to_text(diagnosis), testing::HasSubstr("None of the usual causes"));
}

TEST(Diagnosis, JsonHoldsFiguresFindingsAndSuspects) {
  const Scenario scenario = cluster_scenario(2, "hgx-h100", 8, "infiniband-400g");
  const Times times = times_on(hypothesis(hypotheses_of(scenario), Cause::one_nic));
  const Value json = parse_json(to_json(diagnosis_of(times, scenario)), "x.json");
  EXPECT_EQ(json.find("schema")->string, "stepcast.diagnosis/1");
  EXPECT_EQ(json.find("figures")->array.size(), 6u);
  const Value& finding = json.find("findings")->array.at(0);
  EXPECT_EQ(finding.find("likely")->string, "one_nic");
  EXPECT_LT(finding.find("performance")->real, 0.5);
  const Value& suspect = finding.find("suspects")->array.at(0);
  EXPECT_EQ(suspect.find("cause")->string, "one_nic");
  EXPECT_EQ(suspect.find("explained")->array.size(), finding.find("figures")->array.size());
}

TEST(Hypotheses, OnlyWhatTheHardwareCanHave) {
  const auto causes = [](const Scenario& scenario) {
    std::vector<Cause> found;
    for (const Hypothesis& one : hypotheses_of(scenario)) found.push_back(one.cause);
    return found;
  };
  EXPECT_THAT(causes(cluster_scenario(1, "pcie-rtx-4090", 4, "")), testing::ElementsAre(Cause::slow_pcie));
  EXPECT_THAT(causes(cluster_scenario(2, "cpu-host", 1, "ethernet-1g")), testing::IsEmpty());
  EXPECT_THAT(causes(cluster_scenario(1, "hgx-h100", 8, "")),
              testing::ElementsAre(Cause::no_nvlink, Cause::slow_pcie));
}

}  // namespace
}  // namespace stepcast
