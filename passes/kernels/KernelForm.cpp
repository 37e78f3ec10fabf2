// Rewrites of kernels of tensors, and dense memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelForm.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace weft::kernels;

Storage weft::kernels::denseStorage(Value memory, RankedTensorType type, IndexSpace &space) {
  Storage storage;
  storage.pointer = memory;
  storage.element = type.getElementType();
  storage.offset = space.constant(0);
  storage.strides.assign(type.getRank(), 1);
  for (int64_t dim = type.getRank() - 2; dim >= 0; --dim)
    storage.strides[dim] = storage.strides[dim + 1] * type.getDimSize(dim + 1);
  return storage;
}

DenseElementsAttr weft::kernels::tableOf(arith::ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense || dense.isSplat() || dense.getNumElements() == 0)
    return nullptr;
  auto type = cast<RankedTensorType>(constant.getType());
  if (!type.getElementType().isInteger(1))
    return dense.reshape(RankedTensorType::get({dense.getNumElements()}, type.getElementType()));
  SmallVector<int8_t> bytes;
  for (bool bit : dense.getValues<bool>())
    bytes.push_back(bit);
  return DenseElementsAttr::get(
      RankedTensorType::get({int64_t(bytes.size())}, IntegerType::get(constant.getContext(), 8)),
      ArrayRef<int8_t>(bytes));
}

LogicalResult weft::kernels::verifyConverted(func::FuncOp kernel) {
  WalkResult found = kernel.walk([](KernelOpInterface op) {
    op->emitOpError("is in no kernel's form; run convert-nn-to-linalg before");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

bool weft::kernels::looksUp(linalg::GenericOp generic) {
  WalkResult found = generic.getBody()->walk([](Operation *op) {
    bool isFromElements = op->getNumResults() == 1 && op->getResult(0).getType().isIndex() &&
                          !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<IndexType>);
    return isFromElements ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

void weft::kernels::separateRows(func::FuncOp kernel) {
  SmallVector<OpOperand *> starts;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->getParentOfType<scf::ForallOp>())
      for (OpOperand &init : loop.getInitArgsMutable())
        if (init.get().getDefiningOp<tensor::EmptyOp>())
          starts.push_back(&init);
  });
  for (OpOperand *start : starts) {
    OpBuilder builder(start->getOwner());
    start->set(builder.clone(*start->get().getDefiningOp())->getResult(0));
  }
}

bool weft::kernels::shareLeadingDims(func::FuncOp kernel) {
  Operation *end = kernel.getBody().front().getTerminator();
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  SmallVector<int64_t> leading;
  int64_t parts = 1;
  for (Value value : end->getOperands()) {
    int64_t product = 1;
    for (auto [dim, size] : llvm::enumerate(shapeOf(value))) {
      product *= size;
      if (product > parts && llvm::all_of(end->getOperands(), [&](Value other) {
            return llvm::product_of(shapeOf(other)) % product == 0;
          })) {
        parts = product;
        leading.assign(shapeOf(value).begin(), shapeOf(value).begin() + dim + 1);
      }
    }
  }
  if (llvm::all_of(end->getOperands(), [&](Value value) {
        return shapeOf(value).take_front(leading.size()) == ArrayRef(leading);
      }))
    return false;
  OpBuilder builder(end);
  for (OpOperand &operand : end->getOpOperands()) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    int64_t size = type.getNumElements();
    auto all = [](int64_t rank) {
      return SmallVector<ReassociationIndices>{llvm::to_vector(llvm::seq<int64_t>(0, rank))};
    };
    Value line = tensor::CollapseShapeOp::create(
        builder, end->getLoc(), RankedTensorType::get({size}, type.getElementType()), operand.get(),
        all(type.getRank()));
    SmallVector<int64_t> shape(leading);
    shape.push_back(size / parts);
    operand.set(tensor::ExpandShapeOp::create(builder, end->getLoc(),
                                              RankedTensorType::get(shape, type.getElementType()),
                                              line, all(shape.size())));
  }
  kernel.setFunctionType(
      builder.getFunctionType(kernel.getArgumentTypes(), end->getOperandTypes()));
  return true;
}
