// Matrix products, by cuBLASLt.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/libraries/CublasLt.h"

#include "weft/runtime/CublasProduct.h"

#include <algorithm>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// What the library may use beside operands and results: NVIDIA's advice for its chips since 2022.
constexpr size_t kMostWorkspace = size_t(32) << 20;
/// What the library assumes of addresses where nothing is said.
constexpr int64_t kMostAlignment = 256;

LtType ltType(DType type) {
  switch (type) {
  case DType::F64:
    return LtF64;
  case DType::BF16:
    return LtBF16;
  case DType::F16:
    return LtF16;
  default:
    return LtF32;
  }
}

/// A matrix, or several, of the product: its place and its layout in the library's words.
struct Operand {
  ResolvedView view;
  const ColumnMatrix *matrix = nullptr;
  LtLayout layout = nullptr;

  ProductTensor tensor() const {
    return {
        view.dtype, {view.sizes, view.sizes + view.rank}, {view.strides, view.strides + view.rank}};
  }
  int64_t bytes() const { return int64_t(dtypeBytes(view.dtype)); }
  /// All addresses of matrices are multiples of it.
  uint32_t alignment() const {
    int64_t least = kMostAlignment;
    auto meet = [&](int64_t distance) {
      while (distance % least != 0)
        least /= 2;
    };
    meet(view.offset);
    meet(matrix->batchStride * bytes());
    for (int64_t stride : matrix->outerStrides)
      meet(stride * bytes());
    return uint32_t(least);
  }
};

class GemmCommand : public CudaCommand {
public:
  GemmCommand(const CudaContext &context, const Command &command, CublasLt &lt) : lt(lt) {
    Table<View> views = productViews(context, command);
    for (const View &view : views)
      operands.push_back({ResolvedView(context, view), nullptr, nullptr});
  }
  ~GemmCommand() override {
    for (const Operand &operand : operands)
      if (operand.layout)
        (void)lt.destroyLayout(operand.layout);
    if (product)
      (void)lt.destroyProduct(product);
  }

  Status prepare() {
    std::vector<ProductTensor> tensors;
    for (const Operand &operand : operands)
      tensors.push_back(operand.tensor());
    std::string why = planCublasProduct(tensors[0], tensors[1], tensors[2],
                                        {tensors.begin() + 3, tensors.end()}, plan);
    if (!why.empty())
      return Status::internal("a product should have become a kernel: " + why);
    if (plan.isSwapped)
      std::swap(operands[0], operands[1]);
    const ColumnMatrix *matrices[] = {&plan.lhs, &plan.rhs, &plan.result, &plan.addend};
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i].matrix = matrices[i];
    WEFT_TRY(lt.open());
    WEFT_TRY(describe());
    return choose();
  }

  uint64_t scratchBytes() const override { return choice.workspaceBytes; }

  Status issue(CudaStream &stream) override {
    const Operand &lhs = operands[0], &rhs = operands[1], &result = operands[2],
                  &addend = operands.back();
    bool adds = operands.size() > 3;
    for (int64_t call = 0; call < plan.calls; ++call) {
      void *places[4];
      for (size_t i = 0; i < operands.size(); ++i)
        places[i] = operands[i].view.address(stream) + outerOffset(operands[i], call);
      WEFT_LT_TRY(lt,
                  multiply(lt.handle, product, scale(true), places[0], lhs.layout, places[1],
                           rhs.layout, scale(adds), places[adds ? 3 : 2], addend.layout, places[2],
                           result.layout, &choice.algorithm, stream.scratch, choice.workspaceBytes,
                           stream.handle),
                  "a matrix product");
    }
    return {};
  }

