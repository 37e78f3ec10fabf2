// Optimizes an LLVM module for a processor and writes an object.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_TARGET_CPU_OBJECTEMITTER_H
#define WEFT_LIB_TARGET_CPU_OBJECTEMITTER_H

#include "weft/Target/Cpu/KernelCompiler.h"

namespace llvm {
class Module;
}

namespace weft::cpu {

class ObjectEmitter {
public:
  explicit ObjectEmitter(const KernelOptions &options) : options(options) {}

  /// An error at `loc` if the options name an unknown processor.
  static mlir::LogicalResult check(const KernelOptions &options, mlir::Location loc);

  mlir::LogicalResult emit(llvm::Module &module, llvm::SmallVectorImpl<char> &object,
                           mlir::Location loc);

private:
  const KernelOptions &options;
};

} // namespace weft::cpu

#endif // WEFT_LIB_TARGET_CPU_OBJECTEMITTER_H
