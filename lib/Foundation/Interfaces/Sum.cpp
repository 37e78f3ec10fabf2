// Asks an op whether it adds, by what it makes of numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/Sum.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

bool weft::isSum(Operation *op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!elementwise || !shardable || op->getNumOperands() != 2 ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return false;
  // What takes partial sums for both operands is linear in them.
  bool isLinear = llvm::any_of(shardable.getPartialRules(ReduceKind::Sum),
                               [](const PartialRule &rule) { return rule.size() == 2; });
  Scalar zero, one;
  one.real = 1;
  return isLinear && elementwise.evaluateScalar({one, zero}).real == 1 &&
         elementwise.evaluateScalar({zero, one}).real == 1;
}
