// Sorts of work, from factors and from the ops themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/ComputeClass.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "llvm/ADT/STLExtras.h"

namespace weft {

llvm::StringRef stringifyComputeClass(ComputeClass computeClass) {
  switch (computeClass) {
  case ComputeClass::Move:
    return "move";
  case ComputeClass::Elementwise:
    return "elementwise";
  case ComputeClass::Reduction:
    return "reduction";
  case ComputeClass::Contraction:
    return "contraction";
  case ComputeClass::Attention:
    return "attention";
  }
  llvm_unreachable("unknown compute class");
}

ComputeClass deriveComputeClass(const FactorRule &rule, double flopsPerPoint) {
  if (flopsPerPoint == 0)
    return ComputeClass::Move;
  bool combines = llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.kind != Factor::Kind::Parallel && factor.size != 1;
  });
  return combines ? ComputeClass::Reduction : ComputeClass::Elementwise;
}

bool isArithmeticBound(mlir::Operation *op) {
  auto shardable = llvm::dyn_cast<ShardableOpInterface>(op);
  return shardable && isArithmeticBound(shardable.getComputeClass());
}

} // namespace weft