private:
  /// 1 or 0 in the type that scales, which is the one that sums.
  const void *scale(bool isOne) const {
    static const double doubles[] = {0, 1};
    static const float floats[] = {0, 1};
    return isWide() ? static_cast<const void *>(&doubles[isOne]) : &floats[isOne];
  }
  bool isWide() const { return operands[0].view.dtype == DType::F64; }

  int64_t outerOffset(const Operand &operand, int64_t call) const {
    int64_t offset = 0;
    for (size_t d = plan.outerSizes.size(); d-- > 0; call /= plan.outerSizes[d])
      offset += call % plan.outerSizes[d] * operand.matrix->outerStrides[d];
    return offset * operand.bytes();
  }

  Status describe() {
    WEFT_LT_TRY(
        lt,
        createProduct(&product, isWide() ? LtComputeF64 : LtComputeF32, isWide() ? LtF64 : LtF32),
        "describing a product");
    const LtTurn turns[] = {plan.lhs.turned ? LtTurned : LtAsIs,
                            plan.rhs.turned ? LtTurned : LtAsIs};
    WEFT_LT_TRY(lt, setProduct(product, LtTurnLhs, &turns[0], sizeof turns[0]), "turning a matrix");
    WEFT_LT_TRY(lt, setProduct(product, LtTurnRhs, &turns[1], sizeof turns[1]), "turning a matrix");
    const int64_t sizes[][2] = {
        {plan.m, plan.k}, {plan.k, plan.n}, {plan.m, plan.n}, {plan.m, plan.n}};
    int32_t batch = int32_t(plan.batch);
    for (size_t i = 0; i < operands.size(); ++i) {
      Operand &operand = operands[i];
      const ColumnMatrix &matrix = *operand.matrix;
      uint64_t rows = uint64_t(sizes[i][matrix.turned]),
               columns = uint64_t(sizes[i][!matrix.turned]);
      WEFT_LT_TRY(
          lt,
          createLayout(&operand.layout, ltType(operand.view.dtype), rows, columns, matrix.leading),
          "describing a matrix");
      WEFT_LT_TRY(lt, setLayout(operand.layout, LtBatchCount, &batch, sizeof batch),
                  "describing a batch");
      WEFT_LT_TRY(
          lt,
          setLayout(operand.layout, LtBatchStride, &matrix.batchStride, sizeof matrix.batchStride),
          "describing a batch");
    }
    return {};
  }

  /// The library's first advice: one algorithm, so that runs have the same bits.
  Status choose() {
    LtPreference preference = nullptr;
    WEFT_LT_TRY(lt, createPreference(&preference), "choosing an algorithm");
    LtStatus status =
        lt.setPreference(preference, LtMostWorkspace, &kMostWorkspace, sizeof kMostWorkspace);
    const Operand *ordered[] = {&operands[0], &operands[1], &operands.back(), &operands[2]};
    for (int i = 0; i < 4 && status == LtSuccess; ++i) {
      uint32_t alignment = ordered[i]->alignment();
      status = lt.setPreference(preference, LtPreferenceAttribute(LtAlignmentOfLhs + i), &alignment,
                                sizeof alignment);
    }
    // Else parts of a long sum may be rounded to the result's type before they are added up.
    uint32_t schemes = LtReduceInComputeType;
    if (status == LtSuccess && operands[2].bytes() < int64_t(sizeof(float)))
      status = lt.setPreference(preference, LtReductionSchemes, &schemes, sizeof schemes);
    int found = 0;
    if (status == LtSuccess)
      status =
          lt.choose(lt.handle, product, operands[0].layout, operands[1].layout,
                    operands.back().layout, operands[2].layout, preference, 1, &choice, &found);
    (void)lt.destroyPreference(preference);
    WEFT_TRY(lt.check(status, "choosing an algorithm"));
    return lt.check(found == 0 ? LtNotSupported : choice.status, "choosing an algorithm");
  }

  CublasLt &lt;
  std::vector<Operand> operands; // of the library's product: lhs, rhs, result, and perhaps addend
  CublasProduct plan;
  LtProduct product = nullptr;
  LtChoice choice{};
};

} // namespace

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Gemm &, Status &status) {
  auto made = std::make_unique<GemmCommand>(context, command, context.cublasLt);
  status = made->prepare();
  return status.ok() ? std::move(made) : nullptr;
}
