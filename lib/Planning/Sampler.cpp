// Compiles a few blocks, in as few programs as there can be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planning/Sampler.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/nn/step/KeepBlocks.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace weft;
using planner::Group;
using planner::ModelAccount;
using planner::Sample;

namespace {

/// Blocks of the smaller program: the first and the last one have other neighbours. Where whole
/// blocks are computed again, a border that is kept is known by what repeats twice in between.
constexpr int64_t kFewBlocks = 2, kFewRecomputedBlocks = 3;

int64_t elementBytesOf(Precision precision) {
  return precision == Precision::F64 ? 8 : precision == Precision::F32 ? 4 : 2;
}

/// The extent of the batch, as dist-place finds it: by the name of a dimension, else the first of
/// the first input.
int64_t batchOf(func::FuncOp function) {
  int64_t first = 1;
  bool hasFirst = false;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || nn::isState(function, argument.getArgNumber()) || type.getRank() == 0)
      continue;
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), nn::kDimsAttr))
      for (auto [extent, name] : llvm::zip(type.getShape(), dims))
        if (auto text = dyn_cast<StringAttr>(name); text && text.getValue() == "batch")
          return extent;
    if (!hasFirst)
      first = type.getDimSize(0);
    hasFirst = true;
  }
  return first;
}

} // namespace

Sampler::~Sampler() = default;

Sampler::Sampler(const Compilation &program, Compilation atImport)
    : imported(std::move(atImport)), precision(program.options.phases.precision) {
  func::FuncOp forward = account::leadProgram(program.getModule());
  wholeBatch = forward ? batchOf(forward) : 1;
  if (forward)
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      hasStatistics |= forward.getArgAttr(i, nn::kStatisticAttr) != nullptr;
  FailureOr<step::Blocks> blocks = failure();
  if (forward && llvm::hasSingleElement(program.getModule().getOps<func::FuncOp>()))
    blocks = step::findBlocks(forward);
  if (succeeded(blocks) && blocks->count > kFewBlocks) {
    blockCount = blocks->count;
    borderElements = blocks->border.getNumElements();
    partsOf = std::move(blocks->partsOf);
  }
  if (hasStatistics)
    return;
  for (planner::Recompute recompute : {planner::Recompute::None, planner::Recompute::Full})
    for (Size size : {fewerBlocks(recompute), fewerBlocks(recompute) + 1})
      if (auto &kept = graphs[{1, size}]; !kept)
        keepBlocksOf(kept.emplace(program.clone()), size);
}

Sampler::Size Sampler::fewerBlocks(planner::Recompute recompute) const {
  if (blockCount == 0)
    return 0;
  return recompute == planner::Recompute::Full && blockCount > kFewRecomputedBlocks
             ? kFewRecomputedBlocks
             : kFewBlocks;
}

void Sampler::keepBlocksOf(Compilation &program, Size size) const {
  if (blockCount == 0)
    return;
  func::FuncOp whole = account::leadProgram(program.getModule());
  [[maybe_unused]] LogicalResult kept = step::keepBlocks(whole, size);
  assert(succeeded(kept) && "blocks that were found are not there");
}

const Compilation *Sampler::graph(Parts parts, Size size) {
  auto [found, isNew] = graphs.try_emplace({parts, size});
  if (isNew) {
    Compilation &made = found->second.emplace(imported.clone());
    made.options.phases.microbatches = parts;
    made.options.phases.batchStats = BatchStats::PerMicrobatch;
    if (succeeded(made.runTo(Phase::Graph)))
      keepBlocksOf(made, size);
    else
      found->second.reset();
  }
  return found->second ? &*found->second : nullptr;
}

const Compilation *Sampler::stepped(planner::Recompute recompute, Parts parts, Size size) {
  auto [found, isNew] = steps.try_emplace({recompute, parts, size});
  if (const Compilation *from = isNew ? graph(parts, size) : nullptr) {
    found->second.emplace(from->clone());
    found->second->options.phases.recompute = planner::nameOf(recompute);
    found->second->options.phases.mesh = {};
    if (failed(found->second->runTo(Phase::Step)))
      found->second.reset();
  }
  return found->second ? &*found->second : nullptr;
}

