// Passes and the pipeline that turn outlined kernels into LLVM for a CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CPU_PASSES_H
#define WEFT_PASSES_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace weft::cpu {

/// The stack that a kernel may use for temporaries, in bytes: threads that run kernels need this
/// much and 64 KiB more.
inline constexpr int64_t kMaxStackBytes = 1 << 20;

#define GEN_PASS_DECL
#include "passes/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/cpu/Passes.h.inc"

/// What `cpu-lower-kernel-to-loops` leaves on each kernel: the number of its units of parallel
/// work, and how many of them at least are worth a thread of their own (about 20 us of work).
inline constexpr llvm::StringLiteral kExtentAttr = "rt.parallel_extent";
inline constexpr llvm::StringLiteral kGrainAttr = "rt.parallel_grain";

/// From functions of `nn` ops to the LLVM dialect.
void buildKernelPipeline(mlir::OpPassManager &manager);

/// Registers `--weft-cpu-kernel-pipeline`.
void registerKernelPipeline();

} // namespace weft::cpu

#endif // WEFT_PASSES_CPU_PASSES_H
