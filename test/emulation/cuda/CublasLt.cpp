// libcublasLt.so.13 without a GPU: what Weft calls of it, as work of the emulated one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products as cuBLASLt's documentation says, summed in f64 in ascending order, rounded to the type
// that sums; then the addend is added. An algorithm holds what was promised of addresses when it
// was chosen, and a product that breaks it is refused; it writes all of its workspace.
#include "Gpu.h"

#include "base/Convert.h"
#include "device/cuda/libraries/CublasLtApi.h"

#include <cstring>

using namespace weft;
using namespace weft::emulated;
using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

constexpr uint64_t kAlgorithm = 0x776566742d6c74; // the only one
constexpr size_t kWorkspace = 1024;

struct Product {
  LtCompute compute;
  LtTurn turns[2] = {LtAsIs, LtAsIs};
};
struct Layout {
  LtType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batchStride = 0;

  size_t bytes() const { return type == LtF64 ? 8 : type == LtF32 ? 4 : 2; }
  bool isLike(const Layout &other) const {
    return rows == other.rows && columns == other.columns && batch == other.batch;
  }
};
struct Preference {
  uint64_t mostWorkspace = 0;
  uint32_t reductionSchemes = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

Product &of(LtProduct product) { return *reinterpret_cast<Product *>(product); }
Layout &of(LtLayout layout) { return *reinterpret_cast<Layout *>(layout); }
Preference &of(LtPreference preference) { return *reinterpret_cast<Preference *>(preference); }

double read(const char *at, LtType type) {
  auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return double(value);
  };
  return type == LtF64   ? as(double())
         : type == LtF32 ? as(float())
         : type == LtF16 ? as(Float16())
                         : as(BFloat16());
}
void write(char *at, LtType type, double value) {
  auto as = [&](auto rounded) { std::memcpy(at, &rounded, sizeof rounded); };
  if (type == LtF64)
    as(value);
  else if (type == LtF32)
    as(float(value));
  else if (type == LtF16)
    as(Float16(float(value)));
  else
    as(BFloat16(float(value)));
}

/// A matrix of the batch in memory.
struct Matrix {
  const Layout &layout;
  char *memory;
  bool isTurned;

  char *at(uint64_t row, uint64_t column) const {
    if (isTurned)
      std::swap(row, column);
    return memory + (int64_t(row) + int64_t(column) * layout.leading) * int64_t(layout.bytes());
  }
  uint64_t rows() const { return isTurned ? layout.columns : layout.rows; }
  uint64_t columns() const { return isTurned ? layout.rows : layout.columns; }
  Matrix entry(int64_t number) const {
    return {layout, memory + number * layout.batchStride * int64_t(layout.bytes()), isTurned};
  }
};

void multiplyOne(const Matrix &lhs, const Matrix &rhs, const Matrix *addend, const Matrix &result,
                 bool isWide) {
  for (uint64_t column = 0; column < result.columns(); ++column)
    for (uint64_t row = 0; row < result.rows(); ++row) {
      double sum = 0;
      for (uint64_t k = 0; k < lhs.columns(); ++k)
        sum += read(lhs.at(row, k), lhs.layout.type) * read(rhs.at(k, column), rhs.layout.type);
      if (!isWide)
        sum = float(sum);
      if (addend)
        sum += read(addend->at(row, column), addend->layout.type);
      write(result.at(row, column), result.layout.type, sum);
    }
}

/// Each column's bytes.
void touch(std::vector<Touch> &touches, const Layout &layout, const void *begin, bool writes) {
  for (int64_t entry = 0; entry < (layout.batchStride == 0 ? 1 : layout.batch); ++entry)
    for (uint64_t column = 0; column < layout.columns; ++column)
      touches.push_back({uint64_t(uintptr_t(begin)) + uint64_t(entry * layout.batchStride +
                                                               int64_t(column) * layout.leading) *
                                                          layout.bytes(),
                         layout.rows * layout.bytes(), writes});
}

