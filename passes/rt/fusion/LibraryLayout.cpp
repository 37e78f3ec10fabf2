// Collapses the dims of library calls into the runtime's commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/fusion/LibraryLayout.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Of the tensors of a product: lhs, rhs, result, and what is added to that.
constexpr unsigned kResult = 2;

/// One loop of a product and its stride in each of them.
struct Loop {
  int64_t size;
  SmallVector<int64_t, 5> strides;
};
using Loops = SmallVector<Loop>;

/// Merges neighbours that are contiguous in all tensors, drops loops of one.
Loops collapse(const Loops &loops) {
  Loops result;
  for (const Loop &loop : loops) {
    if (loop.size == 1)
      continue;
    if (!result.empty()) {
      Loop &outer = result.back();
      bool merges = llvm::all_of(llvm::zip(outer.strides, loop.strides), [&](auto strides) {
        return std::get<0>(strides) == std::get<1>(strides) * loop.size;
      });
      if (merges) {
        outer.size *= loop.size;
        outer.strides = loop.strides;
        continue;
      }
    }
    result.push_back(loop);
  }
  return result;
}

/// Strides beyond the types are those of what is added, which has the result's type.
std::optional<LibraryLayout> mergedDims(const LibraryCall &call, ArrayRef<RankedTensorType> types,
                                        ArrayRef<SmallVector<int64_t, 4>> strides) {
  const ProductDims &product = *call.product;
  const SmallVector<int64_t, 5> nowhere(strides.size(), 0);
  auto asStored = [](unsigned tensor) { return std::min(tensor, kResult); };
  auto group = [&](ArrayRef<unsigned> lhs, ArrayRef<unsigned> rhs, ArrayRef<unsigned> result) {
    Loops loops;
    std::array<ArrayRef<unsigned>, kResult + 1> dims{lhs, rhs, result};
    size_t count = std::max({lhs.size(), rhs.size(), result.size()});
    for (size_t i = 0; i < count; ++i) {
      Loop loop{1, nowhere};
      for (unsigned t = 0; t < strides.size(); ++t)
        if (ArrayRef<unsigned> own = dims[asStored(t)]; !own.empty()) {
          loop.size = types[asStored(t)].getDimSize(own[i]);
          loop.strides[t] = strides[t][own[i]];
        }
      loops.push_back(loop);
    }
    return collapse(loops);
  };
  Loops batch = group(product.lhsBatch, product.rhsBatch, product.resultBatch);
  Loops m = group(product.lhsM, {}, product.resultM), n = group({}, product.rhsN, product.resultN);
  Loops k = group(product.lhsK, product.rhsK, {});
  if (k.size() > 1)
    return std::nullopt;
  // The largest loop of m and of n stays, the others go to the batch.
  auto keepOne = [&](Loops &loops) -> Loop {
    if (loops.empty())
      return {1, nowhere};
    auto best =
        llvm::max_element(loops, [](const Loop &a, const Loop &b) { return a.size < b.size; });
    Loop kept = *best;
    loops.erase(best);
    llvm::append_range(batch, loops);
    return kept;
  };
  Loop rows = keepOne(m), columns = keepOne(n), sum = k.empty() ? Loop{1, nowhere} : k.front();
  if (batch.size() > 4)
    return std::nullopt;
  // A size-1 dim may have any stride; row-major ones spare libraries a packing.
  auto stride = [&](Loop &loop, int64_t inLhs, int64_t inRhs, int64_t inResult) {
    loop.strides.assign(strides.size(), inResult);
    loop.strides[0] = inLhs;
    loop.strides[1] = inRhs;
  };
  if (rows.size == 1)
    stride(rows, sum.size, 0, columns.size);
  if (columns.size == 1)
    stride(columns, 0, 1, 1);
  if (sum.size == 1)
    stride(sum, 1, columns.size, 0);
  LibraryLayout plan{call, {LibraryTensor(), LibraryTensor()}, {LibraryTensor()}};
  auto fill = [&](LibraryTensor &window, unsigned tensor, const Loop &first, const Loop &second) {
    window.element = types[asStored(tensor)].getElementType();
    for (const Loop &loop : batch) {
      window.sizes.push_back(loop.size);
      window.strides.push_back(loop.strides[tensor]);
    }
    for (const Loop &loop : {first, second}) {
      window.sizes.push_back(loop.size);
      window.strides.push_back(loop.strides[tensor]);
    }
  };
  fill(plan.operands[0], 0, rows, sum);
  fill(plan.operands[1], 1, sum, columns);
  fill(plan.results[0], kResult, rows, columns);
  for (unsigned t = kResult + 1; t < strides.size(); ++t)
    fill(plan.addends.emplace_back(), t, rows, columns);
  return plan;
}

