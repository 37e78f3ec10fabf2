// Lets collectives that can wait for each other share messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"

#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#include <deque>

namespace weft::rt {
#define GEN_PASS_DEF_RTFORMBUCKETS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// The least number of buckets of reductions, and of the gathers that bring updates to their
/// states; fewer where a bucket would be smaller than `first-bytes`.
constexpr int64_t kLeastBuckets = 8;
/// The least number of buckets of gathered states.
constexpr int64_t kLeastGathers = 32;
/// A gathered state smaller than `first-bytes` over this joins the bucket before it in any case.
constexpr int64_t kSmallPart = 16;

/// The whole tensor, which is operand or result.
int64_t wholeBytes(TransitionOpInterface transition) {
  return std::max(bytesOf(transition->getOperand(0)), bytesOf(transition->getResult(0)));
}

/// Transitions of one kind, and the bucket of them that is open.
struct Line {
  Line(TransitionOpInterface example, int64_t level) : example(example), level(level) {}

  TransitionOpInterface example;
  int64_t level; // of gathered states: how many gathers each comes after; else -1
  int64_t limit = 0, total = 0, largest = 0;
  int64_t left = 0; // bytes of those that have not joined yet
  bool isFirst = true;
  SmallVector<Operation *> open;
  int64_t bytes = 0;

  /// The bytes that the open bucket waits for.
  int64_t enough(int64_t least) const { return isFirst ? std::min(least, limit) : limit; }
};

/// One function, whose ops are listed anew: those that wait for a bucket behind it.
class Former {
public:
  Former(func::FuncOp function, const SymbolTable &symbols, const StoredArguments &stored,
         int64_t most, int64_t least)
      : symbols(symbols), stored(stored), block(function.getBody().front()),
        endWaits(!isRoutine(function) || onlyCommunicates(function)), most(most), least(least) {
    for (Operation &op : block) {
      position[&op] = ops.size();
      ops.push_back(&op);
    }
  }

  void run() {
    findGathersOfStates();
    findLines();
    groupGathers();
    for (Operation *op : ops)
      visit(op);
  }

private:
  using Group = SmallVector<Operation *>;

  static TransitionOpInterface asBucketable(Operation *op) {
    auto transition = dyn_cast<TransitionOpInterface>(op);
    return transition && transition.isCommunication() &&
                   transition.getTransitionKind() != TransitionKind::AllToAll &&
                   !dist::crossesStages(op)
               ? transition
               : TransitionOpInterface();
  }

  /// Views and transitions may stand later without keeping anyone waiting but their readers; those
  /// between stages keep their order.
  static bool canWait(Operation *op) {
    return specKind(op) == SpecKind::View ||
           (isa<TransitionOpInterface>(op) && !dist::crossesStages(op));
  }

  /// All that reads the transition's result, through what can wait, is an update or the end.
  bool isReadLate(Operation *transition) {
    auto [found, isNew] = readLate.try_emplace(transition, true);
    if (!isNew)
      return found->second;
    bool late = llvm::all_of(readersOf(transition->getResult(0)), [&](const Reader &reader) {
      if (specKind(reader.op) == SpecKind::End)
        return endWaits;
      if (isUpdate(reader.op, symbols))
        return true;
      return isa<TransitionOpInterface>(reader.op) && isReadLate(reader.op);
    });
    return readLate[transition] = late;
  }

  /// Position of the first op that reads the transition's result and cannot wait.
  int64_t firstReader(Operation *transition) const {
    int64_t first = ops.size();
    for (const Reader &reader : readersOf(transition->getResult(0)))
      first =
          std::min(first, canWait(reader.op) ? firstReader(reader.op) : position.lookup(reader.op));
    return first;
  }

  /// Gathers whose operands are made of states and constants only, and their levels.
  void findGathersOfStates() {
    llvm::DenseMap<Operation *, int64_t> levels; // of all ops that read states only
    for (Operation *op : ops) {
      int64_t level = 0;
      bool only = specKind(op) != SpecKind::End && specKind(op) != SpecKind::Unknown &&
                  !dist::crossesStages(op);
      for (Value operand : op->getOperands()) {
        auto arg = dyn_cast<BlockArgument>(operand);
        auto def = levels.find(operand.getDefiningOp());
        only &= arg ? stored.contains(arg) : def != levels.end();
        if (!arg && only)
          level = std::max(level, def->second);
      }
      if (!only)
        continue;
      TransitionOpInterface transition = asBucketable(op);
      bool gathers = transition && transition.getTransitionKind() == TransitionKind::AllGather;
      if (gathers)
        stateGathers[op] = level;
      levels[op] = level + gathers;
    }
  }

