// From outlined kernels (functions of `nn` ops) to object code for a CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CPU_KERNELCOMPILER_H
#define WEFT_TARGET_CPU_KERNELCOMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace weft::cpu {

struct KernelOptions {
  /// LLVM's name of the processor; "native" is this machine's.
  std::string processor = "native";
  /// 3 for programs that run long, 1 for throw-away kernels (tests), where
  /// compilation dominates. Results may differ in the last bit between levels.
  unsigned optLevel = 3;
};

struct CompiledKernel {
  /// The function's name in the object: that of the input function.
  std::string symbol;
  /// `symbol(begin, end, pointers, scalars)` does the units [begin, end) of
  /// [0, extent); results do not depend on how [0, extent) is cut.
  int64_t extent = 1;
  /// Least number of units worth a thread of their own (about 20 us of work).
  int64_t grain = 1;
  /// A relocatable ELF object with this one function. Undefined symbols are
  /// those of libc and libm only.
  llvm::SmallVector<char, 0> object;
};

/// Compiles each `func.func` of `module` that has a body. Bodies are `nn` ops
/// on tensors without encodings; the results are values computed in the body or
/// arguments. The module is left as it was. Kernels are compiled in parallel on
/// the context's threads, and the bytes do not depend on the number of threads.
///
/// The compiled function has the type `weft_kernel_fn` of
/// runtime/include/weft/runtime/Program.h. `pointers` are the arguments, then
/// the results: dense row-major buffers, aligned to their element, that do not
/// overlap each other where one of them is written. An i1 is a byte, 0 or 1.
/// `scalars` is not read. Temporaries live on the stack, at most
/// `kMaxStackBytes`.
///
/// On failure an error has been emitted at the function or op concerned; a
/// cluster whose temporaries do not fit must be outlined in smaller pieces.
mlir::FailureOr<std::vector<CompiledKernel>> compileKernels(mlir::ModuleOp module,
                                                            const KernelOptions &options = {});

/// The stack that a kernel may use for temporaries: threads that run kernels
/// need this much and 64 KiB more.
inline constexpr int64_t kMaxStackBytes = 1 << 20;

/// Adds the dialects and translations that compilation needs. Call it on the
/// registry of a context before `compileKernels`.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace weft::cpu

#endif // WEFT_TARGET_CPU_KERNELCOMPILER_H