llvm::Expected<Sample> Sampler::read(ModuleOp module, const Group &group, int64_t microbatches,
                                     Size size) const {
  auto account = account::accountOf(module, {"1f1b", /*bucketBytes=*/0, /*isForPlanning=*/true});
  if (!account)
    return account.takeError();
  Sample sample;
  sample.blocks = size;
  sample.chunk = std::move(account->chunks.front());
  func::FuncOp lead = account::leadProgram(module);
  for (BlockArgument argument : lead.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!nn::isState(lead, number) || lead.getArgAttr(number, nn::kStatisticAttr) ||
        lead.getArgAttr(number, nn::kClassAttr))
      continue;
    int64_t bytes = weft::bytesOf(argument);
    auto parts = partsOf.find(nn::argumentName(lead, number));
    unsigned part = parts == partsOf.end() ? unsigned(step::Part::Before) : parts->second;
    if (part & step::Part::Before)
      sample.before.push_back(bytes);
    else
      (part & step::Part::Within ? sample.within : sample.behind).push_back(bytes);
    if ((part & step::Part::Before) && (part & step::Part::Behind))
      sample.sharedBytes += bytes;
  }
  for (unsigned result = 0; result < lead.getNumResults(); ++result)
    if (!nn::updatedState(lead, result))
      if (auto type = dyn_cast<RankedTensorType>(lead.getResultTypes()[result]))
        sample.outputBytes += weft::bytesOf(type) / microbatches;
  sample.borderBytes = borderElements / microbatches * elementBytesOf(precision) /
                       (group.sequenceParallel ? group.tensor : 1);
  return sample;
}

std::optional<Sample> Sampler::sample(const Group &group, int64_t samples, Size size) {
  std::string error;
  ScopedDiagnosticHandler quiet(&imported.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  const Compilation *from =
      stepped(group.recompute, hasStatistics ? wholeBatch / samples : 1, size);
  std::optional<Sample> result;
  if (from) {
    ++programs;
    Compilation copy = from->clone();
    PhaseOptions &phases = copy.options.phases;
    if (group.tensor > 1)
      phases.mesh = *Mesh::parse("tp=" + std::to_string(group.tensor));
    phases.microbatches = wholeBatch / samples;
    phases.sequenceParallel = group.sequenceParallel;
    phases.isPart = true;
    phases.zero = {};
    LogicalResult shown = copy.inspectFusible([&](ModuleOp module) {
      llvm::Expected<Sample> account = read(module, group, phases.microbatches, size);
      if (account)
        result = std::move(*account);
      else
        error = llvm::toString(account.takeError());
    });
    if (failed(shown))
      result.reset();
  }
  if (!result)
    errors.try_emplace(group, error);
  return result;
}

const Sampler::Pair *Sampler::exact(const Group &group, int64_t samples) {
  auto [found, isNew] = exacts.try_emplace({group, samples});
  if (isNew)
    if (Size size = fewerBlocks(group.recompute);
        std::optional<Sample> fewer = sample(group, samples, size)) {
      std::optional<Sample> more = blockCount > 0 ? sample(group, samples, size + 1) : fewer;
      if (more)
        found->second = {std::move(*fewer), std::move(*more)};
    }
  return found->second ? &*found->second : nullptr;
}

ModelAccount Sampler::modelOf(const Pair &pair) const {
  return planner::modelOf(pair.first, pair.second, blockCount);
}

std::optional<ModelAccount> Sampler::find(const Group &group, int64_t samples) {
  if (errors.count(group))
    return std::nullopt;
  // Two sizes with microbatches, so that gradients are added up, and not of one sample, which has
  // dimensions of 1 that others do not.
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < wholeBatch && sizes.size() < 2; ++size)
    if (wholeBatch % size == 0 && (size > 1 || wholeBatch < 8) &&
        (sizes.empty() || size % sizes.front() == 0))
      sizes.push_back(size);
  if (sizes.size() == 2) {
    const Pair *small = exact(group, sizes[0]), *large = exact(group, sizes[1]);
    auto line = [&](Sample Pair::*size) {
      return planner::scaled(small->*size, sizes[0], large->*size, sizes[1], samples);
    };
    if (small && large)
      if (auto fewer = line(&Pair::first), more = line(&Pair::second); fewer && more)
        return modelOf({std::move(*fewer), std::move(*more)});
  }
  const Pair *pair = errors.count(group) ? nullptr : exact(group, samples);
  return pair ? std::optional<ModelAccount>(modelOf(*pair)) : std::nullopt;
}

const ModelAccount *Sampler::of(const Group &group, int64_t samples) {
  auto [found, isNew] = accounts.try_emplace({group, samples});
  if (isNew)
    if (std::optional<ModelAccount> account = find(group, samples))
      found->second = std::make_unique<ModelAccount>(std::move(*account));
  return found->second.get();
}
