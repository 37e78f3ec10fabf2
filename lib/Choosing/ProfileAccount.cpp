// Finds the transformer in a program, and asks a profile about it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProfileAccount.h"

#include "dialects/nn/IR/NnProgram.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Choosing/Failure.h"
#include "weft/Compiler/StageAxis.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"

using namespace mlir;
using namespace weft;
using namespace weft::choosing;

namespace {

/// Sizes of the transformer that the program is: its attention and its last product, which makes
/// the logits, tell them.
std::optional<cost::Transformer> transformerOf(ModuleOp program, int64_t &batch) {
  cost::Transformer model;
  WorkShape attention, last, widest;
  model.layers = 0;
  account::leadProgram(program).walk([&](Operation *op) {
    if (op->hasAttr(nn::kRoleAttr) || !isa<ShardableOpInterface>(op))
      return;
    WorkShape shape = workOf(op).shape;
    if (shape.kind == WorkShape::Kind::Attention) {
      attention = shape;
      ++model.layers;
    } else if (shape.kind == WorkShape::Kind::Gemm) {
      widest = last.n > widest.n ? last : widest;
      last = shape;
    }
  });
  if (model.layers == 0 || last.k % std::max<int64_t>(1, attention.k) != 0)
    return std::nullopt;
  model.hidden = last.k;
  model.heads = last.k / attention.k;
  model.sequence = attention.m;
  model.vocabulary = last.n;
  model.feedForward = widest.n;
  batch = attention.batch / model.heads;
  return model;
}

cost::Layout layoutOf(const PhaseOptions &phases, int64_t batch) {
  cost::Layout layout;
  for (const std::string &axis : batchAxesOf(phases))
    layout.data *= phases.mesh.groupSize(phases.mesh.resolve(axis));
  if (std::string axis = stageAxisOf(phases); !axis.empty())
    layout.stages = phases.mesh.groupSize(phases.mesh.resolve(axis));
  layout.tensor = phases.mesh.processCount() / (layout.data * layout.stages);
  layout.globalBatch = batch;
  layout.microbatch = std::max<int64_t>(1, batch / (layout.data * phases.microbatches));
  layout.sequenceParallel = phases.sequenceParallel;
  if (llvm::is_contained(kUniformRecompute, phases.recompute))
    layout.recompute = phases.recompute;
  layout.zero = phases.zero.stage;
  return layout;
}

} // namespace

llvm::Expected<cost::StepAccount> choosing::accountOfProfile(const cost::Profile &profile,
                                                             ModuleOp program,
                                                             const PhaseOptions &phases) {
  int64_t batch = 0;
  std::optional<cost::Transformer> model = transformerOf(program, batch);
  if (!phases.train || !model)
    return llvm::make_error<Failure>(Failure::Cause::Transformer);
  std::string wrong;
  std::optional<cost::StepAccount> account =
      profile.account(*model, layoutOf(phases, batch), wrong);
  if (!account)
    return llvm::make_error<Failure>(Failure::Cause::Profile, wrong);
  return std::move(*account);
}
