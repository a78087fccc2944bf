#include "calibrate/measure/measured_json.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace stepcast {
namespace {

Measured a_collective() {
  Measured measured;
  measured.what.kind = Measurement::Kind::collective;
  measured.what.collective = Operation::reduce_scatter;
  measured.what.bytes = Bytes(1048576);
  measured.what.ranks = {0, 2};
  measured.what.group = "rail \"1\"";
  measured.what.nodes = 2;
  measured.median = Seconds(1.0 / 3);
  measured.low = Seconds(0.1);
  measured.high = Seconds(1e-9);
  measured.spread = 0.02;
  measured.by_rank = {Seconds(0.3), Seconds(0), Seconds(1.0 / 3)};
  measured.repeats = 7;
  measured.host = Seconds(2e-5);
  measured.alone = Seconds(3e-5);
  measured.facts = {"ring", "LL128", 8, Seconds(4e-5)};
  return measured;
}

TEST(MeasuredJson, IsOneLineThatIsReadBackExactly) {
  const Measured written = a_collective();
  const std::string line = to_json_line(written);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Measured read = measured_of(parse_json(line, "line"));
  EXPECT_EQ(read.what, written.what);
  EXPECT_EQ(read.median, written.median);
  EXPECT_EQ(read.low, written.low);
  EXPECT_EQ(read.high, written.high);
  EXPECT_EQ(read.by_rank, written.by_rank);
  EXPECT_EQ(read.repeats, 7);
  EXPECT_EQ(read.spread, 0.02);
  EXPECT_EQ(read.host, written.host);
  EXPECT_EQ(read.alone, written.alone);
  EXPECT_EQ(read.facts.algorithm, "ring");
  EXPECT_EQ(read.facts.protocol, "LL128");
  EXPECT_EQ(read.facts.channels, 8);
  EXPECT_EQ(read.facts.estimate, Seconds(4e-5));
}

TEST(PlannedJson, CarriesAPlanFromRankToRank) {
  PlannedMeasurement planned;
  planned.what.kind = Measurement::Kind::kernel;
  planned.what.operation = "norm";
  planned.what.pass = Pass::backward;
  planned.what.dtype = Dtype::bf16;
  planned.what.elements = 1LL << 40;
  planned.what.moved = Bytes(0.1);
  planned.one_call = Seconds(0.7);
  planned.expected = Seconds(1.1);
  planned.memory = Bytes(123);
  planned.stage = 2;
  const PlannedMeasurement read = planned_of(parse_json(to_json_line(planned), "line"));
  EXPECT_EQ(read.what, planned.what);
  EXPECT_EQ(read.one_call, planned.one_call);
  EXPECT_EQ(read.expected, planned.expected);
  EXPECT_EQ(read.memory, planned.memory);
  EXPECT_EQ(read.stage, 2);
}

TEST(MeasuredJson, NamesWhatIsMissingOrUnknown) {
  const auto fault_of = [](const std::string& line) -> std::string {
    try {
      (void)measured_of(parse_json(line, "line"));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault_of("{}"), "\"measurement\" is missing");
  std::string line = to_json_line(a_collective());
  line.replace(line.find("reduce_scatter"), 14, "reduce_shatter");
  EXPECT_EQ(fault_of(line), "unknown collective \"reduce_shatter\"");
}

}  // namespace
}  // namespace stepcast
