// Places arguments, results, constants and temporaries of kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelPlacement.h"

#include "KernelForm.h"
#include "weft/Interfaces/KernelAttributes.h"

using namespace mlir;
using namespace weft::kernels;

KernelPlacement::KernelPlacement(func::FuncOp kernel, ValueRange buffers, ElementEmitter &elements)
    : kernel(kernel), buffers(buffers), elements(elements) {
  for (auto [argument, buffer] : llvm::zip(kernel.getArguments(), buffers))
    elements.storage[argument] =
        denseStorage(buffer, cast<RankedTensorType>(argument.getType()), elements.space);
  placeResults();
  auto shared = kernel->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr);
  if (!shared)
    return;
  for (auto [result, argument] : llvm::zip_equal(results, shared.asArrayRef()))
    if (argument >= 0) {
      Storage &storage = elements.storage[kernel.getArgument(argument)] = result;
      storage.isOverwritten = true;
      overwritten.push_back(&result);
    }
}

void KernelPlacement::placeResults() {
  results.clear();
  for (auto [type, buffer] :
       llvm::zip_equal(kernel.getResultTypes(), buffers.drop_front(kernel.getNumArguments())))
    results.push_back(denseStorage(buffer, cast<RankedTensorType>(type), elements.space));
}

void KernelPlacement::placeConstants(
    llvm::function_ref<Value(DenseElementsAttr, unsigned)> makeTable) {
  unsigned number = 0;
  for (auto constant : kernel.getOps<arith::ConstantOp>())
    if (DenseElementsAttr table = tableOf(constant))
      elements.storage[constant] = denseStorage(
          makeTable(table, number++), cast<RankedTensorType>(constant.getType()), elements.space);
}

llvm::Expected<KernelTiling> KernelPlacement::tile(Plan plan) {
  auto tiling = plan(results, overwritten);
  if (tiling || overwrites() || !shareLeadingDims(kernel))
    return tiling;
  consumeError(tiling.takeError());
  placeResults();
  return plan(results, overwritten);
}

void KernelPlacement::place(LoopNest &nest, llvm::function_ref<Value(Type, int64_t)> allocate) {
  if (nest.kind == LoopNest::Kind::Copy)
    return;
  for (auto [value, result] : llvm::zip_equal(nest.values, nest.results)) {
    if (result >= 0) {
      elements.storage[value] = results[result];
    } else if (!nest.isScalar()) {
      Value memory = allocate(memoryType(getElementTypeOrSelf(value)),
                              std::max<int64_t>(1, nest.boxElements()));
      elements.storage[value] = temporaryStorage(nest, value, memory, elements.space);
    }
  }
}

void weft::kernels::setUnit(const KernelTiling &tiling, Value unit, ElementEmitter &elements) {
  OpBuilder &code = elements.builder;
  Location loc = unit.getLoc();
  for (int dim = int(tiling.unitExtents.size()) - 1; dim >= 0; --dim) {
    if (dim == 0) {
      elements.space.dims[0].iv = unit;
      break;
    }
    Value extent = arith::ConstantIndexOp::create(code, loc, tiling.unitExtents[dim]);
    elements.space.dims[dim].iv = arith::RemUIOp::create(code, loc, unit, extent);
    unit = arith::DivUIOp::create(code, loc, unit, extent);
  }
}
