// Replaces ops by the bodies they give.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/kernels/Passes.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace weft::kernels {
#define GEN_PASS_DEF_CONVERTNNTOLINALG
#include "passes/kernels/Passes.h.inc"
} // namespace weft::kernels

using namespace mlir;

static LogicalResult checkSignature(func::FuncOp kernel) {
  auto isPlain = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  FunctionType type = kernel.getFunctionType();
  if (!llvm::hasSingleElement(kernel.getBody()))
    return kernel.emitError("a kernel has one block");
  if (!llvm::all_of(type.getInputs(), isPlain) || !llvm::all_of(type.getResults(), isPlain))
    return kernel.emitError("arguments and results of a kernel are tensors of static shape");
  return success();
}

namespace {
struct ConvertNnToLinalg : weft::kernels::impl::ConvertNnToLinalgBase<ConvertNnToLinalg> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isExternal())
      return;
    if (failed(checkSignature(kernel)) || failed(convert(kernel)))
      signalPassFailure();
  }

  LogicalResult convert(func::FuncOp kernel) {
    Block &block = kernel.getBody().front();
    SmallVector<Operation *> old;
    for (Operation &op : block)
      old.push_back(&op);
    IRMapping map;
    unsigned arguments = block.getNumArguments();
    for (unsigned i = 0; i < arguments; ++i) {
      BlockArgument argument = block.getArgument(i);
      map.map(argument, block.addArgument(weft::bodyType(argument.getType()), argument.getLoc()));
    }
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    auto mapped = [&](Operation *op) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(map.lookup(operand));
      return operands;
    };
    for (Operation *op : old) {
      if (isa<func::ReturnOp>(op)) {
        func::ReturnOp::create(builder, op->getLoc(), mapped(op));
        continue;
      }
      auto emitter = dyn_cast<weft::KernelOpInterface>(op);
      if (!emitter)
        return op->emitOpError("gives no body for a kernel");
      SmallVector<Value> results = emitter.buildBody(builder, op->getLoc(), mapped(op));
      assert(llvm::all_of_zip(op->getResults(), results,
                              [](Value result, Value value) {
                                return value.getType() == weft::bodyType(result.getType());
                              }) &&
             "buildBody makes other types than the op's");
      map.map(op->getResults(), results);
    }
    for (Operation *op : llvm::reverse(old))
      op->erase();
    block.eraseArguments(0, arguments);
    auto typesOf = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type type) -> Type { return weft::bodyType(type); });
    };
    kernel.setType(FunctionType::get(&getContext(), typesOf(kernel.getFunctionType().getInputs()),
                                     typesOf(kernel.getFunctionType().getResults())));
    return success();
  }
};
} // namespace
