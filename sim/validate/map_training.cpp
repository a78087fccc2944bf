#include "sim/validate/row_mapper.hpp"

namespace stepcast::detail {
namespace {

struct Batch {
  long micro{}, accumulation{}, global{};
};

/// micro-batch x accumulation x GPUs = global batch; two of the three say the third, and where all are given
/// and disagree, accumulation follows (tables join it from other runs; the rate belongs to the global batch).
Batch batch_of(RowMapper& mapper, long gpus) {
  const MeasuredRow& row = mapper.row();
  const auto micro = row.count("micro_batch_per_gpu"), accumulation = row.count("grad_accum"),
             global = row.count("global_batch_sequences");
  if (!micro && !global) throw SkippedRow{"no batch size"};
  Batch batch;
  if (!global) {
    if (!accumulation) mapper.assume("no gradient accumulation");
    batch = {*micro, accumulation.value_or(1), 0};
    batch.global = batch.micro * batch.accumulation * gpus;
    return batch;
  }
  batch.global = *global;
  const std::string sizes =
      "global batch " + std::to_string(*global) + " on " + std::to_string(gpus) + " GPUs";
  if (!micro) {
    if (!accumulation) mapper.assume("no gradient accumulation");
    batch.accumulation = accumulation.value_or(1);
    if (*global % (gpus * batch.accumulation) != 0)
      throw SkippedRow{sizes + ": the micro-batch is not whole"};
    batch.micro = *global / (gpus * batch.accumulation);
    return batch;
  }
  batch.micro = *micro;
  if (*global % (gpus * batch.micro) != 0) {
    throw SkippedRow{sizes + " is no multiple of micro-batch " + std::to_string(batch.micro)};
  }
  batch.accumulation = *global / (gpus * batch.micro);
  if (accumulation && *accumulation != batch.accumulation) {
    mapper.assume("accumulation " + std::to_string(batch.accumulation) +
                  " from the global batch (the row says " + std::to_string(*accumulation) + ")");
  }
  return batch;
}

}  // namespace

MappedTraining map_training(RowMapper& mapper, const MappedModel& model, const MappedCluster& cluster) {
  const MappingRule& software =
      mapper.require("software", "framework \"{framework}\" has no software profile");
  const MappingRule& strategy =
      mapper.require("strategy", "strategy \"{zero_stage_or_sharding}\" ({parallelism}) is not known");
  const MappingRule& precision =
      mapper.require("precision", "precision \"{precision}\" is not known or not stated");
  const Batch batch = batch_of(mapper, cluster.gpus);

  MappedTraining training;
  training.software = software.text("software").value_or("");
  training.strategy = strategy.text("strategy").value_or("");
  training.global_batch = batch.global;
  TableMaker section(mapper.row());
  section.set("strategy", training.strategy).set("software", training.software);
  section.set("micro_batch_size", batch.micro).set("gradient_accumulation_steps", batch.accumulation);
  section.set("precision", precision.text("precision").value_or("")).set("optimizer", model.optimizer);
  if (!model.images) {
    const MappingRule& rule =
        mapper.require("checkpointing", "activation checkpointing \"{activation_checkpoint}\" is not known");
    section.set("activation_checkpointing", rule.text("checkpointing").value_or("none"));
  }
  if (const Value* further = software.table("training")) {
    for (const Value::Entry& entry : further->table) section.set(entry.key, entry.value);
  }
  training.section = section.value();
  return training;
}

}  // namespace stepcast::detail
