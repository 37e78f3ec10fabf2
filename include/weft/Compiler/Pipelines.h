// The phases of compilation, each a pipeline with a name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_PIPELINES_H
#define WEFT_COMPILER_PIPELINES_H

#include "weft/Sharding/Mesh.h"

#include "mlir/Pass/PassManager.h"

namespace weft {

/// The phases of the ladder in order; see docs/architecture.md.
enum class Phase { Import, Graph, Step, Sharded, Staged, Local, Scheduled, Executable };
inline constexpr unsigned kNumPhases = 8;
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Of --batch-stats: statistics of each microbatch, not of the whole batch.
inline constexpr llvm::StringLiteral kPerMicrobatch = "per-microbatch";

/// Of --recompute: the least that fits into a limit of memory; no pass knows it, as it takes
/// trials.
inline constexpr llvm::StringLiteral kAutoRecompute = "auto";

/// What the phases are asked to make, in the words of weft-compile's flags.
struct PhaseOptions {
  /// Extents of symbolic dims and inputs made constant: batch=8,INPUT=@FILE.npy.
  std::string bind;
  /// Axes and sizes, dp=2,tp=2; empty: one device.
  std::string mesh;
  /// Rules REGEX=dimN:AXIS, separated by `;`.
  std::string place;
  /// Axes that split the batch, dp+pod; none; empty: dp if the mesh has it.
  std::string batchAxes;
  /// Let processes repeat the work of others where an axis splits nothing.
  bool allowIdleAxes = false;
  /// Also split norms and residuals between matrix products.
  bool sequenceParallel = false;
  /// Note the placements by name, for `dist-write-devices`.
  bool recordPlacements = false;
  /// f32, bf16, f16 or f64.
  std::string precision = "f32";
  /// Bytes of a bucket of collectives; 0: no buckets.
  int64_t bucketBytes = 25 << 20;
  /// The name of the target, which acts from `local` on.
  std::string target = "cpu";
  /// Fold no weight into the program.
  bool keepWeights = false;

  /// Make the programs step, eval and forward. Without it what follows means nothing.
  bool train = false;
  std::string loss, optimizer;
  /// Without a loss and an optimizer the model itself says how it is trained.
  bool usesModelStep() const { return loss.empty() && optimizer.empty(); }
  /// REGEX:key=value,..., separated by `;`.
  std::string paramGroups;
  /// Patterns of weights not to train, separated by `;`.
  std::string freeze;
  /// fp32, bf16, fp16 or fp64; empty: fp32 or wider.
  std::string gradDtype;
  /// none, selective, full, or best: the best `recomputeShare` (0 to 1) of what full saves.
  std::string recompute = "none";
  double recomputeShare = 1;
  /// 0..3[:AXIS]: what of the state is split over the batch's axes or AXIS.
  std::string zero = "0";
  /// Of random numbers.
  uint64_t seed = 0;
  /// Parts that the batch is taken in.
  int64_t microbatches = 1;
  /// global or per-microbatch.
  std::string batchStats = "global";
};

/// The axes of `mesh` that split the batch, joined by `+`: those `given` (joined by
/// `+` or `,`; "none" for none), else, by custom, `dp`. It is the one place that knows an
/// axis by its name; what other axes are for follows from placements.
std::string batchAxesOf(const Mesh &mesh, llvm::StringRef given);

/// Appends the verifier of the border of `phase`. `import` has none, because each of its ops is
/// judged by itself, nor has `executable`, whose blob the runtime judges.
void buildBorder(mlir::OpPassManager &pm, Phase phase);

/// Appends the passes that lead from the phase before to `phase`, and the
/// verifier of its border. `import` and `executable` have none: reading files
/// and emitting code are not passes.
void buildPhase(mlir::OpPassManager &pm, Phase phase, const PhaseOptions &options);

/// Leads to `sharded`.
void buildSharded(mlir::OpPassManager &pm, const PhaseOptions &options);

/// The part of `local` before and after which the program can be explained in
/// terms of nodes: partitioning, then fusion and outlining.
void buildPartition(mlir::OpPassManager &pm, const PhaseOptions &options);
void buildOutline(mlir::OpPassManager &pm, const PhaseOptions &options);
/// In the first part, in front of loops and fusion, which would keep or join what
/// is better computed anew.
void buildRecomputation(mlir::OpPassManager &pm);

/// Registers `--weft-<phase>-pipeline` for each phase, and the passes at the borders of phases.
void registerPipelines();

} // namespace weft

#endif // WEFT_COMPILER_PIPELINES_H
