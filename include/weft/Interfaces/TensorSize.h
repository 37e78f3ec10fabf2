// How large a tensor may be: the one check for every type that a model gives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_TENSORSIZE_H
#define WEFT_INTERFACES_TENSORSIZE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <optional>
#include <string>

namespace weft {

/// More elements or dims than this have no meaning for anyone, and all that
/// phases compute from smaller ones - bytes, strides, work - fits 64 bits.
inline constexpr int64_t kMaxElements = int64_t(1) << 40;
inline constexpr int64_t kMaxTensorRank = 64;

/// The number of elements if phases can compute with the shape. Extents that
/// are 0 or not known count as 1 towards the limit, for strides are products,
/// too.
inline std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxTensorRank)
    return std::nullopt;
  int64_t product = 1;
  bool isEmpty = false;
  for (int64_t extent : shape) {
    isEmpty |= extent == 0;
    if (extent == 0 || mlir::ShapedType::isDynamic(extent))
      continue;
    if (extent < 0 || llvm::MulOverflow(product, extent, product) || product > kMaxElements)
      return std::nullopt;
  }
  return isEmpty ? 0 : product;
}

/// Of a whole type, for type constraints.
inline bool hasBoundedSize(mlir::Type type) {
  auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
  return !shaped || !shaped.hasRank() || countElements(shaped.getShape()).has_value();
}

/// Why `countElements` has no answer: "has shape [AxB], which is ...".
std::string describeExcess(llvm::ArrayRef<int64_t> shape);

/// Whether an extent, or what is added to or cut from one, can be that number.
inline bool isShapeNumber(int64_t number) {
  return number >= -kMaxElements && number <= kMaxElements;
}

/// The product of two numbers of shapes; past the limit just past it, so that a
/// type made of it is refused and sums of a few do not overflow.
inline int64_t boundedProduct(int64_t a, int64_t b) {
  constexpr int64_t kPast = kMaxElements + 1;
  int64_t product;
  if (llvm::MulOverflow(a, b, product))
    return (a < 0) == (b < 0) ? kPast : -kPast;
  return product > kPast ? kPast : product < -kPast ? -kPast : product;
}

} // namespace weft

#endif // WEFT_INTERFACES_TENSORSIZE_H
