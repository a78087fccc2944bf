#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace stepcast::test {

inline Measured taken(Measurement what, Seconds time, double error = 0.002) {
  Measured one;
  one.what = std::move(what);
  one.median = time;
  one.low = (1 - 1.96 * error) * time;
  one.high = (1 + 1.96 * error) * time;
  one.spread = 0.03;
  one.by_rank = {time};
  one.repeats = 10;
  return one;
}

inline Measurement gemm_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool transpose_a,
                           bool transpose_b, Dtype type = Dtype::fp32) {
  Measurement what;
  what.kind = Measurement::Kind::gemm;
  what.dtype = type;
  what.rows = rows;
  what.columns = columns;
  what.depth = depth;
  what.transpose_a = transpose_a;
  what.transpose_b = transpose_b;
  return what;
}

inline Measurement kernel_of(const std::string& operation, double moved, Pass pass = Pass::forward,
                             Dtype type = Dtype::fp32) {
  Measurement what;
  what.kind = Measurement::Kind::kernel;
  what.dtype = type;
  what.operation = operation;
  what.pass = pass;
  what.moved = Bytes(moved);
  return what;
}

inline Measurement collective_of(Operation operation, double bytes, int ranks, int nodes) {
  Measurement what;
  what.kind = Measurement::Kind::collective;
  what.collective = operation;
  what.bytes = Bytes(bytes);
  for (int rank = 0; rank < ranks; ++rank) what.ranks.push_back(rank);
  what.nodes = nodes;
  what.group = "all";
  return what;
}

/// Two plain machines with one rank each, nothing measured yet.
inline MeasuredSet two_hosts() {
  MeasuredSet set;
  set.device.profile_name = "cpu-host";
  set.device.model = "a \"quoted\" CPU";
  set.device.memory_capacity = gibibytes(8);
  set.device.dtypes = {Dtype::fp32};
  set.node = "cpu-host";
  set.fabric = "ethernet-1g";
  set.link_rate = gigabits_per_second(1);
  set.nodes = set.ranks = 2;
  set.ranks_per_node = 1;
  set.hosts = {"a", "b"};
  set.measured_on = "2026-12-01, a b";
  return set;
}

}  // namespace stepcast::test
