// The phases of compilation, each a pipeline with a name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_PIPELINES_H
#define WEFT_COMPILER_PIPELINES_H

#include "weft/Compiler/PhaseOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace weft {

/// The phases of the ladder in order; see docs/architecture.md.
enum class Phase { Import, Graph, Step, Sharded, Staged, Local, Scheduled, Executable };
inline constexpr unsigned kNumPhases = 8;
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Appends the verifier of the border of `phase`. `import` has none, because each of its ops is
/// judged by itself, nor has `executable`, whose blob the runtime judges.
void buildBorder(mlir::OpPassManager &pm, Phase phase);

/// Appends the passes that lead from the phase before to `phase`, and the
/// verifier of its border. `import` and `executable` have none: reading files
/// and emitting code are not passes.
void buildPhase(mlir::OpPassManager &pm, Phase phase, const PhaseOptions &options);

/// The first passes on the way to `sharded`: what a person said of placements, on the mesh.
void buildPlaced(mlir::OpPassManager &pm, const PhaseOptions &options);
/// Leads to `sharded`.
void buildSharded(mlir::OpPassManager &pm, const PhaseOptions &options);

/// The part of `local` before and after which the program can be explained in
/// terms of nodes: partitioning, then fusion and outlining.
void buildPartition(mlir::OpPassManager &pm, const PhaseOptions &options);
void buildOutline(mlir::OpPassManager &pm, const PhaseOptions &options);
/// The way from `staged` to where kernels are formed, with at most so many microbatches written
/// out: what a program does, to be looked at and not run.
void buildFusible(mlir::OpPassManager &pm, const PhaseOptions &options, int64_t mostMicrobatches);
/// In the first part, in front of loops and fusion, which would keep or join what
/// is better computed anew.
void buildRecomputation(mlir::OpPassManager &pm);

/// What the target decides on attention, in a sentence; empty where it is said, or as usual.
std::string attentionChoice(const PhaseOptions &options);

/// Appends the passes that make a program of a model, without folding (`graph` without its border).
void buildImportToGraph(mlir::OpPassManager &pm, const PhaseOptions &options);
/// Runs them. A module without a model passes through. What is wrong with the
/// model is reported through the context's diagnostics.
mlir::LogicalResult lowerToGraph(mlir::ModuleOp module, const PhaseOptions &options);

} // namespace weft

#endif // WEFT_COMPILER_PIPELINES_H
