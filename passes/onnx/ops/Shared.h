// What operators of several files are made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_OPS_SHARED_H
#define WEFT_PASSES_ONNX_OPS_SHARED_H

#include "passes/onnx/NodeContext.h"

namespace weft::onnx {

/// The operators Conv and Gemm.
Results conv(NodeContext &n);
Results gemm(NodeContext &n);

/// B x S x (H D) to B x H x S x D.
mlir::Value splitHeads(NodeContext &n, mlir::Value x, int64_t heads);
/// And back.
mlir::Value joinHeads(NodeContext &n, mlir::Value x);

/// The first `depth` elements (0: all) of each head of B x H x S x D turned, by
/// tables of B x S x depth/2 or more.
mlir::Value rotate(NodeContext &n, mlir::Value x, mlir::Value cosine, mlir::Value sine,
                   int64_t depth, bool interleaved);

/// The rows of a table that a tensor of positions names; fails for a known one beyond the table.
mlir::Value rowsAt(NodeContext &n, mlir::Value table, mlir::Value positions);

/// `nn.attention` of B x H x S x D; what is added to the scores may be null, or
/// broadcasts.
mlir::Value attend(NodeContext &n, mlir::Value q, mlir::Value k, mlir::Value v, mlir::Value bias,
                   double scale, bool causal, double softcap);

/// Zero where `seen` holds, `hidden` elsewhere.
mlir::Value biasWhere(NodeContext &n, mlir::Value seen, mlir::Type element, double hidden);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_OPS_SHARED_H
