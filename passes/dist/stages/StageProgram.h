// The part of a program that one stage of a pipeline runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGEPROGRAM_H
#define WEFT_PASSES_DIST_STAGES_STAGEPROGRAM_H

#include "passes/dist/stages/StageSteps.h"

#include "llvm/ADT/StringMap.h"

namespace weft::dist {

/// Copies a program once for each stage: its ops there, its arguments and results there, and of
/// each move the stage's end. Ops have their section (kSectionAttr).
class StagePrograms {
public:
  StagePrograms(mlir::func::FuncOp function, MeshAttr mesh, AxisId axis,
                const StageSections &sections);

  /// One for each module, which are those of the stages, in order.
  void project(llvm::MutableArrayRef<mlir::ModuleOp> modules);
  /// Erases what nothing reads, with both ends of what then need not move; inputs go where they are
  /// read.
  void eraseDead();
  /// Lists ops by their sections, and gives loops the steps of `schedule`.
  void order(const pipeline::Schedule &schedule);

private:
  class Copier;
  struct Channel {
    std::string name;
    int64_t section = 0; ///< as Crossing has it
    int64_t turn = 0;    ///< among crossings
    mlir::Operation *send = nullptr, *receive = nullptr;
  };

  void addChannels(const std::vector<Crossing> &crossings);
  void eraseInputs();
  void sinkSources(mlir::Block &block, const LoopSections *loop);
  void sortBySection(mlir::Block &block);
  static void setSteps(RepeatOp loop, llvm::ArrayRef<Step> list);

  mlir::func::FuncOp function;
  MeshAttr mesh;
  AxisId axis;
  const StageSections &sections;
  std::vector<mlir::func::FuncOp> programs; ///< by stage
  /// By op and the stage that gets its value, or -1.
  llvm::MapVector<std::pair<mlir::Operation *, int64_t>, Channel> channels;
  llvm::DenseMap<mlir::Operation *, Channel *> channelOf; ///< of copies
  llvm::StringMap<unsigned> names;                        ///< how many channels have the name
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGEPROGRAM_H
