// Checks shared by the verifiers of nn.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnVerify.h"
#include "dialects/nn/IR/Nn.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace weft::nn {

std::string shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

LogicalResult expectShape(Operation *op, const Twine &what, Type found, ArrayRef<int64_t> expected,
                          const Twine &because) {
  if (shapeOf(found) == expected)
    return success();
  return op->emitOpError() << what << " has shape " << shapeText(shapeOf(found)) << ", expected "
                           << shapeText(expected) << ": " << because;
}

LogicalResult expectElementType(Operation *op, const Twine &what, Type found, Type expected,
                                const Twine &because) {
  Type foundElement = getElementTypeOrSelf(found), expectedElement = getElementTypeOrSelf(expected);
  if (foundElement == expectedElement)
    return success();
  return op->emitOpError() << what << " has element type " << foundElement << ", expected "
                           << expectedElement << ": " << because;
}

LogicalResult expectCount(Operation *op, const Twine &what, int64_t found, int64_t expected,
                          const Twine &because) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " has " << found << " entries, expected " << expected << ": "
                           << because;
}

LogicalResult expectRange(Operation *op, const Twine &what, int64_t found, int64_t low,
                          int64_t high) {
  if (found >= low && found < high)
    return success();
  return op->emitOpError() << what << " is " << found << ", expected at least " << low
                           << " and less than " << high;
}

LogicalResult expectAtLeast(Operation *op, const Twine &list, ArrayRef<int64_t> found,
                            int64_t low) {
  for (auto [index, value] : llvm::enumerate(found)) {
    if (value < low)
      return op->emitOpError() << list << "[" << index << "] is " << value << ", expected at least "
                               << low;
    if (value > kGreatestEntry)
      return op->emitOpError() << list << "[" << index << "] is " << value << ", expected at most "
                               << kGreatestEntry;
  }
  return success();
}

LogicalResult expectDims(Operation *op, StringRef list, ArrayRef<int64_t> dims, int64_t tensorRank,
                         bool sorted) {
  llvm::SmallBitVector seen(tensorRank);
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (failed(expectRange(op, list + "[" + Twine(index) + "]", dim, 0, tensorRank)))
      return failure();
    if (seen.test(dim))
      return op->emitOpError() << list << " names dimension " << dim << " twice";
    if (sorted && index > 0 && dims[index - 1] > dim)
      return op->emitOpError() << list << "[" << index << "] is " << dim << ", expected more than "
                               << dims[index - 1];
    seen.set(dim);
  }
  return success();
}

LogicalResult verifySameShape(Operation *op) {
  ArrayRef<int64_t> expected = shapeOf(op->getResult(0).getType());
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(expectShape(op, "operand " + Twine(index), type, expected, "the result's shape")))
      return failure();
  return success();
}

LogicalResult verifySameElementType(Operation *op) {
  Type expected = op->getResult(0).getType();
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(expectElementType(op, "operand " + Twine(index), type, expected,
                                 "the result's element type")))
      return failure();
  return success();
}

} // namespace weft::nn
