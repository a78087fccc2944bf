#include "calibrate/backend.hpp"

namespace stepcast {

std::unique_ptr<Backend> open_cuda_backend(Meeting&) {
  throw MachineError("this stepcast was built without CUDA",
                     "install the CUDA toolkit (nvcc, CUPTI, cuBLAS and NCCL headers) or set CUDA_HOME to "
                     "it, then configure "
                     "again with -DSTEPCAST_WITH_CUDA=ON, which says what is missing");
}

}  // namespace stepcast
