// Passes at the borders of phases; see Passes.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_PHASES_H
#define WEFT_COMPILER_PHASES_H

#include "weft/Compiler/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <functional>

namespace weft {

/// Attributes of a module between phases: the phase that it has reached, the file
/// of the model it was made of (absolute), and the flags of weft-compile that it
/// was or shall be compiled with.
inline constexpr llvm::StringLiteral kPhaseAttr = "weft.phase";
inline constexpr llvm::StringLiteral kModelAttr = "weft.model";
inline constexpr llvm::StringLiteral kFlagsAttr = "weft.flags";

/// The phase that the module says it has reached; nothing if it does not say, or
/// if there is no such phase.
std::optional<Phase> phaseOf(mlir::ModuleOp module);

std::unique_ptr<mlir::Pass> createBeginPhase(Phase phase, const PhaseOptions &options);
std::unique_ptr<mlir::Pass> createEndPhase(Phase phase);
/// Runs what `build` appends if the module has a mesh, else what `otherwise` appends.
std::unique_ptr<mlir::Pass> createOnMesh(
    llvm::function_ref<void(mlir::OpPassManager &)> build,
    llvm::function_ref<void(mlir::OpPassManager &)> otherwise = [](mlir::OpPassManager &) {});

/// Runs what `build` appends on the module of each stage; on the module itself if there are none.
std::unique_ptr<mlir::Pass> createOnStages(llvm::function_ref<void(mlir::OpPassManager &)> build);

void registerPhasePasses();

} // namespace weft

#endif // WEFT_COMPILER_PHASES_H
