#include "calibrate/host/kernels/kernel_set.hpp"

namespace stepcast::STEPCAST_KERNEL_SET {

extern const HostKernels kernels;
const HostKernels kernels{STEPCAST_KERNEL_SET_NAME,
                          gemm,
                          bias_forward,
                          bias_backward,
                          norm_forward,
                          norm_backward,
                          gelu_forward,
                          gelu_backward,
                          relu_forward,
                          relu_backward,
                          add,
                          scale,
                          attention_forward,
                          attention_backward,
                          embedding_forward,
                          embedding_backward,
                          cross_entropy,
                          adamw};

}  // namespace stepcast::STEPCAST_KERNEL_SET