  Line *lineOf(Operation *op) {
    auto gather = stateGathers.find(op);
    int64_t level = gather == stateGathers.end() ? -1 : gather->second;
    TransitionOpInterface transition = cast<TransitionOpInterface>(op);
    for (Line &line : lines)
      if (line.level == level && travelTogether(line.example, transition))
        return &line;
    lines.emplace_back(transition, level);
    return &lines.back();
  }

  void findLines() {
    for (Operation *op : ops) {
      TransitionOpInterface transition = asBucketable(op);
      if (!transition || (!stateGathers.contains(op) && !isReadLate(op)))
        continue;
      Line *line = lineOf(op);
      line->total += wholeBytes(transition);
      line->largest = std::max(line->largest, wholeBytes(transition));
    }
    for (Line &line : lines) {
      line.left = line.total;
      int64_t share = line.level < 0 ? line.total / kLeastBuckets
                                     : std::max(line.total / kLeastGathers, line.largest);
      line.limit = std::min(most, std::max(share, least));
    }
  }

  /// Gathers of states by their first readers; where they stand says nothing.
  void groupGathers() {
    std::vector<std::pair<int64_t, int64_t>> sorted; // and the gather's own position
    for (Operation *op : ops)
      if (stateGathers.contains(op))
        sorted.push_back({firstReader(op), position.lookup(op)});
    llvm::sort(sorted);
    llvm::DenseMap<Line *, size_t> openGroup;
    for (auto &[first, number] : sorted) {
      Operation *op = ops[number];
      Line *line = lineOf(op);
      int64_t bytes = wholeBytes(cast<TransitionOpInterface>(op));
      // Small ones come early; large ones would live longer beside them if they came with later
      // ones.
      if (line->open.empty() || (bytes > least / kSmallPart && line->bytes + bytes > line->limit)) {
        openGroup[line] = groups.size();
        groups.emplace_back();
        line->open.clear();
        line->bytes = 0;
      }
      line->open.push_back(op);
      line->bytes += bytes;
      groupOf[op] = openGroup[line];
      groups[openGroup[line]].push_back(op);
    }
    for (Line &line : lines)
      line.open.clear();
  }

  bool isPending(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && !placed.contains(def);
  }

  /// Takes the next op of the program: places it, adds it to a bucket, or lets it wait.
  void visit(Operation *op) {
    if (placed.contains(op) || memberOf.contains(op) || groupOf.contains(op))
      return;
    bool waits = llvm::any_of(op->getOperands(), [&](Value value) { return isPending(value); });
    if (waits && canWait(op)) {
      waiting.insert(op);
      return;
    }
    if (asBucketable(op) && isReadLate(op))
      return join(op);
    for (Value operand : op->getOperands())
      require(operand, op);
    if (specKind(op) == SpecKind::End)
      return finish();
    place(op);
  }

  void place(Operation *op) {
    op->moveBefore(block.getTerminator());
    placed.insert(op);
    waiting.remove(op);
  }

  void join(Operation *op) {
    waiting.remove(op);
    Line *line = lineOf(op);
    int64_t bytes = wholeBytes(cast<TransitionOpInterface>(op));
    // A small bucket takes a large tensor along; it would only wait.
    if (line->bytes >= least && line->bytes + bytes > line->limit)
      close(*line);
    line->open.push_back(op);
    line->bytes += bytes;
    line->left -= bytes;
    memberOf[op] = line;
    if (line->bytes >= line->enough(least))
      close(*line);
  }

  /// Lists whatever makes `value` now, because `reader` is next.
  void require(Value value, Operation *reader) {
    Operation *def = value.getDefiningOp();
    while (def && !placed.contains(def)) {
      if (Line *line = memberOf.lookup(def)) {
        tellCut(*line, reader);
        close(*line);
      } else if (auto group = groupOf.find(def); group != groupOf.end()) {
        placeGroup(group->second);
      } else {
        for (Value operand : def->getOperands())
          require(operand, reader);
        if (!placed.contains(def) && !memberOf.contains(def))
          place(def);
      }
      def = value.getDefiningOp(); // a bucket's result has taken its place
    }
  }

