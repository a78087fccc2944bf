#include "calibrate/cuda/blas.hpp"

#include <cublasLt.h>

#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "calibrate/cuda/cuda_error.hpp"
#include "calibrate/cuda/library.hpp"

namespace stepcast {
namespace {

struct BlasApi {
  decltype(&cublasLtCreate) create{};
  decltype(&cublasLtDestroy) destroy{};
  decltype(&cublasLtGetVersion) version{};
  decltype(&cublasLtGetStatusString) text{};
  decltype(&cublasLtMatmul) matmul{};
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic{};
  decltype(&cublasLtMatmulDescCreate) operation_create{};
  decltype(&cublasLtMatmulDescDestroy) operation_destroy{};
  decltype(&cublasLtMatmulDescSetAttribute) operation_set{};
  decltype(&cublasLtMatrixLayoutCreate) layout_create{};
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy{};
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set{};
  decltype(&cublasLtMatmulPreferenceCreate) preference_create{};
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy{};
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set{};

  BlasApi() {
    const SharedLibrary library("cuBLASLt",
                                {"libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR), "libcublasLt.so"});
    library.load(create, "cublasLtCreate");
    library.load(destroy, "cublasLtDestroy");
    library.load(version, "cublasLtGetVersion");
    library.load(text, "cublasLtGetStatusString");
    library.load(matmul, "cublasLtMatmul");
    library.load(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.load(operation_create, "cublasLtMatmulDescCreate");
    library.load(operation_destroy, "cublasLtMatmulDescDestroy");
    library.load(operation_set, "cublasLtMatmulDescSetAttribute");
    library.load(layout_create, "cublasLtMatrixLayoutCreate");
    library.load(layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.load(layout_set, "cublasLtMatrixLayoutSetAttribute");
    library.load(preference_create, "cublasLtMatmulPreferenceCreate");
    library.load(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.load(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  }

  /// @param what  is called for words only where there is an error
  template <class What>
  void check(cublasStatus_t status, const What& what) const {
    if (status != CUBLAS_STATUS_SUCCESS) throw MachineError("cuBLASLt can't " + what() + ": " + text(status));
  }
};

cudaDataType_t type_of(Dtype type) {
  switch (type) {
    case Dtype::fp32:
    case Dtype::tf32:
      return CUDA_R_32F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    case Dtype::fp16:
      return CUDA_R_16F;
    case Dtype::fp8:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

/// What pointers are aligned to, as far as algorithms care.
std::uint32_t alignment_of(const void* pointer) {
  return 1U << std::min(8, std::countr_zero(reinterpret_cast<std::uintptr_t>(pointer)));
}

/// Everything that the choice of an algorithm depends on.
struct Shape {
  Dtype a, b, c;
  std::int64_t rows, columns, depth, batch;
  bool transpose_a, transpose_b, accumulate;
  std::uint32_t alignment_a, alignment_b, alignment_c;
  auto operator<=>(const Shape&) const = default;
};

std::string text_of(const Shape& shape) {
  return "a product of " + std::to_string(shape.rows) + " x " + std::to_string(shape.depth) + " and " +
         std::to_string(shape.depth) + " x " + std::to_string(shape.columns);
}

}  // namespace

struct Blas::Impl {
  /// A product, described for cuBLASLt once.
  struct Plan {
    const BlasApi& api;
    cublasLtMatmulDesc_t operation{};
    cublasLtMatrixLayout_t first{}, second{}, result{};
    cublasLtMatmulAlgo_t algorithm{};

    explicit Plan(const BlasApi& functions) : api(functions) {}
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    ~Plan() {
      if (operation != nullptr) api.operation_destroy(operation);
      for (cublasLtMatrixLayout_t layout : {first, second, result}) {
        if (layout != nullptr) api.layout_destroy(layout);
      }
    }
  };

  Impl(double compute_capability, cudaStream_t compute_stream)
      : stream(compute_stream),
        // NVIDIA's recommendation, and PyTorch's choice; docs.nvidia.com/cuda/cublas, cublasSetWorkspace().
        workspace_size(std::size_t{compute_capability >= 9.0 ? 32U : 4U} << 20U) {
    api.check(api.create(&handle), [] { return std::string("start"); });
    check_cuda(cudaMalloc(&workspace, workspace_size), "allocate cuBLASLt's workspace");
  }
  ~Impl() {
    plans.clear();
    cudaFree(workspace);
    api.destroy(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<Plan> plan(const Shape& shape) const;

  BlasApi api;
  cudaStream_t stream;
  std::size_t workspace_size;
  cublasLtHandle_t handle{};
  void* workspace{};
  std::map<Shape, std::unique_ptr<Plan>> plans;
};

// cuBLASLt's matrices are column-major. A row-major matrix is its own transpose in column-major, so
// c' = op(b)' op(a)': b comes first, and the sizes swap.
std::unique_ptr<Blas::Impl::Plan> Blas::Impl::plan(const Shape& shape) const {
  const auto what = [&] { return "find an algorithm for " + text_of(shape); };
  auto plan = std::make_unique<Plan>(api);
  const bool tf32 = shape.a == Dtype::tf32 || shape.b == Dtype::tf32;
  api.check(api.operation_create(&plan->operation, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
            what);
  const cublasOperation_t first = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  api.check(api.operation_set(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first), what);
  api.check(api.operation_set(plan->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second), what);

  const auto layout = [&](cublasLtMatrixLayout_t& made, Dtype type, std::int64_t stored_rows,
                          std::int64_t stored_columns) {
    api.check(api.layout_create(&made, type_of(type), static_cast<std::uint64_t>(stored_columns),
                                static_cast<std::uint64_t>(stored_rows), stored_columns),
              what);
    const auto batch = static_cast<std::int32_t>(shape.batch);
    const std::int64_t stride = stored_rows * stored_columns;
    api.check(api.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), what);
    api.check(api.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
              what);
  };
  layout(plan->first, shape.b, shape.transpose_b ? shape.columns : shape.depth,
         shape.transpose_b ? shape.depth : shape.columns);
  layout(plan->second, shape.a, shape.transpose_a ? shape.depth : shape.rows,
         shape.transpose_a ? shape.rows : shape.depth);
  layout(plan->result, shape.c, shape.rows, shape.columns);

  cublasLtMatmulPreference_t made{};
  api.check(api.preference_create(&made), what);
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(api.preference_destroy)> preference(
      made, api.preference_destroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    api.check(api.preference_set(made, attribute, &value, sizeof value), what);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_size);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.alignment_b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.alignment_a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.alignment_c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.alignment_c);

  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  api.check(api.heuristic(handle, plan->operation, plan->first, plan->second, plan->result, plan->result,
                          made, 1, &best, &found),
            what);
  if (found == 0) throw MachineError("cuBLASLt has no algorithm for " + text_of(shape));
  api.check(best.state, what);
  plan->algorithm = best.algo;
  return plan;
}

Blas::Blas(double compute_capability, cudaStream_t stream)
    : impl_(std::make_unique<Impl>(compute_capability, stream)) {}

Blas::~Blas() = default;

std::string Blas::version() const {
  // major x 10000 + minor x 100 + patch since version 12; cublas_api.h.
  const std::size_t version = impl_->api.version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void Blas::gemm(const GemmCall& call) {
  if (call.a.type == Dtype::fp8 && (call.transpose_a || !call.transpose_b || call.c.type == Dtype::fp8)) {
    throw MachineError("GPUs multiply fp8 only as a times b transposed, into bf16 or fp32");
  }
  const Shape shape{call.a.type,
                    call.b.type,
                    call.c.type,
                    call.rows,
                    call.columns,
                    call.depth,
                    call.batch,
                    call.transpose_a,
                    call.transpose_b,
                    call.accumulate,
                    alignment_of(call.a.data),
                    alignment_of(call.b.data),
                    alignment_of(call.c.data)};
  auto& plan = impl_->plans[shape];
  if (plan == nullptr) plan = impl_->plan(shape);
  const float alpha = 1.0F, beta = call.accumulate ? 1.0F : 0.0F;
  impl_->api.check(
      impl_->api.matmul(impl_->handle, plan->operation, &alpha, call.b.data, plan->first, call.a.data,
                        plan->second, &beta, call.c.data, plan->result, call.c.data, plan->result,
                        &plan->algorithm, impl_->workspace, impl_->workspace_size, impl_->stream),
      [&] { return "run " + text_of(shape); });
}

}  // namespace stepcast