/// Every tensor as it is.
LibraryLayout wholeTensors(const LibraryCall &call, ArrayRef<RankedTensorType> types,
                           ArrayRef<SmallVector<int64_t, 4>> strides, size_t numOperands) {
  LibraryLayout layout{call, {}, {}};
  for (auto [type, list] : llvm::zip(types, strides)) {
    LibraryTensor tensor{type.getElementType(), llvm::to_vector(type.getShape()),
                         SmallVector<int64_t>(list.begin(), list.end())};
    auto &side = layout.operands.size() < numOperands ? layout.operands : layout.results;
    side.push_back(std::move(tensor));
  }
  return layout;
}

} // namespace

std::optional<LibraryLayout>
weft::rt::libraryLayout(const Target &target, Operation *op,
                        ArrayRef<SmallVector<int64_t, 4>> operandStrides,
                        ArrayRef<SmallVector<int64_t, 4>> resultStrides,
                        ArrayRef<SmallVector<int64_t, 4>> addendStrides) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  std::optional<LibraryCall> call = kernel ? kernel.getLibraryCall() : std::nullopt;
  if (!call || (!addendStrides.empty() && !call->product))
    return std::nullopt;
  SmallVector<RankedTensorType> types;
  for (Type type : op->getOperandTypes())
    types.push_back(cast<RankedTensorType>(type));
  for (Type type : op->getResultTypes())
    types.push_back(cast<RankedTensorType>(type));
  SmallVector<SmallVector<int64_t, 4>> strides(operandStrides.begin(), operandStrides.end());
  strides.append(resultStrides.begin(), resultStrides.end());
  strides.append(addendStrides.begin(), addendStrides.end());
  std::optional<LibraryLayout> plan =
      call->product ? mergedDims(*call, types, strides)
                    : wholeTensors(*call, types, strides, op->getNumOperands());
  return plan && target.takes(*plan) ? plan : std::nullopt;
}

static SmallVector<int64_t, 4> denseStrides(Value value) {
  return rowMajorStrides(cast<RankedTensorType>(value.getType()).getShape());
}
static SmallVector<SmallVector<int64_t, 4>> denseStrides(ResultRange results) {
  return llvm::map_to_vector(results, [](Value value) { return denseStrides(value); });
}

std::optional<LibraryLayout> weft::rt::denseLibraryLayout(const Target &target, Operation *op) {
  SmallVector<SmallVector<int64_t, 4>> strides;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      return std::nullopt;
    strides.push_back(denseStrides(operand));
  }
  return isa<KernelOpInterface>(op)
             ? libraryLayout(target, op, strides, denseStrides(op->getResults()))
             : std::nullopt;
}

std::optional<LibraryLayout> weft::rt::libraryLayout(const Target &target, Operation *op,
                                                     llvm::function_ref<bool(Operation *)> isRoot) {
  SmallVector<SmallVector<int64_t, 4>> strides;
  for (Value operand : op->getOperands()) {
    std::optional<ValueLayout> layout = layoutOf(operand, isRoot);
    strides.push_back(layout ? layout->strides : denseStrides(operand));
  }
  return libraryLayout(target, op, strides, denseStrides(op->getResults()));
}

