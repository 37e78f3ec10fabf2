// Passes and pipelines that turn outlined kernels into code for NVIDIA's GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_PASSES_H
#define WEFT_PASSES_CUDA_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace weft::cuda {

/// Bytes of workgroup memory that a block may have without asking for more.
inline constexpr int64_t kWorkgroupBytes = 48 << 10;
/// Of those, what reductions of whole blocks exchange among warps, at most.
inline constexpr int64_t kExchangeBytes = 1 << 10;

/// Bytes of the widest access that a thread makes. All that a kernel is given starts on a multiple.
inline constexpr int64_t kAccessBytes = 16;

#define GEN_PASS_DECL
#include "passes/cuda/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/cuda/Passes.h.inc"

/// Of a `gpu.func` that is a kernel: the number of its blocks, an i64.
inline constexpr llvm::StringLiteral kGridAttr = "weft.grid";

/// Of a `gpu.func` that reads ahead: how many blocks a multiprocessor has to have room for, an i32.
/// So many may have all the registers.
inline constexpr llvm::StringLiteral kResidentAttr = "weft.resident";

/// From functions of `nn` ops to one `gpu.module` a kernel, as `cuda-distribute-kernels` describes
/// it, with functions as polynomials: `--cuda-lower-kernel-to-gpu`.
void buildGpuPipeline(mlir::OpPassManager &manager);

/// From there to the LLVM dialect, in each `gpu.module`.
void buildNvvmPipeline(mlir::OpPassManager &manager);

/// Registers the pipelines.
void registerKernelPipelines();

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_PASSES_H
