// Geometry of sliding windows, as convolutions and pools state it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_OPS_WINDOW_H
#define WEFT_PASSES_ONNX_OPS_WINDOW_H

#include "passes/onnx/NodeContext.h"

namespace weft::onnx {

/// One entry a spatial dim. With `ceil_mode` the last window may hang over the
/// padded input; `extra` is by how much, to be padded but not counted.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high, extra;

  int64_t reach(size_t dim) const { return boundedProduct(kernel[dim] - 1, dilations[dim]) + 1; }
  llvm::SmallVector<int64_t> paddedHigh() const;
  /// Extent of the result along a dim of extent `in`.
  int64_t out(size_t dim, int64_t in) const {
    return (in + low[dim] + high[dim] + extra[dim] - reach(dim)) / strides[dim] + 1;
  }
};

/// Reads strides, dilations, pads, auto_pad and ceil_mode for an input of these
/// spatial extents; nothing, with the failure noted, if they are not sound.
std::optional<Window> windowOf(NodeContext &n, llvm::ArrayRef<int64_t> spatial,
                               llvm::ArrayRef<int64_t> kernel);

/// The attribute auto_pad: NOTSET leaves the padding to `pads`.
std::optional<llvm::StringRef> automaticPadding(NodeContext &n);

/// The convolution that the node's attributes describe, without bias.
mlir::Value convolve(NodeContext &n, mlir::Value x, mlir::Value filter);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_OPS_WINDOW_H