/// The strides that the view's operand has in memory where its result has `resultStrides`. Every
/// dim of the operand is part of one dim of the result.
static std::optional<SmallVector<int64_t, 4>> stridesBehindView(Operation *view,
                                                                ArrayRef<int64_t> resultStrides) {
  auto kernel = dyn_cast<KernelOpInterface>(view);
  if (!kernel || view->getNumOperands() != 1 || view->getNumResults() != 1)
    return std::nullopt;
  auto from = cast<RankedTensorType>(view->getOperand(0).getType());
  auto to = cast<RankedTensorType>(view->getResult(0).getType());
  SmallVector<int64_t, 4> source = rowMajorStrides(from.getShape());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (from.getNumElements() != to.getNumElements() || !kernel.getView(source, strides, offset) ||
      offset != 0)
    return std::nullopt;
  SmallVector<int64_t, 4> result(from.getRank(), 0);
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t size = from.getDimSize(d), stride = source[d];
    if (size == 1)
      continue;
    bool found = false;
    for (int64_t e = 0; e < to.getRank() && !found; ++e)
      if (strides[e] > 0 && to.getDimSize(e) != 1 && stride % strides[e] == 0 &&
          stride * size <= strides[e] * to.getDimSize(e)) {
        found = true;
        result[d] = stride / strides[e] * resultStrides[e];
      }
    if (!found)
      return std::nullopt;
  }
  return result;
}

std::optional<SmallVector<int64_t, 4>> weft::rt::stridesBehindPermutation(Operation *view) {
  if (view->getNumOperands() != 1 || view->getNumResults() != 1)
    return std::nullopt;
  auto from = cast<RankedTensorType>(view->getOperand(0).getType());
  auto to = cast<RankedTensorType>(view->getResult(0).getType());
  if (from.getRank() != to.getRank())
    return std::nullopt;
  return stridesBehindView(view, rowMajorStrides(to.getShape()));
}

ResultRange weft::rt::placeableResults(Operation *op) {
  return op->getResults().drop_back(cast<KernelOpInterface>(op).getLibraryCall()->denseResults);
}

bool weft::rt::isPlacing(Operation *op) {
  return isa<nn::ConcatOp>(op) || (isFree(op) && op->getNumOperands() == 1);
}

Operation *weft::rt::placedAs(Value value, llvm::function_ref<bool(Operation *)> isTaken) {
  Operation *last = nullptr;
  while (value.hasOneUse() && isPlacing(*value.user_begin()) && isTaken(*value.user_begin())) {
    last = *value.user_begin();
    value = last->getResult(0);
  }
  return last;
}

std::optional<ValueLayout> weft::rt::layoutBehind(Value value, Operation *last,
                                                  std::optional<ArrayRef<int64_t>> strides) {
  SmallVector<OpOperand *> uses;
  do {
    if (!value.hasOneUse())
      return std::nullopt;
    uses.push_back(&*value.use_begin());
    Operation *user = uses.back()->getOwner();
    if (!isPlacing(user))
      return std::nullopt;
    value = user->getResult(0);
  } while (value.getDefiningOp() != last);
  ValueLayout layout = denseLayout(value);
  if (strides)
    layout.strides.assign(strides->begin(), strides->end());
  for (OpOperand *use : llvm::reverse(uses)) {
    if (auto concat = dyn_cast<nn::ConcatOp>(use->getOwner())) {
      for (Value before : concat.getInputs().take_front(use->getOperandNumber()))
        layout.offset += cast<RankedTensorType>(before.getType()).getDimSize(concat.getDim()) *
                         layout.strides[concat.getDim()];
      continue;
    }
    std::optional<SmallVector<int64_t, 4>> before =
        stridesBehindView(use->getOwner(), layout.strides);
    if (!before)
      return std::nullopt;
    layout.strides = std::move(*before);
  }
  return layout;
}
