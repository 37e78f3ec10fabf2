// Compiles a few blocks, in as few programs as there can be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planning/Sampler.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/nn/step/KeepBlocks.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/IR/Threading.h"

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

/// Keeps the first error that this thread says while it lives.
class FirstError {
public:
  explicit FirstError(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = diagnostic.str();
          return success();
        }) {}
  std::string text;

private:
  OwnDiagnosticHandler handler;
};

/// Makes a sharded program one of another number of microbatches, of at least two as it was: the
/// size of their axis in the mesh is all that tells.
void setMicrobatches(ModuleOp module, int64_t microbatches) {
  dist::MeshAttr from = dist::getMesh(module);
  Mesh mesh = from.getValue();
  for (Mesh::Axis &axis : mesh.axes)
    if (axis.kind == AxisKind::Temporal)
      axis.size = microbatches;
  auto to = dist::MeshAttr::get(module.getContext(), mesh);
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](dist::MeshAttr attr) { return attr == from ? Attribute(to) : Attribute(attr); });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
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
  std::vector<Size> all = sizes(Recompute::None);
  if (imported.options.phases.train)
    llvm::append_range(all, sizes(Recompute::Full));
  for (Size size : all)
    if (auto [graph, isNew] = graphs.try_emplace({1, size}); isNew)
      keepBlocksOf(graph->second.emplace(program.clone()), size);
}

