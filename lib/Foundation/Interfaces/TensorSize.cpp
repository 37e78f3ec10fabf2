// Tells why a tensor is too large.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/TensorSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace weft {

std::string describeExcess(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (static_cast<int64_t>(shape.size()) > kMaxTensorRank) {
    out << "has " << shape.size() << " dims, more than the " << kMaxTensorRank
        << " that are supported";
    return text;
  }
  out << "has shape [";
  llvm::interleave(
      shape, out,
      [&](int64_t extent) { mlir::ShapedType::isDynamic(extent) ? out << '?' : out << extent; },
      "x");
  bool negative = llvm::any_of(
      shape, [](int64_t extent) { return extent < 0 && !mlir::ShapedType::isDynamic(extent); });
  out << "], "
      << (negative ? "which has a negative extent"
                   : "more than the 2^40 elements that are supported");
  return text;
}

} // namespace weft
