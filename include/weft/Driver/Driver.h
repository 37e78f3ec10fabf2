// weft-compile as a function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_DRIVER_H
#define WEFT_DRIVER_DRIVER_H

#include "weft/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::driver {

/// Runs the whole command line; returns the exit code. `program` is argv[0].
int compileMain(const std::vector<std::string> &arguments, const std::string &program);

/// Prints what was split where, which communication it takes, and why: one line
/// a node of the program at `local`, before fusion.
void explainPlacement(mlir::ModuleOp module, bool json, llvm::raw_ostream &out);

/// The commands of each scheduled program that communicate, and which collectives
/// share one: a line a bucket.
void explainCommunication(mlir::ModuleOp module, bool json, llvm::raw_ostream &out);

/// Bytes of each class on one process of the scheduled program, and its largest
/// buffers.
void explainMemory(mlir::ModuleOp module, bool json, llvm::raw_ostream &out);

/// Bytes of the arena of one process.
int64_t arenaBytes(mlir::ModuleOp module);

/// Copies the bytes that states refer to into `path` and refers them there.
bool copyWeights(mlir::ModuleOp module, const std::string &modelDirectory, const std::string &path,
                 std::string &error);

/// Writes `model`, at the rung `import`, into the file `path` with the placements
/// that `sharded` recorded as its first device configuration.
bool writeDevices(mlir::ModuleOp model, mlir::ModuleOp sharded, llvm::StringRef modelPath, llvm::StringRef path,
                  std::string &error);

} // namespace weft::driver

#endif // WEFT_DRIVER_DRIVER_H
