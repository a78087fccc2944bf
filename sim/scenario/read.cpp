#include "sim/scenario/read.hpp"

#include <filesystem>

#include "sim/scenario/read_sections.hpp"

namespace stepcast {
namespace detail {

std::string resolve_path(const std::string& path, const SourcePlace& place) {
  const std::filesystem::path given(path);
  if (given.is_absolute() || place.file.starts_with("--set")) return path;
  return (std::filesystem::path(place.file).parent_path() / given).lexically_normal().string();
}

bool looks_like_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".json");
}

void read_model(const Value& table, ReadCache& cache, ReadResult& result) {
  TableReader reader(table, "model", result.faults);
  ModelSection& model = result.scenario.model;
  ModelRequest& request = model.request;
  int sources = 0;
  if (const auto preset = reader.string("preset")) {
    request.preset = *preset;
    model.place = reader.raw("preset")->place;
    ++sources;
  }
  const auto file = [&](std::string_view key, std::filesystem::path& path) {
    if (const auto given = reader.string(key)) {
      request.as_given = *given;
      model.place = reader.raw(key)->place;
      path = resolve_path(*given, model.place);
      ++sources;
    }
  };
  file("huggingface", request.huggingface);
  if (const Value* config = reader.table("config")) {
    request.config = *config;
    model.place = config->place;
    ++sources;
  }
  file("workload", request.workload);
  request.sequence_length = reader.integer("sequence_length", 1, 100'000'000);
  model.scale_compute = reader.boolean("scale_compute").value_or(false);
  for (const std::string_view later : {"mean_sequence_length", "lora_rank"}) {
    if (reader.has(later)) reader.fault(later, "model." + std::string(later) + " is known, not built yet");
  }
  reader.finish();

  if (sources != 1) {
    const bool any_given =
        reader.has("preset") || reader.has("huggingface") || reader.has("config") || reader.has("workload");
    if (sources > 1 || !any_given) {
      result.faults.push_back(
          {table.place,
           sources > 1
               ? "model.preset, model.huggingface, model.config and model.workload contradict each other"
               : "model.preset is missing",
           "expected exactly one of preset = \"llama-3.1-8b\", huggingface = \"config.json\", "
           "workload = \"w.toml\""});
    }
    return;
  }

  const std::string key = request.preset + "|" + request.huggingface.string() + "|" +
                          (request.config ? request.config->to_text() : "") + "|" +
                          request.workload.string() + "|" +
                          std::to_string(request.sequence_length.value_or(0));
  auto found = cache.models.find(key);
  if (found == cache.models.end()) {
    try {
      found = cache.models.emplace(key, build_model(request, model.place)).first;
    } catch (const ScenarioError& error) {
      for (Diagnostic fault : error.diagnostics()) {
        // A length that this model can't take is a matter of both keys: the point can't exist.
        const Value* length = table.find("sequence_length");
        if (length != nullptr && fault.message.starts_with("sequence_length")) {
          fault.place = length->place;
          result.impossible.push_back(std::move(fault));
        } else {
          result.faults.push_back(std::move(fault));
        }
      }
      return;
    }
  }
  const Model& built = found->second;
  result.model = &built;
  if (built.sequence_length > 0 && !reader.has("sequence_length") && !built.measured) {
    if (request.preset.empty()) {
      result.faults.push_back({table.place, "model.sequence_length is missing",
                               "expected the tokens of one sample, for example sequence_length = 2048"});
    } else {
      result.scenario.notes.push_back("model.sequence_length is not given: " +
                                      std::to_string(built.sequence_length) + " tokens, the preset's own");
    }
  }
  if (built.sequence_length == 0 && request.sequence_length) {
    result.scenario.notes.push_back("model.sequence_length is not used by " + built.name);
  }
}

namespace {

/// A measured workload holds for the micro-batch that was measured.
void check_workload(const Value& training, const MeasuredWorkload& workload, ReadResult& result) {
  Scenario& scenario = result.scenario;
  if (workload.samples_per_micro_batch == scenario.training.micro_batch_size) return;
  const std::string sizes =
      "training.micro_batch_size is " + std::to_string(scenario.training.micro_batch_size) +
      " but the workload was measured at " + std::to_string(workload.samples_per_micro_batch);
  if (scenario.model.scale_compute) {
    scenario.notes.push_back(sizes + ": compute is scaled linearly");
    return;
  }
  const Value* given = training.find("micro_batch_size");
  result.impossible.push_back({given != nullptr ? given->place : training.place, sizes,
                               "measure it again at this size, or set model.scale_compute = true"});
}

}  // namespace
}  // namespace detail

ReadResult read_scenario(const Value& document, ReadCache& cache) {
  ReadResult result;
  Scenario& scenario = result.scenario;
  TableReader reader(document, "", result.faults);
  scenario.title = reader.string("title").value_or("");
  for (const std::string_view section : {"model", "cluster", "training"}) {
    reader.require(section, "a table [" + std::string(section) + "]");
  }
  const Value* model = reader.table("model");
  const Value* cluster = reader.table("cluster");
  const Value* training = reader.table("training");
  if (model != nullptr) detail::read_model(*model, cache, result);
  if (cluster != nullptr) detail::read_cluster(*cluster, cache, result);
  if (training != nullptr) detail::read_training(*training, result);
  detail::read_nccl(reader.table("nccl"), result);
  if (const Value* input = reader.table("input")) {
    TableReader section(*input, "input", result.faults);
    scenario.input.samples_per_second_per_node = section.number("samples_per_second_per_node", 1e-9, 1e15);
    section.finish();
  }
  const Value* background = reader.tables("background");
  if (background != nullptr && cluster != nullptr) detail::read_background(*background, result);
  for (const std::string_view later : {"cost", "plan", "goodput", "measured"}) {
    if (reader.has(later)) reader.fault(later, "[" + std::string(later) + "] is known, not built yet");
  }
  reader.finish();

  if (training != nullptr && result.model != nullptr && result.model->measured) {
    detail::check_workload(*training, *result.model->measured, result);
  }
  return result;
}

ReadResult read_cluster_only(const Value& document, ReadCache& cache) {
  ReadResult result;
  TableReader reader(document, "", result.faults);
  result.scenario.title = reader.string("title").value_or("");
  reader.require("cluster", "a table [cluster]");
  const Value* cluster = reader.table("cluster");
  if (cluster != nullptr) detail::read_cluster(*cluster, cache, result);
  detail::read_nccl(reader.table("nccl"), result);
  const Value* background = reader.tables("background");
  if (background != nullptr && cluster != nullptr) detail::read_background(*background, result);
  for (const std::string_view other : {"model", "training", "input", "cost", "plan", "goodput", "measured"})
    reader.known(other);
  reader.finish();
  return result;
}

}  // namespace stepcast
