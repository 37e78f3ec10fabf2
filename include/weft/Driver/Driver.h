// weft-compile as a function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_DRIVER_H
#define WEFT_DRIVER_DRIVER_H

#include "weft/Driver/Options.h"
#include "weft/Emit/Sources.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::driver {

/// Runs the whole command line; returns the exit code. `program` is argv[0].
int compileMain(const std::vector<std::string> &arguments, const std::string &program);

/// Copies the bytes that states refer to into `path` and refers them, and their
/// hashes, there.
bool copyWeights(mlir::ModuleOp module, emit::SourceFiles &sources, emit::SourceHashes &hashes,
                 const std::string &path, std::string &error);

/// Writes `model`, at the rung `import`, into the file `path` with the placements
/// that `sharded` recorded as its first device configuration.
bool writeDevices(mlir::ModuleOp model, mlir::ModuleOp sharded, llvm::StringRef modelPath, llvm::StringRef path,
                  std::string &error);

} // namespace weft::driver

#endif // WEFT_DRIVER_DRIVER_H
