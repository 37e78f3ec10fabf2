// How a program's text records the way it was compiled, and how to go on from there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DRIVER_RESUME_H
#define WEFT_DRIVER_RESUME_H

#include "weft/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft::driver {

/// Writes on the module what later phases need to know: the model's file, absolute, and the flags
/// that say what is made (not those about this one run), with absolute names of files.
void recordCommandLine(mlir::ModuleOp module, const std::string &model, const Options &options);

/// Those flags, for people to read: with files by their names alone, so that no executable tells
/// in whose folder it was compiled.
std::string flagsText(mlir::ModuleOp module);
/// Of flags that are given, those that decide which commands there are, each as `flagsText` has it.
std::vector<std::string> flagsOfCommands(const std::vector<GivenFlag> &given);

/// The options of a program that goes on from `at`: what its text says, and what was
/// `given` now where that can still be chosen. A flag that would have had to be
/// given earlier is an error.
llvm::Expected<Options> resumeOptions(mlir::ModuleOp module, Phase at,
                                      const std::vector<std::string> &arguments,
                                      const Options &given);

} // namespace weft::driver

#endif // WEFT_DRIVER_RESUME_H
