// Names of values in locations, where a model has other ones than its nodes say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_VALUENAMES_H
#define WEFT_SUPPORT_VALUENAMES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace weft {

/// `loc` of an op, which makes the value that the model calls `name`. Whoever looks for the node
/// finds it as before.
inline mlir::Location withValueName(mlir::Location loc, llvm::StringRef name) {
  return mlir::FusedLoc::get({loc}, mlir::StringAttr::get(loc.getContext(), name),
                             loc.getContext());
}

/// The name that `withValueName` gave this very location; empty = none.
inline llvm::StringRef valueName(mlir::Location loc) {
  auto fused = mlir::dyn_cast<mlir::FusedLoc>(loc);
  auto name =
      fused ? mlir::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata()) : mlir::StringAttr();
  return name ? name.getValue() : llvm::StringRef();
}

/// The location of the node alone.
inline mlir::Location withoutValueName(mlir::Location loc) {
  return valueName(loc).empty() ? loc : mlir::cast<mlir::FusedLoc>(loc).getLocations().front();
}

} // namespace weft

#endif // WEFT_SUPPORT_VALUENAMES_H
