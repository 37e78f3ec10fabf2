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

/// Registers the passes at the borders of phases and `--weft-PHASE-pipeline` for each phase, for
/// tools that take passes by name.
void registerPipelines();

/// Before anything is read: whether the run can end well. Returns an exit code, as the next.
int checkCommandLine(const Options &options, const std::string &program);
/// When the program is read: adds what its text says to `options`, settles the mesh, and tells the
/// compilation.
int prepare(Compilation &compilation, const std::vector<std::string> &arguments, Options &options,
            const std::string &program);
EmitOptions emitOptions(mlir::ModuleOp module, const Options &options, const std::string &program);

/// Whether an executable, and the weights beside it, will be written.
bool makesExecutable(const Options &options);
/// The files that the command line names to be read.
std::vector<std::string> inputFiles(const Options &options);
/// Where --dump-phases puts the text of a phase.
std::string dumpPath(llvm::StringRef folder, Phase phase);
/// The flag and the file of each output.
using Outputs = std::vector<std::pair<llvm::StringRef, std::string>>;
/// Found out before work that would be lost: whether all that is asked for, and `more`, can be
/// written, and takes the place of none of `inputs`.
llvm::Error checkOutputs(const Options &options, llvm::ArrayRef<std::string> inputs,
                         const Outputs &more = {});
/// The same of the texts of the phases behind `from`, those of an earlier run being removed first.
llvm::Error checkDumps(const Options &options, Phase from, llvm::ArrayRef<std::string> inputs);

/// Writes `model`, at the phase `import`, into the file `path` with the placements
/// that `sharded` recorded, and has no more then, as its first device configuration.
llvm::Error writeDevices(mlir::ModuleOp model, mlir::ModuleOp sharded, llvm::StringRef modelPath,
                         llvm::StringRef path);

} // namespace weft::driver

#endif // WEFT_DRIVER_DRIVER_H
