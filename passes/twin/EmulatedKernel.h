// Calls of the emulator, and the record by which it knows a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_TWIN_EMULATEDKERNEL_H
#define WEFT_PASSES_TWIN_EMULATEDKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft::twin {

/// The functions of runtime/emulator/Abi.h, declared where they are first called.
class EmulatorCalls {
public:
  explicit EmulatorCalls(mlir::ModuleOp module) : module(module) {}

  /// Calls `weft_emulator_NAME` on these operands; `result` may be null.
  mlir::Value call(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                   mlir::ValueRange operands, mlir::Type result = {});

private:
  mlir::ModuleOp module;
};

/// As `weft_emulated_buffer`.
struct EmulatedBuffer {
  int64_t bytes, granule, alignment;
};

struct EmulatedGrid {
  int64_t blocks, threads;
  bool takesTable; // of all arguments
};

/// Makes the constant `weft_emulated_kernel` of `thread`, the function of the runtime's kernel
/// type, `name`, which launches it, and the `weft_device_image` by which an emulated driver does,
/// NAME.image. Buffers are the arguments' and then the shared ones'.
void defineKernel(mlir::ModuleOp module, llvm::StringRef name, mlir::LLVM::LLVMFuncOp thread,
                  EmulatedGrid grid, llvm::ArrayRef<EmulatedBuffer> arguments,
                  llvm::ArrayRef<EmulatedBuffer> shared);

} // namespace weft::twin

#endif // WEFT_PASSES_TWIN_EMULATEDKERNEL_H