  /// A bucket that could have waited for more of its kind, were it not for one reader.
  void tellCut(const Line &line, Operation *reader) const {
    if (!reader->getContext()->getRemarkEngine() || line.left == 0 ||
        specKind(reader) == SpecKind::End)
      return;
    remark::missed(line.open.front()->getLoc(),
                   remark::RemarkOpts::name("cut").category("rt-form-buckets"))
        << ("travels in a bucket of " + Twine(line.bytes) + " bytes, not of " +
            Twine(std::min(line.enough(least), line.bytes + line.left)) + ", because '" +
            nameForMessages(reader) + "' reads of it before the next one is made")
               .str();
  }

  void close(Line &line) {
    Group members = std::move(line.open);
    line.open.clear();
    line.bytes = 0;
    line.isFirst = false;
    for (Operation *op : members)
      memberOf.erase(op);
    placeBucket(members);
  }

  void placeGroup(size_t number) {
    Group members = groups[number];
    for (Operation *op : members)
      for (Value operand : op->getOperands())
        require(operand, op);
    for (Operation *op : members)
      groupOf.erase(op);
    placeBucket(members);
  }

  void placeBucket(ArrayRef<Operation *> members) {
    if (members.size() == 1)
      place(members[0]);
    else if (!members.empty())
      makeBucket(members);
    // What waited comes next, in its order.
    SmallVector<Operation *> ready(waiting.getArrayRef());
    for (Operation *op : ready)
      visit(op);
  }

  void makeBucket(ArrayRef<Operation *> members) {
    OpBuilder builder(block.getTerminator());
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    SmallVector<Location> locations;
    for (Operation *op : members) {
      inputs.push_back(op->getOperand(0));
      types.push_back(op->getResult(0).getType());
      locations.push_back(op->getLoc());
    }
    auto bucket = BucketOp::create(builder, locations[0], types, inputs);
    Block *body =
        builder.createBlock(&bucket.getBody(), {}, ValueRange(inputs).getTypes(), locations);
    SmallVector<Value> results;
    for (auto [i, op] : llvm::enumerate(members)) {
      op->getResult(0).replaceAllUsesWith(bucket.getResult(i));
      op->moveBefore(body, body->end());
      op->setOperand(0, body->getArgument(i));
      results.push_back(op->getResult(0));
    }
    YieldOp::create(builder, locations[0], results);
    placed.insert(bucket);
    placed.insert(members.begin(), members.end());
  }

  /// Everything that is left, in front of the return.
  void finish() {
    for (size_t i = 0; i < groups.size(); ++i)
      if (groupOf.contains(groups[i].front()))
        placeGroup(i);
    // What waited for one may have joined another.
    while (llvm::any_of(lines, [](const Line &line) { return !line.open.empty(); }))
      for (Line &line : lines)
        close(line);
    assert(waiting.empty() && "an op waits for nothing");
  }

  const SymbolTable &symbols;
  const StoredArguments &stored;
  Block &block;
  bool endWaits; // nobody else waits for what is returned: not so behind a routine that computes
  int64_t most, least;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Operation *, bool> readLate;
  llvm::DenseMap<Operation *, int64_t> stateGathers; // and their levels
  std::deque<Line> lines;
  std::vector<Group> groups; // of gathers of states
  llvm::DenseMap<Operation *, size_t> groupOf;
  llvm::DenseMap<Operation *, Line *> memberOf; // of what is in open buckets
  llvm::SetVector<Operation *> waiting;
  llvm::DenseSet<Operation *> placed;
};

struct FormBuckets : weft::rt::impl::RtFormBucketsBase<FormBuckets> {
  using RtFormBucketsBase::RtFormBucketsBase;

  void runOnOperation() override {
    if (bytes <= 0)
      return markAllAnalysesPreserved();
    SymbolTable symbols(getOperation());
    StoredArguments stored(getOperation(), symbols);
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      Former(function, symbols, stored, bytes, std::min<int64_t>(firstBytes, bytes)).run();
  }
};

} // namespace
