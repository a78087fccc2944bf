#include "calibrate/import/kernel_class.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(KernelClass, TellsKernelsByTheirLibrariesNames) {
  const std::pair<const char*, KernelClass> known[] = {
      {"ampere_sgemm_128x64_nn", KernelClass::gemm},
      {"volta_sgemm_32x128_tn", KernelClass::gemm},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", KernelClass::gemm},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KernelClass::gemm},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", KernelClass::gemm},
      {"void cublasLt::splitKreduce_kernel<32, 16, int>", KernelClass::gemm},
      {"triton_tem_fused_mm_12", KernelClass::gemm},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, cutlass::bfloat16_t>>",
       KernelClass::attention},
      {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", KernelClass::attention},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", KernelClass::attention},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", KernelClass::collective},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)", KernelClass::collective},
      {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc", KernelClass::convolution},
      {"cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1", KernelClass::convolution},
      {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", KernelClass::convolution},
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>",
       KernelClass::memory_bound},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
       KernelClass::memory_bound},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>", KernelClass::memory_bound},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
       KernelClass::memory_bound},
      {"triton_poi_fused_gelu_3", KernelClass::memory_bound},
      {"void split_embedding_codegen_forward_kernel<float>(fbgemm_gpu::Accessor)", KernelClass::memory_bound},
      {"my_kernel", KernelClass::other}};
  for (const auto& [name, kind] : known)
    EXPECT_EQ(kernel_class(name), kind) << name << " " << name_of(kernel_class(name));
}

// Column-major op(a) op(b) is row-major op(b) op(a), each transposed: "tn" is what a linear layer's forward
// is.
TEST(KernelClass, LayoutsOfProductsAreTurnedToRowMajor) {
  EXPECT_EQ(row_major_layout("ampere_sgemm_128x64_tn"), "nt");
  EXPECT_EQ(row_major_layout("ampere_sgemm_128x64_nt"), "tn");
  EXPECT_EQ(row_major_layout("cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4"), "nn");
  EXPECT_EQ(row_major_layout("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"), "nt");
  EXPECT_EQ(row_major_layout("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT"), "nt");
  EXPECT_EQ(row_major_layout("volta_sgemm_32x32_sliced1x4_tt"), "tt");
  EXPECT_EQ(row_major_layout("gemm_kernel"), "");
  EXPECT_EQ(row_major_layout("void gemm_tnx_kernel"), "");
}

}  // namespace
}  // namespace stepcast