bool isOne(const void *scale, bool isWide) {
  return isWide ? *static_cast<const double *>(scale) == 1
                : *static_cast<const float *>(scale) == 1;
}

} // namespace

#define WEFT_ENTER(SYMBOL)                                                                         \
  auto held = Gpu::get().lock();                                                                   \
  if (Result enteredResult = Gpu::get().enter(SYMBOL))                                             \
  return LtStatus(int(enteredResult))

extern "C" {

const char *cublasLtGetStatusName(LtStatus status) {
  return status == LtInvalidValue   ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == LtNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == LtNoMemory     ? "CUBLAS_STATUS_ALLOC_FAILED"
                                    : nullptr;
}

LtStatus cublasLtCreate(LtHandle *handle) {
  WEFT_ENTER("cublasLtCreate");
  static int only;
  *handle = reinterpret_cast<LtHandle>(&only);
  return LtSuccess;
}
LtStatus cublasLtDestroy(LtHandle) { return LtSuccess; }

LtStatus cublasLtMatmulDescCreate(LtProduct *product, LtCompute compute, LtType scale) {
  if ((compute == LtComputeF64) != (scale == LtF64))
    return LtInvalidValue;
  *product = reinterpret_cast<LtProduct>(new Product{compute});
  return LtSuccess;
}
LtStatus cublasLtMatmulDescDestroy(LtProduct product) {
  delete &of(product);
  return LtSuccess;
}
LtStatus cublasLtMatmulDescSetAttribute(LtProduct product, LtProductAttribute attribute,
                                        const void *value, size_t bytes) {
  if (bytes != sizeof(LtTurn) || (attribute != LtTurnLhs && attribute != LtTurnRhs))
    return LtInvalidValue;
  std::memcpy(&of(product).turns[attribute - LtTurnLhs], value, bytes);
  return LtSuccess;
}

LtStatus cublasLtMatrixLayoutCreate(LtLayout *layout, LtType type, uint64_t rows, uint64_t columns,
                                    int64_t leading) {
  if (rows == 0 || columns == 0 || leading < int64_t(rows))
    return LtInvalidValue;
  *layout = reinterpret_cast<LtLayout>(new Layout{type, rows, columns, leading});
  return LtSuccess;
}
LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) {
  delete &of(layout);
  return LtSuccess;
}
LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout layout, LtLayoutAttribute attribute,
                                          const void *value, size_t bytes) {
  void *to =
      attribute == LtBatchCount ? static_cast<void *>(&of(layout).batch) : &of(layout).batchStride;
  if (bytes != (attribute == LtBatchCount ? sizeof(int32_t) : sizeof(int64_t)))
    return LtInvalidValue;
  std::memcpy(to, value, bytes);
  return LtSuccess;
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference *preference) {
  *preference = reinterpret_cast<LtPreference>(new Preference);
  return LtSuccess;
}
LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  delete &of(preference);
  return LtSuccess;
}
LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference preference,
                                              LtPreferenceAttribute attribute, const void *value,
                                              size_t bytes) {
  bool isWorkspace = attribute == LtMostWorkspace;
  if (bytes != (isWorkspace ? sizeof(uint64_t) : sizeof(uint32_t)))
    return LtInvalidValue;
  void *to = isWorkspace ? static_cast<void *>(&of(preference).mostWorkspace)
             : attribute == LtReductionSchemes
                 ? &of(preference).reductionSchemes
                 : &of(preference).alignments[attribute - LtAlignmentOfLhs];
  std::memcpy(to, value, bytes);
  return LtSuccess;
}

LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle, LtProduct, LtLayout lhs, LtLayout rhs,
                                        LtLayout addend, LtLayout result, LtPreference preference,
                                        int wanted, LtChoice choices[], int *found) {
  WEFT_ENTER("cublasLtMatmulAlgoGetHeuristic");
  if (of(lhs).type != of(rhs).type || of(addend).type != of(result).type ||
      !of(addend).isLike(of(result)) || of(lhs).batch != of(result).batch ||
      of(rhs).batch != of(result).batch)
    return LtNotSupported;
  // A real one might round parts of a sum to the result's type, which nobody wants.
  if (of(result).bytes() < 4 && of(preference).reductionSchemes != LtReduceInComputeType)
    return LtNotSupported;
  *found = wanted > 0 && of(preference).mostWorkspace >= kWorkspace ? 1 : 0;
  if (*found == 1) {
    choices[0] = {};
    choices[0].algorithm.data[0] = kAlgorithm;
    for (int i = 0; i < 4; ++i)
      choices[0].algorithm.data[1 + i] = of(preference).alignments[i];
    choices[0].workspaceBytes = kWorkspace;
  }
  return LtSuccess;
}

LtStatus cublasLtMatmul(LtHandle, LtProduct product, const void *alpha, const void *lhs,
                        LtLayout lhsLayout, const void *rhs, LtLayout rhsLayout, const void *beta,
                        const void *addend, LtLayout addendLayout, void *result,
                        LtLayout resultLayout, const LtAlgorithm *algorithm, void *workspace,
                        size_t workspaceBytes, Stream stream) {
  WEFT_ENTER("cublasLtMatmul");
  const Product &p = of(product);
  const void *places[] = {lhs, rhs, addend, result};
  for (int i = 0; i < 4; ++i)
    if (uintptr_t(places[i]) % algorithm->data[1 + i] != 0)
      return LtInvalidValue;
  bool isWide = p.compute == LtComputeF64, adds = isOne(beta, isWide);
  if (algorithm->data[0] != kAlgorithm || workspaceBytes < kWorkspace ||
      uintptr_t(workspace) % 256 != 0 || !isOne(alpha, isWide))
    return LtInvalidValue;
  auto matrix = [&](LtLayout layout, const void *place, bool isTurned) {
    return Matrix{of(layout), Gpu::get().bytesAt(uint64_t(uintptr_t(place))), isTurned};
  };
  // The caller may destroy what describes the product before it is done.
  struct Owned {
    Layout lhs, rhs, addend, result;
  };
  auto owned = std::make_shared<Owned>(
      Owned{of(lhsLayout), of(rhsLayout), of(addendLayout), of(resultLayout)});
  Matrix matrices[] = {matrix(lhsLayout, lhs, p.turns[0] == LtTurned),
                       matrix(rhsLayout, rhs, p.turns[1] == LtTurned),
                       matrix(addendLayout, addend, false), matrix(resultLayout, result, false)};
  if (matrices[0].rows() != matrices[3].rows() || matrices[1].columns() != matrices[3].columns() ||
      matrices[0].columns() != matrices[1].rows())
    return LtInvalidValue;
  char *scratch = Gpu::get().bytesAt(uint64_t(uintptr_t(workspace)));
  Work work;
  work.label = "matrix product";
  touch(work.touches, owned->lhs, lhs, false);
  touch(work.touches, owned->rhs, rhs, false);
  if (adds)
    touch(work.touches, owned->addend, addend, false);
  touch(work.touches, owned->result, result, true);
  work.touches.push_back({uint64_t(uintptr_t(workspace)), kWorkspace, true});
  char *memory[] = {matrices[0].memory, matrices[1].memory, matrices[2].memory, matrices[3].memory};
  work.run = [=, turns = std::pair(p.turns[0], p.turns[1])] {
    std::memset(scratch, 0x5A, kWorkspace);
    Matrix l{owned->lhs, memory[0], turns.first == LtTurned},
        r{owned->rhs, memory[1], turns.second == LtTurned}, c{owned->addend, memory[2], false},
        d{owned->result, memory[3], false};
    for (int64_t entry = 0; entry < owned->result.batch; ++entry) {
      Matrix plus = c.entry(entry);
      multiplyOne(l.entry(entry), r.entry(entry), adds ? &plus : nullptr, d.entry(entry), isWide);
    }
  };
  Result put = Gpu::get().put(*reinterpret_cast<StreamState *>(stream), std::move(work));
  return put == Success ? LtSuccess : LtInvalidValue;
}

} // extern "C"
