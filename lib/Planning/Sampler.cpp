// Compiles a few blocks, in as few programs as there can be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planning/Sampler.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/nn/step/KeepBlocks.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Search/AxisSearch.h"

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

/// Ways to split weights, and sizes of microbatches, of which programs are kept.
constexpr size_t kMostSharded = 32;

/// On an op of a program for all modes of recomputation: those that mark it, as bits.
constexpr llvm::StringLiteral kModesAttr = "planning.recompute";

SmallVector<Operation *> opsOf(ModuleOp module) {
  SmallVector<Operation *> ops;
  account::leadProgram(module).walk([&](Operation *op) { ops.push_back(op); });
  return ops;
}

/// Notes what the mode marks in `marked`, which is the same program but for marks.
void noteMarks(ModuleOp module, ModuleOp marked, Recompute mode) {
  Type type = IntegerType::get(module.getContext(), 8);
  for (auto [op, twin] : llvm::zip_equal(opsOf(module), opsOf(marked)))
    if (twin->hasAttr(nn::kRecomputeAttr)) {
      auto modes = op->getAttrOfType<IntegerAttr>(kModesAttr);
      op->setAttr(kModesAttr,
                  IntegerAttr::get(type, (modes ? modes.getInt() : 0) | 1 << unsigned(mode)));
    }
}

/// Makes marks of what was noted for the mode.
void mark(ModuleOp module, Recompute mode) {
  for (Operation *op : opsOf(module))
    if (auto modes = dyn_cast_if_present<IntegerAttr>(op->removeAttr(kModesAttr)))
      if (modes.getInt() >> unsigned(mode) & 1)
        op->setAttr(nn::kRecomputeAttr, UnitAttr::get(op->getContext()));
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
  for (Size size : sizes())
    keepBlocksOf(graphs[{1, size}].emplace(program.clone()), size);
}

std::set<Sampler::Size> Sampler::sizes() const {
  if (blockCount == 0)
    return {0};
  std::set<Size> all;
  for (Recompute recompute : {Recompute::None, Recompute::Full})
    if (recompute == Recompute::None || imported.options.phases.train)
      all.insert({fewerBlocks(recompute), fewerBlocks(recompute) + 1});
  return all;
}

Sampler::Size Sampler::fewerBlocks(Recompute recompute) const {
  if (blockCount == 0)
    return 0;
  return recompute == Recompute::Full && blockCount > kFewRecomputedBlocks ? kFewRecomputedBlocks
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

/// The lead program, with what each mode of recomputation marks.
const Compilation *Sampler::stepped(Parts parts, Size size) {
  auto [found, isNew] = steps.try_emplace({parts, size});
  if (const Compilation *from = isNew ? graph(parts, size) : nullptr)
    for (Recompute mode : kUniformRecompute) {
      Compilation made = from->clone();
      made.options.phases.recompute = mode;
      made.options.phases.mesh = {};
      if (failed(made.runTo(Phase::Step))) {
        found->second.reset();
        break;
      }
      if (found->second) {
        noteMarks(found->second->getModule(), made.getModule(), mode);
        continue;
      }
      account::keepLeadProgram(made.getModule());
      found->second.emplace(std::move(made));
      if (!imported.options.phases.train)
        break;
    }
  return found->second ? &*found->second : nullptr;
}

/// All at once, as the search for placements finds in a program what it found in one with fewer
/// blocks.
const std::map<Sampler::Size, Sampler::Sharded> &Sampler::sharded(const Group &group,
                                                                  int64_t samples) {
  if (shardeds.size() == kMostSharded)
    shardeds.clear();
  auto [found, isNew] = shardeds.try_emplace({group.tensor, group.sequenceParallel, samples});
  if (isNew) {
    AxisSearchMemory memory;
    for (Size size : sizes())
      found->second.emplace(size, shard(group, samples, size, memory));
  }
  return found->second;
}

Sampler::Sharded Sampler::shard(const Group &group, int64_t samples, Size size,
                                AxisSearchMemory &memory) {
  Sharded result;
  ScopedDiagnosticHandler quiet(&imported.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && result.error.empty())
      result.error = diagnostic.str();
    return success();
  });
  const Compilation *from = stepped(hasStatistics ? wholeBatch / samples : 1, size);
  if (!from)
    return result;
  Compilation made = from->clone();
  PhaseOptions &phases = made.options.phases;
  if (group.tensor > 1)
    phases.mesh = *Mesh::parse("tp=" + std::to_string(group.tensor));
  phases.microbatches = wholeBatch / samples;
  phases.sequenceParallel = group.sequenceParallel;
  phases.isPart = true;
  phases.zero = {};
  phases.searchMemory = &memory;
  LogicalResult ran = made.runTo(Phase::Sharded);
  phases.searchMemory = nullptr;
  if (succeeded(ran))
    result.program.emplace(std::move(made));
  return result;
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
    if (!nn::isParameter(lead, number))
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
  sample.borderBytes = borderElements / microbatches *
                       elementBytes(precisionType(precision, module.getContext())) /
                       (group.sequenceParallel ? group.tensor : 1);
  return sample;
}

std::optional<Sample> Sampler::sample(const Group &group, int64_t samples, Size size) {
  const Sharded &from = sharded(group, samples).at(size);
  std::string error = from.error;
  ScopedDiagnosticHandler quiet(&imported.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  std::optional<Sample> result;
  if (from.program) {
    ++programs;
    Compilation copy = from.program->clone();
    mark(copy.getModule(), group.recompute);
    LogicalResult shown = copy.inspectFusible([&](ModuleOp module) {
      llvm::Expected<Sample> account = read(module, group, wholeBatch / samples, size);
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
