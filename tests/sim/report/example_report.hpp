#pragma once

#include "sim/report/report.hpp"

namespace stepcast {

/// A point with round figures: 10 ms step, 40 GiB of 80 GiB.
inline PointReport example_point() {
  PointReport point;
  point.gpus = 8;
  point.nodes = 1;
  point.data_parallel_size = 8;
  point.micro_batch_size = 2;
  point.gradient_accumulation_steps = 1;
  point.global_batch_size = 16;
  point.strategy = "ddp";
  point.fabric = "ethernet-100g";
  point.memory.parameters = gibibytes(10);
  point.memory.gradients = gibibytes(10);
  point.memory.optimizer = gibibytes(10);
  point.memory.activations = gibibytes(6);
  point.memory.buffers = gibibytes(2);
  point.memory.slack = gibibytes(1);
  point.memory.framework = gibibytes(2);
  point.memory.capacity = gibibytes(80);
  point.memory.peak_at = "start of backward (logits)";
  point.step_time = point.step_time_p05 = point.step_time_p50 = point.step_time_p95 = Seconds(10e-3);
  point.samples_per_s = 1600;
  point.tokens_per_s = 1600.0 * 1000;
  point.mfu = 0.4;
  point.hfu = 0.5;
  point.scaling_efficiency = 1.0;
  point.baseline_gpus = 8;
  point.breakdown.compute = Seconds(7e-3);
  point.breakdown.exposed_communication = Seconds(2e-3);
  point.breakdown.optimizer = Seconds(1e-3);
  CommunicationRow row;
  row.operation = "all_reduce";
  row.group = "data parallel";
  row.algorithm = "ring";
  row.protocol = "simple";
  row.bytes = Bytes(25e6);
  row.count = 4;
  row.time = Seconds(4e-3);
  row.bus_bandwidth = gigabytes_per_second(40);
  row.exposed = Seconds(2e-3);
  point.communication = {row};
  point.links = {{"nic", "node0.nic0 -> leaf0", 0.5, Seconds(4e-3)}};
  point.bottleneck = "gemm";
  point.origins = {{"gemm", "published"},   {"attention", "published"},
                   {"memory", "datasheet"}, {"nvlink", "published"},
                   {"network", ""},         {"software", "published"}};
  point.dtypes = {{"parameter_dtype", "fp32"},
                  {"gradient_dtype", "fp32"},
                  {"reduce_dtype", "fp32"},
                  {"optimizer_dtype", "fp32"},
                  {"precision", "bf16"}};
  return point;
}

inline void set(PointReport& point, const std::string& key, Value value) {
  point.settings.emplace_back(key, std::move(value));
}

/// Nodes 1 and 4 on two fabrics; the slow one holds 32 GPUs to a quarter.
inline Report example_sweep() {
  Report report;
  report.title = "An example";
  report.sample_word = "sequence";
  report.swept = {"cluster.nodes", "cluster.fabric"};
  for (const int nodes : {1, 4}) {
    for (const char* fabric : {"ethernet-10g", "infiniband-400g"}) {
      PointReport point = example_point();
      set(point, "cluster.nodes", Value::of(std::int64_t{nodes}));
      set(point, "cluster.fabric", Value::of(fabric));
      point.fabric = fabric;
      point.nodes = nodes;
      point.gpus = point.data_parallel_size = 8 * nodes;
      point.global_batch_size = 16 * nodes;
      const bool slow = nodes == 4 && point.fabric == "ethernet-10g";
      point.baseline = {{"cluster.nodes", Value::of(std::int64_t{1})}, {"cluster.fabric", Value::of(fabric)}};
      point.step_time = Seconds(slow ? 40e-3 : 10e-3);
      point.breakdown.exposed_communication = point.step_time - Seconds(8e-3);
      point.samples_per_s = static_cast<double>(point.global_batch_size) / point.step_time.value;
      point.tokens_per_s = 1000 * point.samples_per_s;
      point.scaling_efficiency = point.weak_efficiency = slow ? 0.25 : 1.0;
      if (nodes == 1) point.strong_efficiency = 1.0;
      if (slow) point.bottleneck = "nic";
      report.points.push_back(point);
    }
  }
  return report;
}

}  // namespace stepcast
