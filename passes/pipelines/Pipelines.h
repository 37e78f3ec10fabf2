// The phases of compilation, each a pipeline with a name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_PIPELINES_PIPELINES_H
#define WEFT_PASSES_PIPELINES_PIPELINES_H

#include "weft/Sharding/Mesh.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace weft {

/// The rungs of the ladder in order; see docs/architecture.md.
enum class Phase { Import, Graph, Step, Sharded, Staged, Local, Scheduled, Executable };
inline constexpr unsigned kNumPhases = 8;
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Of --batch-stats: statistics of each microbatch, not of the whole batch.
inline constexpr llvm::StringLiteral kPerMicrobatch = "per-microbatch";

/// What the phases need to know, in the words of weft-compile's flags.
struct PhaseOptions : mlir::PassPipelineOptions<PhaseOptions> {
  Option<std::string> bind{*this, "bind",
                           llvm::cl::desc("Extents of symbolic dims, as in weft-compile --bind")};
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("Axes and sizes, dp=2,tp=2; none: one device")};
  Option<std::string> place{*this, "place", llvm::cl::desc("Placement rules, separated by ;")};
  Option<std::string> batchAxes{
      *this, "batch-axes",
      llvm::cl::desc("Axes that split the batch, dp+pod; none; empty: dp if the mesh has it")};
  Option<bool> allowIdleAxes{
      *this, "allow-idle-axes",
      llvm::cl::desc("Let processes repeat the work of others where an axis splits nothing"),
      llvm::cl::init(false)};
  Option<bool> sequenceParallel{
      *this, "sequence-parallel",
      llvm::cl::desc("Also split norms and residuals between matrix products"),
      llvm::cl::init(false)};
  Option<bool> recordPlacements{
      *this, "record-placements",
      llvm::cl::desc("Note the placements by name, for --dist-write-devices"),
      llvm::cl::init(false)};
  Option<std::string> precision{*this, "precision", llvm::cl::desc("f32, bf16, f16 or f64"),
                                llvm::cl::init("f32")};

  Option<int64_t> bucketBytes{*this, "bucket-bytes",
                              llvm::cl::desc("Bytes of a bucket of collectives; 0: no buckets"),
                              llvm::cl::init(25 << 20)};
  Option<bool> keepWeights{*this, "keep-weights", llvm::cl::desc("Fold no weight into the program"),
                           llvm::cl::init(false)};
  // Training; without `train` the others mean nothing.
  Option<bool> train{*this, "train", llvm::cl::desc("Make the programs step, eval and forward"),
                     llvm::cl::init(false)};
  Option<std::string> loss{*this, "loss", llvm::cl::desc("As weft-compile --loss")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("As weft-compile --optimizer")};
  Option<std::string> paramGroups{*this, "param-groups",
                                  llvm::cl::desc("REGEX:key=value,..., separated by ;")};
  Option<std::string> freeze{*this, "freeze",
                             llvm::cl::desc("Patterns of weights not to train, separated by ;")};
  Option<std::string> gradDtype{*this, "grad-dtype",
                                llvm::cl::desc("fp32, bf16, fp16 or fp64; empty: fp32 or wider")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("none, selective, full or best"),
                                llvm::cl::init("none")};
  Option<double> recomputeShare{*this, "recompute-share",
                                llvm::cl::desc("With best: of what full saves, from 0 to 1"),
                                llvm::cl::init(1)};
  Option<std::string> zero{
      *this, "zero",
      llvm::cl::desc("0..3[:AXIS], what of the state is split over the batch's axes or AXIS"),
      llvm::cl::init("0")};
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("Of random numbers"), llvm::cl::init(0)};
  Option<int64_t> microbatches{
      *this, "microbatches", llvm::cl::desc("Parts that the batch is taken in"), llvm::cl::init(1)};
  Option<std::string> batchStats{*this, "batch-stats", llvm::cl::desc("global or per-microbatch"),
                                 llvm::cl::init("global")};
  Option<int64_t> memoryLimit{*this, "memory-limit",
                              llvm::cl::desc("Bytes of one process; 0: no limit"),
                              llvm::cl::init(0)};
};

/// The axes of `mesh` that split the batch, joined by `+`: those `given` (joined by
/// `+` or `,`; "none" for none), else, by custom, `dp`. It is the one place that knows an
/// axis by its name; what other axes are for follows from placements.
std::string batchAxesOf(const Mesh &mesh, llvm::StringRef given);

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

/// Registers `--weft-<phase>-pipeline` for each phase.
void registerPipelines();

} // namespace weft

#endif // WEFT_PASSES_PIPELINES_PIPELINES_H
