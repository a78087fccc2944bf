#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/diagnostic.hpp"
#include "base/print.hpp"
#include "calibrate/backend.hpp"
#include "calibrate/cuda/cuda_device.hpp"
#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/cuda/nccl_communicator.hpp"
#include "calibrate/cuda/nvml.hpp"
#include "calibrate/launch/meeting.hpp"

extern char** environ;

namespace stepcast {
namespace {

/// Every rank of a node takes the GPU of its place, unless it sees only its own.
int choose_gpu(const RankPlace& place) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    throw MachineError(place.host + " has no NVIDIA driver (libcuda.so.1)",
                       "run on a machine with a GPU, or use --backend host");
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    throw MachineError("the driver of " + place.host + " knows CUDA up to " + std::to_string(driver / 1000) +
                           "." + std::to_string(driver % 1000 / 10) + ", older than CUDA " +
                           std::to_string(CUDART_VERSION / 1000) + ", which stepcast was built with",
                       "build with that CUDA, or update the driver");
  }
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    throw MachineError(place.host + " has no GPU that CUDA can use: " +
                           (status != cudaSuccess ? cudaGetErrorString(status) : "none is visible"),
                       "ask the scheduler for GPUs, and check CUDA_VISIBLE_DEVICES");
  }
  if (count == 1) return 0;
  if (place.local_rank >= count) {
    throw MachineError(place.host + " has " + std::to_string(count) + " GPUs for " +
                           std::to_string(place.local_size) + " ranks",
                       "start one rank per GPU");
  }
  return place.local_rank;
}

std::string unique_name(int ordinal) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "describe the GPU");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : properties.uuid.bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4U];
    text += digits[value & 15U];
  }
  return text;
}

/// @throws MachineError on all ranks where two have the same GPU
void refuse_shared_gpus(Meeting& meeting, int ordinal) {
  const std::vector<std::string> names = meeting.gather(unique_name(ordinal));
  std::map<std::string, std::size_t> first;
  std::string fault;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [known, is_new] = first.try_emplace(names[rank], rank);
    if (!is_new) {
      fault = "ranks " + std::to_string(known->second) + " and " + std::to_string(rank) +
              " have the same GPU of " + meeting.place().host_of_rank[rank];
    }
  }
  fault = meeting.broadcast(fault);
  if (!fault.empty())
    throw MachineError(fault, "start one rank per GPU, and let each see its own or all of its node");
}

std::string bus_id(int ordinal) {
  char text[32]{};
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, ordinal), "tell where the GPU is");
  return text;
}

std::string name_of_process(int id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(file, name);
  return "pid " + std::to_string(id) + (name.empty() ? "" : " (" + name + ")");
}

std::string hex(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) {
    text += static_cast<char>('a' + (static_cast<unsigned char>(byte) >> 4U));
    text += static_cast<char>('a' + (static_cast<unsigned char>(byte) & 15U));
  }
  return text;
}

ncclUniqueId unique_id(const std::string& text) {
  ncclUniqueId id{};
  STEPCAST_CHECK(text.size() == 2 * sizeof id.internal, "an id of NCCL in letters");
  for (std::size_t i = 0; i < sizeof id.internal; ++i) {
    id.internal[i] = static_cast<char>((text[2 * i] - 'a') * 16 + (text[2 * i + 1] - 'a'));
  }
  return id;
}

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(Meeting& meeting) : meeting_(meeting) {
    const int ordinal = choose_gpu(meeting.place());
    nvml_ = Nvml::open(bus_id(ordinal));
    if (nvml_ != nullptr) {  // before this process adds to it
      utilization_before_ = nvml_->utilization();
      memory_before_ = nvml_->memory_used();
    }
    refuse_shared_gpus(meeting, ordinal);
    const bool speaks = meeting.place().rank == 0;
    device_ = std::make_unique<CudaDevice>(ordinal, [speaks](const std::string& line) {
      if (speaks) std::cerr << "note: " << line << "\n";
    });
    if (nvml_ != nullptr) {
      device_->add_version("driver", nvml_->driver_version());
      device_->add_version("SM clock limit", std::to_string(nvml_->sm_clock_limit()) + " MHz");
      device_->add_version("power limit", std::to_string(nvml_->power_limit()) + " W");
    }
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (!text.starts_with("NCCL_") || text.starts_with("NCCL_DEBUG")) continue;
      const auto equals = text.find('=');
      if (equals != std::string_view::npos) {
        device_->add_version(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
      }
    }
    if (meeting.place().size > 1) open_nccl();
  }

  std::string_view name() const override { return "cuda"; }
  ComputeDevice& device() override { return *device_; }

  std::unique_ptr<DeviceCommunicator> communicator(const std::vector<int>& ranks) override {
    const int own = meeting_.place().rank;
    const auto place = std::find(ranks.begin(), ranks.end(), own);
    STEPCAST_CHECK(place != ranks.end(), "a communicator is made by its own ranks");
    open_nccl();
    std::string key = "nccl";
    for (const int rank : ranks) key += " " + std::to_string(rank);
    key += " no. " + std::to_string(communicators_[ranks]++);
    ncclUniqueId id{};
    if (place == ranks.begin()) {
      nccl_->check(nccl_->unique_id(&id), "begin a communicator");
      meeting_.put(key, hex(id));
    } else {
      id = unique_id(meeting_.get(key));
    }
    return std::make_unique<NcclDeviceCommunicator>(*nccl_, id, static_cast<int>(place - ranks.begin()),
                                                    static_cast<int>(ranks.size()), device_->stream());
  }

  std::vector<std::string> neighbours() const override {
    if (nvml_ == nullptr) return {};
    const std::vector<int> processes = nvml_->processes();
    std::vector<std::string> others;
    if (std::find(processes.begin(), processes.end(), getpid()) != processes.end()) {
      for (const int process : processes) {
        if (process != getpid()) others.push_back(name_of_process(process));
      }
      return others;
    }
    // In a container: processes have other ids, or are hidden; one of them is this one.
    if (processes.size() > 1) {
      others.push_back(std::to_string(processes.size() - 1) + " processes outside of this container");
    } else if (utilization_before_ >= 0.05) {
      others.push_back("somebody, who kept it busy for " + print_share(utilization_before_) +
                       " of the time before");
    } else if (memory_before_ > 0.05 * device_->facts().memory_capacity) {
      others.push_back("somebody, who held " + print_size(memory_before_) + " of its memory before");
    }
    return others;
  }

 private:
  void open_nccl() {
    if (nccl_ != nullptr) return;
    offer_nccl_profiler();
    nccl_ = std::make_unique<NcclApi>();
    device_->add_version("NCCL", nccl_->version());
  }

  Meeting& meeting_;
  std::unique_ptr<Nvml> nvml_;
  double utilization_before_{};
  Bytes memory_before_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<NcclApi> nccl_;
  std::map<std::vector<int>, int> communicators_;
};

}  // namespace

std::unique_ptr<Backend> open_cuda_backend(Meeting& meeting) {
  return std::make_unique<CudaBackend>(meeting);
}

}  // namespace stepcast
