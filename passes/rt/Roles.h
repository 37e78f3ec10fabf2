// What ops compute for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROLES_H
#define WEFT_PASSES_RT_ROLES_H

#include "dialects/nn/IR/NnProgram.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace weft::rt {

/// Of the optimizer's update of a state.
inline bool isOfUpdate(mlir::Operation *op) {
  auto role = op->getAttrOfType<mlir::StringAttr>(nn::kRoleAttr);
  return role && role.getValue() == nn::kRoleOptimizer;
}

/// Of the backward pass, which is what is neither forward nor an update.
inline bool isOfGradient(mlir::Operation *op) {
  return op->hasAttr(nn::kRoleAttr) && !isOfUpdate(op);
}

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROLES_H
