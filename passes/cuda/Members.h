// Kernels that are several alike, each with buffers of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_MEMBERS_H
#define WEFT_PASSES_CUDA_MEMBERS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>

namespace weft::cuda {

/// Of a `gpu.func` of several members: their number, and how many arguments each has.
inline constexpr llvm::StringLiteral kGpuMembersAttr = "weft.members";

/// The members of a `gpu.func`, which is one of them: the launch has buffers of all.
struct Members {
  int64_t count, arguments; // arguments: of one member; what follows them are results

  /// Those that the function is marked with; nothing if it is alone.
  static std::optional<Members> of(mlir::gpu::GPUFuncOp kernel);
  void mark(mlir::gpu::GPUFuncOp kernel) const;

  /// Among the buffers of the launch, member m's is at first + m * step.
  struct Place {
    int64_t first, step;
  };
  /// Of the `buffer`-th of the `buffers` that a member has. The launch has all arguments, then all
  /// results: of 3 members with 2 arguments and a result the arguments are at 0 + 2m and 1 + 2m,
  /// the results at 6 + m.
  Place placeOf(int64_t buffer, int64_t buffers) const;
};

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_MEMBERS_H
