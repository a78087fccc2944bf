#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/hash.hpp"
#include "calibrate/device.hpp"
#include "calibrate/launch/host_list.hpp"
#include "calibrate/launch/meeting.hpp"

namespace stepcast {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string* find(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

std::string text_or(const Environment& environment, const std::string& name, const std::string& otherwise) {
  const std::string* text = find(environment, name);
  return text ? *text : otherwise;
}

std::int64_t number(const std::string& name, const std::string& text, const std::string& hint) {
  std::int64_t value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw MachineError(name + "=" + text + " is not a whole number from 0", hint);
  }
  return value;
}

std::int64_t number(const Environment& environment, const std::string& name, const std::string& beside,
                    const std::string& hint) {
  const std::string* text = find(environment, name);
  if (!text) throw MachineError(beside + " is set, but " + name + " is not", hint);
  return number(name, *text, hint);
}

/// Of the range below Linux's ephemeral ports, so that jobs of one host rarely want the same one.
int derived_port(const std::string& job) {
  constexpr std::uint64_t first = 20000, count = 12000;
  std::uint64_t hash = 0;
  for (const char letter : job) hash = splitmix64(hash ^ static_cast<unsigned char>(letter));
  return static_cast<int>(first + hash % count);
}

void set_place(Rendezvous& to, const Environment& environment, const std::string& rank_name,
               const std::string& size_name, const std::string& hint) {
  const std::int64_t rank = number(environment, rank_name, size_name, hint);
  const std::int64_t size = number(environment, size_name, rank_name, hint);
  constexpr std::int64_t most = 1 << 20;
  if (size < 1 || size > most) {
    throw MachineError(size_name + "=" + std::to_string(size) + " is no number of processes", hint);
  }
  if (rank >= size) {
    throw MachineError(rank_name + "=" + std::to_string(rank) + " is not below " + size_name + "=" +
                           std::to_string(size) + ": ranks count from 0",
                       hint);
  }
  to.rank = static_cast<int>(rank);
  to.size = static_cast<int>(size);
}

void set_port(Rendezvous& to, const Environment& environment, int otherwise) {
  const std::string* text = find(environment, "MASTER_PORT");
  if (!text) {
    to.port = otherwise;
    return;
  }
  const std::string hint = "MASTER_PORT is a free TCP port of rank 0's host, 1024 to 65535";
  const std::int64_t port = number("MASTER_PORT", *text, hint);
  if (port < 1 || port > 65535) throw MachineError("MASTER_PORT=" + *text + " is no TCP port", hint);
  to.port = static_cast<int>(port);
}

/// RANK and WORLD_SIZE, as torchrun sets them, or a script by hand.
Rendezvous by_hand(const Environment& environment) {
  Rendezvous result;
  result.launcher = "script";
  set_place(result, environment, "RANK", "WORLD_SIZE",
            "set RANK (0 to WORLD_SIZE - 1, another for each process) and WORLD_SIZE, or unset both");
  if (result.size == 1) return result;
  result.address = text_or(environment, "MASTER_ADDR", "");
  if (result.address.empty()) {
    throw MachineError("RANK and WORLD_SIZE are set, but MASTER_ADDR is not",
                       "set MASTER_ADDR to rank 0's host, the same in all processes");
  }
  constexpr int pytorch_default = 29500;
  set_port(result, environment, pytorch_default);
  result.job = "port " + std::to_string(result.port);
  // torchrun's agent serves MASTER_PORT itself, so the ranks take another.
  if (const std::string* run = find(environment, "TORCHELASTIC_RUN_ID")) {
    result.launcher = "torchrun";
    result.job = "torchrun " + *run + " " + std::to_string(result.port);
    result.port = derived_port(result.job);
  }
  return result;
}

Rendezvous under_mpirun(const Environment& environment, const std::string& rank_name,
                        const std::string& size_name) {
  Rendezvous result;
  result.launcher = "mpirun";
  set_place(result, environment, rank_name, size_name,
            "mpirun sets both for each process; don't set them yourself");
  if (result.size == 1) return result;
  result.address = text_or(environment, "MASTER_ADDR", "");
  if (result.address.empty()) return result;
  const std::string job = text_or(environment, "PMIX_NAMESPACE", "");
  constexpr int pytorch_default = 29500;
  set_port(result, environment, job.empty() ? pytorch_default : derived_port(job));
  result.job = "mpirun " + (job.empty() ? "port " + std::to_string(result.port) : job);
  return result;
}

/// The id of the step that srun started this process in. A batch script has SLURM_PROCID=0 and may have
/// SLURM_NTASKS, too, but no step's id; the shell of an interactive salloc has one of the reserved ids.
const std::string* step_id(const Environment& environment) {
  const std::string* id = find(environment, "SLURM_STEP_ID");
  if (!id) id = find(environment, "SLURM_STEPID");
  if (!id) return nullptr;
  constexpr std::int64_t first_reserved = 0xfffffff0;  // SLURM_MAX_NORMAL_STEP_ID in slurm.h
  return number("SLURM_STEP_ID", *id, "srun sets it; don't set it yourself") < first_reserved ? id : nullptr;
}

std::string tasks_variable(const Environment& environment) {
  return find(environment, "SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

Rendezvous under_srun(const Environment& environment, const std::string& step) {
  Rendezvous result;
  result.launcher = "srun";
  set_place(result, environment, "SLURM_PROCID", tasks_variable(environment),
            "srun sets both for each task; in a script that imitates it, set them yourself");
  if (result.size == 1) return result;
  const std::string* job = find(environment, "SLURM_JOB_ID");
  if (!job) job = find(environment, "SLURM_JOBID");
  if (!job && !find(environment, "MASTER_PORT")) {
    throw MachineError("SLURM_STEP_ID is set, but SLURM_JOB_ID is not",
                       "srun sets it, and the port on which ranks meet comes from it; or set MASTER_PORT");
  }
  result.job = "slurm " + (job ? *job : "port " + *find(environment, "MASTER_PORT")) + "." + step;
  set_port(result, environment, derived_port(result.job));

  result.address = text_or(environment, "MASTER_ADDR", "");
  if (!result.address.empty()) return result;
  std::string name = "SLURM_STEP_NODELIST";
  if (!find(environment, name)) name = "SLURM_JOB_NODELIST";
  const std::string* nodes = find(environment, name);
  if (!nodes) {
    throw MachineError("neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is set",
                       "srun sets them, and their first host is rank 0's; or set MASTER_ADDR");
  }
  try {
    result.address = first_host(*nodes);
  } catch (const std::invalid_argument& fault) {
    throw MachineError(name + "=" + *nodes + " is no list of hosts: " + fault.what(),
                       "hosts are written n1,n2 or n[01-16]; or set MASTER_ADDR to rank 0's host");
  }
  return result;
}

}  // namespace

Rendezvous read_rendezvous(const std::map<std::string, std::string>& environment) {
  const bool rank = find(environment, "RANK"), world = find(environment, "WORLD_SIZE");
  const bool open_mpi =
      find(environment, "OMPI_COMM_WORLD_RANK") || find(environment, "OMPI_COMM_WORLD_SIZE");
  const bool pmi = find(environment, "PMI_RANK") || find(environment, "PMI_SIZE");
  const std::string* step = step_id(environment);

  // The innermost launcher wins: torchrun runs inside mpirun or srun, and mpirun's daemons are started by
  // srun.
  if (rank && world) return by_hand(environment);
  if (open_mpi) return under_mpirun(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  // srun --mpi=pmi2 sets PMI_*, too, but knows the hosts; an mpirun inside srun counts other processes.
  const bool pmi_of_srun =
      pmi && step &&
      text_or(environment, "PMI_SIZE", "") == text_or(environment, tasks_variable(environment), "");
  if (pmi && !pmi_of_srun) return under_mpirun(environment, "PMI_RANK", "PMI_SIZE");
  if (step) return under_srun(environment, *step);
  if (rank) return by_hand(environment);  // says that WORLD_SIZE is missing
  return {};
}

}  // namespace stepcast
