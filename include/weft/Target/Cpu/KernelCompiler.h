// From outlined kernels (functions of `nn` ops) to object code for a CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CPU_KERNELCOMPILER_H
#define WEFT_TARGET_CPU_KERNELCOMPILER_H

#include "weft/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace weft::cpu {

/// Compiles each `func.func` of `module` that has a body. Bodies are `nn` ops
/// on tensors without encodings; the results are values computed in the body or
/// arguments. The module is left as it was. Kernels are compiled in parallel on
/// the context's threads, and the bytes do not depend on the number of threads.
///
/// An image is a relocatable ELF object with this one function. Undefined symbols are those of
/// libc and libm only. Its grain is about 20 us of work.
///
/// The compiled function has the type `weft_kernel_fn` of
/// runtime/include/weft/runtime/Program.h. `pointers` are the arguments, then
/// the results: dense row-major buffers, aligned to their element, that do not
/// overlap each other where one of them is written. An i1 is a byte, 0 or 1.
/// `scalars` is not read. Temporaries live on the stack, at most
/// `kMaxStackBytes` (passes/cpu/Passes.h).
///
/// On failure an error has been emitted at the function or op concerned; a
/// fusion whose temporaries do not fit must be outlined in smaller pieces.
mlir::FailureOr<std::vector<KernelImage>> compileKernels(mlir::ModuleOp module,
                                                         const KernelOptions &options = {});

/// Turns the one kernel of a module into the LLVM dialect, and tells its name and shape. On failure
/// an error has been emitted. Called on several threads.
using LowerKernel = llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, KernelImage &)>;

/// What `compileKernels` does once it has a module for each kernel: `lower`, LLVM's optimizer and
/// code generator, an object. Dialects have been loaded; `loc` is where wrong options are told. For
/// other ways to run kernels here.
mlir::FailureOr<std::vector<KernelImage>>
compileObjects(mlir::Location loc, llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
               const KernelOptions &options, LowerKernel lower);

/// Kernels for `processor`, and what a machine must have to run them.
KernelImages imagesFor(llvm::StringRef processor, std::vector<KernelImage> kernels);

/// Adds the dialects and translations that compilation needs. Call it on the
/// registry of a context before `compileKernels`.
void registerKernelDialects(mlir::DialectRegistry &registry);

} // namespace weft::cpu

#endif // WEFT_TARGET_CPU_KERNELCOMPILER_H