std::vector<Sampler::Size> Sampler::sizes(Recompute recompute) const {
  if (blockCount == 0)
    return {0};
  return {fewerBlocks(recompute), fewerBlocks(recompute) + 1};
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
const Sampler::Made &Sampler::stepped(Parts parts, Size size) {
  auto [found, isNew] = steps.try_emplace({parts, size});
  if (!isNew)
    return found->second;
  FirstError said(imported.getContext());
  std::optional<Compilation> &program = found->second.program;
  if (const Compilation *from = graph(parts, size))
    for (Recompute mode : kUniformRecompute) {
      Compilation made = from->clone();
      made.options.phases.recompute = mode;
      made.options.phases.mesh = {};
      if (failed(made.runTo(Phase::Step))) {
        program.reset();
        break;
      }
      if (program) {
        noteMarks(program->getModule(), made.getModule(), mode);
        continue;
      }
      account::keepLeadProgram(made.getModule());
      program.emplace(std::move(made));
      if (!imported.options.phases.train)
        break;
    }
  found->second.error = said.text;
  return found->second;
}

/// All programs of a group with one number of samples, which are compiled beside others.
struct Sampler::Work {
  Group group;
  int64_t samples = 0;
  std::map<Size, const Made *> stepped; ///< of those that are to be searched
  Sharded *sharded = nullptr;
  const Sharded *like = nullptr; ///< of fewer samples, split so; null: to be searched
  std::optional<Pair> pair;
  int64_t programs = 0;
  std::string error;
};

/// One size after the other, as the search for placements finds in a program what it found in one
/// with fewer blocks.
void Sampler::shard(Work &work) const {
  std::map<Size, Made> &made = work.sharded->programs;
  if (!work.like) {
    for (auto [size, from] : work.stepped)
      made.emplace(size, from->program ? shard(work, size, *work.sharded->memory)
                                       : Made{std::nullopt, from->error});
    return;
  }
  for (Size size : sizes(work.group.recompute)) {
    if (made.count(size))
      continue;
    const Made &from = work.like->programs.at(size);
    Made &copy = made.emplace(size, Made{std::nullopt, from.error}).first->second;
    if (!from.program)
      continue;
    copy.program.emplace(from.program->clone());
    copy.program->options.phases.microbatches = wholeBatch / work.samples;
    setMicrobatches(copy.program->getModule(), wholeBatch / work.samples);
  }
}

Sampler::Made Sampler::shard(const Work &work, Size size, AxisSearchMemory &memory) const {
  FirstError said(imported.getContext());
  Compilation made = work.stepped.at(size)->program->clone();
  PhaseOptions &phases = made.options.phases;
  if (work.group.tensor > 1)
    phases.mesh = *Mesh::parse("tp=" + std::to_string(work.group.tensor));
  phases.microbatches = wholeBatch / work.samples;
  phases.sequenceParallel = work.group.sequenceParallel;
  phases.isPart = true;
  phases.onlyMeasured = true;
  phases.zero = {};
  phases.searchMemory = &memory;
  LogicalResult ran = made.runTo(Phase::Sharded);
  phases.searchMemory = nullptr;
  return {succeeded(ran) ? std::optional<Compilation>(std::move(made)) : std::nullopt, said.text};
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

/// Nothing for the reason in `work.error`.
std::optional<Sample> Sampler::sample(Work &work, Size size) const {
  const Made &from = work.sharded->programs.at(size);
  if (!from.program) {
    work.error = from.error;
    return std::nullopt;
  }
  FirstError said(imported.getContext());
  ++work.programs;
  Compilation copy = from.program->clone();
  mark(copy.getModule(), work.group.recompute);
  std::optional<Sample> result;
  LogicalResult shown = std::move(copy).inspectFusible([&](ModuleOp module) {
    llvm::Expected<Sample> account = read(module, work.group, wholeBatch / work.samples, size);
    if (account)
      result = std::move(*account);
    else
      work.error = llvm::toString(account.takeError());
  });
  if (succeeded(shown))
    return result;
  work.error = said.text;
  return std::nullopt;
}

void Sampler::compile(Work &work) const {
  Size size = fewerBlocks(work.group.recompute);
  std::optional<Sample> fewer = sample(work, size);
  std::optional<Sample> more = fewer && blockCount > 0 ? sample(work, size + 1) : fewer;
  if (more)
    work.pair = {std::move(*fewer), std::move(*more)};
}

/// Compiles what is not known of a group, all numbers of samples at once. Placements are those of
/// the first number, which divides the others: a line through two numbers is then one of programs
/// that do the same, and half of the searches fall away.
void Sampler::make(const Group &group, ArrayRef<int64_t> numbersOfSamples) {
  SmallVector<int64_t> unknown;
  llvm::copy_if(numbersOfSamples, std::back_inserter(unknown),
                [&](int64_t samples) { return !exacts.count({group, samples}); });
  if (unknown.empty())
    return;
  if (shardeds.size() + unknown.size() > kMostSharded)
    shardeds.clear();
  const int64_t first = numbersOfSamples.front();
  const std::vector<Size> sizes = this->sizes(group.recompute);
  auto isMade = [&](const Sharded &sharded) {
    return llvm::all_of(sizes, [&](Size size) { return sharded.programs.count(size) > 0; });
  };
  auto shardedOf = [&](int64_t samples) -> Sharded & {
    return shardeds[{group.tensor, group.sequenceParallel, samples}];
  };
  // With one sample a microbatch their axis takes up the batch, and a placement may join it with
  // the axis of a dimension merged behind it, which is another layout with more samples.
  bool hasFirst = !hasStatistics && first > 1 &&
                  (isMade(shardedOf(first)) || llvm::is_contained(unknown, first));
  std::vector<Work> all;
  for (int64_t samples : unknown) {
    Work &work = all.emplace_back();
    work.group = group;
    work.samples = samples;
    work.sharded = &shardedOf(samples);
    if (samples != first && hasFirst) {
      work.like = &shardedOf(first);
      continue;
    }
    if (!work.sharded->memory)
      work.sharded->memory = std::make_unique<AxisSearchMemory>();
    for (Size size : sizes)
      if (!work.sharded->programs.count(size))
        work.stepped[size] = &stepped(hasStatistics ? wholeBatch / samples : 1, size);
  }
  MLIRContext &context = imported.getContext();
  context.loadAllAvailableDialects(); // which threads must not do
  for (bool isSearched : {true, false})
    parallelForEach(&context, all, [&](Work &work) {
      if (isSearched == !work.like)
        shard(work);
    });
  forgetSearches(group);
  parallelForEach(&context, all, [&](Work &work) { compile(work); });
  for (Work &work : all) {
    programs += work.programs;
    if (!work.pair)
      errors.try_emplace({group, work.samples}, work.error);
    exacts[{group, work.samples}] = std::move(work.pair);
  }
}

/// Memories are large: those are kept that another mode of recomputation, which is asked for next,
/// has a use for.
void Sampler::forgetSearches(const Group &but) {
  for (auto &[key, sharded] : shardeds)
    if (std::get<0>(key) != but.tensor || std::get<1>(key) != but.sequenceParallel)
      sharded.memory.reset();
}

const Sampler::Pair *Sampler::exact(const Group &group, int64_t samples) {
  make(group, samples);
  const std::optional<Pair> &found = exacts.at({group, samples});
  return found ? &*found : nullptr;
}

ModelAccount Sampler::modelOf(const Pair &pair) const {
  return planner::modelOf(pair.first, pair.second, blockCount);
}

std::optional<ModelAccount> Sampler::find(const Group &group, int64_t samples) {
  if (hopeless.count(group))
    return std::nullopt;
  // Two sizes with microbatches, so that gradients are added up, and not of one sample, which has
  // dimensions of 1 that others do not.
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < wholeBatch && sizes.size() < 2; ++size)
    if (wholeBatch % size == 0 && (size > 1 || wholeBatch < 8) &&
        (sizes.empty() || size % sizes.front() == 0))
      sizes.push_back(size);
  if (sizes.size() == 2) {
    make(group, sizes);
    const Pair *small = exact(group, sizes[0]), *large = exact(group, sizes[1]);
    auto line = [&](Sample Pair::*size) {
      return planner::scaled(small->*size, sizes[0], large->*size, sizes[1], samples);
    };
    if (small && large)
      if (auto fewer = line(&Pair::first), more = line(&Pair::second); fewer && more)
        return modelOf({std::move(*fewer), std::move(*more)});
  }
  if (const Pair *pair = exact(group, samples))
    return modelOf(*pair);
  // A program that cannot be cut into microbatches may have all samples at once.
  if (!exact(group, wholeBatch))
    hopeless.insert(group);
  return std::nullopt;
}

const ModelAccount *Sampler::of(const Group &group, int64_t samples) {
  auto [found, isNew] = accounts.try_emplace({group, samples});
  if (isNew)
    if (std::optional<ModelAccount> account = find(group, samples))
      found->second = std::make_unique<ModelAccount>(std::move(*account));
  return found->second.get();
}
