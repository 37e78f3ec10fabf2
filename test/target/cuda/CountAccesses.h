// What kernels of a GPU read and write, by how wide each access is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TARGET_CUDA_COUNTACCESSES_H
#define WEFT_TEST_TARGET_CUDA_COUNTACCESSES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace weft::cuda {

/// Bytes of loads and stores of global memory, those in accesses of 16 bytes or more, and how many
/// accesses of 16 bytes stand in the code, or have to.
struct Accesses {
  double all = 0, wide = 0;
  int64_t wideOnes = 0;

  double share() const { return all > 0 ? 100 * wide / all : 100; }
};

/// Of PTX, each access counted once: `ld.global.nc.v4.b32` and the like.
Accesses accessesOf(llvm::StringRef ptx);

/// What the kernels of a module execute, by their names, as blocks, threads and loops say. An
/// address that all threads have is read once a warp.
llvm::StringMap<Accesses> countAccesses(mlir::ModuleOp kernels);

} // namespace weft::cuda

#endif // WEFT_TEST_TARGET_CUDA_COUNTACCESSES_H
