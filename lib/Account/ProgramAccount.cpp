// Sorts the nodes of a program into what each chunk does in a microbatch and once a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Account/ProgramAccount.h"

#include "ChunkMemory.h"
#include "Compress.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Cost/CostModel.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Pipeline/Generate.h"

#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::account;
using cost::Communication;
using cost::Item;
using pipeline::Kind;

namespace {

/// A list of items in the order in which they are issued. What nobody waits for shares messages.
class ItemList {
public:
  explicit ItemList(int64_t bucketBytes) : bucketBytes(bucketBytes) {}

  void add(Item item, cost::Purpose purpose) {
    item.purpose = purpose;
    const Communication &communication = item.communication;
    if (item.isWork || communication.role == cost::Role::Exposed || bucketBytes == 0) {
      items.push_back(std::move(item));
      return;
    }
    auto open = llvm::find_if(buckets, [&](const Item &bucket) {
      return bucket.communication.kind == communication.kind &&
             bucket.communication.role == communication.role &&
             bucket.communication.axes == communication.axes;
    });
    if (open == buckets.end()) {
      buckets.push_back(std::move(item));
      open = std::prev(buckets.end());
    } else {
      open->communication.bytes += communication.bytes;
    }
    // What is gathered is read by what follows, so it waits for no other.
    bool waits = open->communication.role == cost::Role::GradientSum;
    if (!waits || open->communication.bytes >= bucketBytes)
      close(open);
  }
  cost::Blocks finish() {
    while (!buckets.empty())
      close(buckets.begin());
    return compress(std::move(items));
  }

private:
  void close(std::vector<Item>::iterator bucket) {
    items.push_back(std::move(*bucket));
    buckets.erase(bucket);
  }

  int64_t bucketBytes;
  std::vector<Item> items;
  std::vector<Item> buckets; // that are not full
};

/// What a stage does for one chunk.
class ChunkWriter {
public:
  ChunkWriter(func::FuncOp program, const Mesh &mesh, ArrayRef<int32_t> axisNumber,
              const ChunkView &view, const Options &options)
      : program(program), mesh(mesh), axisNumber(axisNumber), view(view),
        isForPlanning(options.isForPlanning), forward(options.bucketBytes),
        backward(options.bucketBytes), weight(options.bucketBytes), update(options.bucketBytes),
        gathers(options.bucketBytes), sums(options.bucketBytes) {}

  cost::Chunk run() {
    if (isForPlanning) {
      findSharedParameters();
      findSharedGradients();
    }
    for (auto [number, node] : llvm::enumerate(view.nodes.all())) {
      bool isEach = view.isOfMicrobatch(node);
      if (!isEach && !view.isOfUpdate(node))
        continue;
      if (isMove(node.transition))
        addMove(node, isEach);
      else if (meetsStages(node) ? view.isFirstOfStage() : view.runs(node))
        add(number, node, isEach);
    }
    chunk.forward = forward.finish();
    chunk.backward = backward.finish();
    chunk.weight = weight.finish();
    chunk.update = update.finish();
    // Gathered beside later updates in name only: links take far longer than kernels.
    for (cost::Block &block : gathers.finish()) {
      for (Item &item : block.items)
        item.communication.role = cost::Role::Exposed;
      chunk.update.push_back(std::move(block));
    }
    chunk.sums = sums.finish();
    addStates();
    fillMemory(view, chunk);
    return std::move(chunk);
  }

private:
  ItemList &listOf(const Node &node, bool isEach) {
    if (!isEach)
      return isGradientSum(node) ? sums : isNewState(node) ? gathers : update;
    switch (view.kindOf(node)) {
    case Kind::Forward:
      return forward;
    case Kind::Weight:
      return isForPlanning ? backward : weight;
    default:
      return backward;
    }
  }

  static bool isGradientSum(const Node &node) {
    return node.transition && isGradient(node.part) && !node.isCritical;
  }

  /// What an update made of its part, for all who read it in the next step.
  static bool isNewState(const Node &node) {
    TransitionOpInterface transition = node.transition;
    return transition && node.part == Part::Optimizer &&
           transition.getTransitionKind() == TransitionKind::AllGather;
  }

  /// All stages come to what goes over their axis, whoever holds the result.
  bool meetsStages(const Node &node) const {
    TransitionOpInterface transition = node.transition;
    std::optional<AxisId> axis = mesh.stageAxis();
    return transition && axis && mesh.size(*axis) > 1 &&
           llvm::is_contained(transition.getTransitionAxes(), *axis);
  }

  void add(size_t number, const Node &node, bool isEach) {
    ItemList &list = listOf(node, isEach);
    cost::Purpose purpose = purposeOf(number, node);
    auto exchange = [&](const llvm::DenseMap<size_t, SmallVector<int64_t>> &shared,
                        runtime::CollectiveKind kind, cost::Role role, cost::Purpose purpose) {
      for (int64_t bytes : shared.lookup(number))
        list.add(Item::of(Communication{kind, role, bytes, {}}), purpose);
    };
    auto sum = [&] {
      exchange(summed, runtime::CollectiveKind::ReduceScatter, cost::Role::GradientSum,
               cost::Purpose::WeightGradient);
    };
    exchange(gathered, runtime::CollectiveKind::AllGather, cost::Role::ParameterGather, purpose);
    // What is added up is what all devices have made.
    bool adds = purpose == cost::Purpose::Accumulation;
    if (adds)
      sum();
    for (const cost::Work &copy : node.copies)
      list.add(Item::of(copy), purpose);
    if (!node.transition)
      list.add(Item::of(node.work), purpose);
    else if (Communication communication = communicationOf(node); !communication.axes.empty())
      list.add(Item::of(std::move(communication)), purpose);
    if (!adds)
      sum();
  }

  /// An accumulation reads the sum so far and what is added; a kernel that reads more than that
  /// makes the gradient, too. What makes an input's gradient besides, such as a norm's kernel, is
  /// not put off with those of weights.
  cost::Purpose purposeOf(size_t number, const Node &node) const {
    if (node.part != Part::WeightGradient || node.isCritical)
      return cost::Purpose::Pass;
    bool adds = accumulations.contains(number) &&
                node.work.shape.kind == cost::Shape::Kind::Stream &&
                node.work.bytesRead <= 2 * node.work.bytesWritten;
    return adds ? cost::Purpose::Accumulation : cost::Purpose::WeightGradient;
  }

  void findSharedParameters() {
    const std::vector<Node> &nodes = view.nodes.all();
    for (BlockArgument argument : program.getArguments()) {
      if (classOf(program, argument.getArgNumber()) != cost::StateClass::Parameter ||
          cast<RankedTensorType>(argument.getType()).getRank() == 0)
        continue;
      for (bool forGradients : {false, true}) {
        std::set<size_t> readers = readersOf(argument, forGradients);
        auto first = llvm::find_if(readers, [&](size_t reader) {
          return view.isOfMicrobatch(nodes[reader]) && nodes[reader].part != Part::Optimizer;
        });
        if (first != readers.end())
          gathered[*first].push_back(bytesOf(argument));
      }
    }
  }

  /// Who reads a parameter as ops of the forward pass have it, or those for gradients, which gather
  /// it anew (dist-insert-reshards), or reads what is made of it alone, such as a cast. Ascending.
  std::set<size_t> readersOf(Value parameter, bool forGradients) const {
    std::set<size_t> readers;
    llvm::SmallSetVector<Value, 4> made;
    made.insert(parameter);
    auto isOfPart = [&](Operation *user) { return user->hasAttr(nn::kRoleAttr) == forGradients; };
    for (size_t i = 0; i < made.size(); ++i)
      for (size_t reader :
           i == 0 ? view.nodes.readersOf(parameter, isOfPart) : view.nodes.readersOf(made[i])) {
        readers.insert(reader);
        if (const Node &node = view.nodes.all()[reader]; view.nodes.readsOnly(node, made))
          for (Value written : view.nodes.writtenBy(node))
            made.insert(written);
      }
    return readers;
  }

  void findSharedGradients() {
    const std::vector<Node> &nodes = view.nodes.all();
    for (auto [number, node] : llvm::enumerate(nodes)) {
      if (!isGradient(node.part) || view.isOfUpdate(node))
        continue;
      bool isHere = view.isOfMicrobatch(node);
      for (Value written : view.nodes.writtenBy(node)) {
        SmallVector<size_t> readers = view.nodes.readersOf(written);
        if (isHere && llvm::any_of(readers, [&](size_t r) { return view.isOfUpdate(nodes[r]); }))
          summed[number].push_back(bytesOf(written));
        // What one microbatch hands to the next is a sum.
        for (size_t reader : readers)
          if (!isHere && view.isOfMicrobatch(nodes[reader]))
            accumulations.insert(reader);
      }
    }
  }

  static bool isMove(TransitionOpInterface transition) {
    return transition && transition.getTransitionKind() == TransitionKind::Move;
  }

  Communication communicationOf(const Node &node) const {
    TransitionOpInterface transition = node.transition;
    Communication communication;
    communication.kind = *collectiveOf(transition.getTransitionKind());
    communication.bytes =
        std::max(bytesOf(transition->getOperand(0)), bytesOf(transition->getResult(0)));
    // Padding may make the result larger, but parts of the operand are what is sent.
    if (communication.kind == runtime::CollectiveKind::AllToAll)
      communication.bytes = bytesOf(transition->getOperand(0));
    for (AxisId axis : transition.getTransitionAxes())
      if (mesh.size(axis) > 1)
        communication.axes.push_back(axisNumber[axis]);
    auto reason = transition->getAttrOfType<dist::ReasonAttr>(dist::kReasonAttr);
    bool isGather = transition.getTransitionKind() == TransitionKind::AllGather;
    bool isState = reason && reason.getRole().getValue() == "state";
    if (isGather && isState)
      communication.role = cost::Role::ParameterGather;
    else if (isGradientSum(node) || isNewState(node))
      communication.role = cost::Role::GradientSum;
    return communication;
  }

  /// Each stage that lacks a value has it from the nearest that holds it. Once a step all stages
  /// come to that, as to a collective, whatever chunks they have.
  void addMove(const Node &node, bool isEach) {
    TransitionOpInterface transition = node.transition;
    int64_t bytes = bytesOf(transition->getOperand(0));
    std::vector<int32_t> targets;
    for (auto [stage, source] : llvm::enumerate(transition.getGeometry().sources))
      if (source == view.stage() && int64_t(stage) != source)
        targets.push_back(int32_t(stage));
    if (!isEach) {
      if (!view.isFirstOfStage())
        return;
      Communication communication;
      communication.kind = runtime::CollectiveKind::Send;
      communication.bytes = bytes;
      communication.axes.push_back(axisNumber[*mesh.stageAxis()]);
      communication.targets = std::move(targets);
      return update.add(Item::of(std::move(communication)), cost::Purpose::Pass);
    }
    if (!view.nodes.isFirstOfStage(view.chunk, node.makers))
      return;
    for (int32_t stage : targets)
      (node.takers[size_t(stage)] > view.chunk ? chunk.forwardBytes : chunk.backwardBytes) += bytes;
  }

  static cost::StateClass classOf(func::FuncOp program, unsigned argument) {
    return nn::isParameter(program, argument)        ? cost::StateClass::Parameter
           : nn::isOptimizerState(program, argument) ? cost::StateClass::Optimizer
                                                     : cost::StateClass::Other;
  }

  void addStates() {
    for (BlockArgument argument : program.getArguments()) {
      dist::LocalAttr local = dist::getLocal(argument.getType());
      if (!view.isFirstOfStage() ||
          (local && local.getValue().held && !local.getValue().held->contains(view.stage())))
        continue;
      chunk.stateBytes[size_t(classOf(program, argument.getArgNumber()))] += bytesOf(argument);
    }
  }

  func::FuncOp program;
  const Mesh &mesh;
  ArrayRef<int32_t> axisNumber;
  const ChunkView &view;
  bool isForPlanning;
  cost::Chunk chunk;
  ItemList forward, backward, weight, update, gathers, sums;
  /// Bytes of parameters that are read first, and of gradients that are made, by nodes.
  llvm::DenseMap<size_t, SmallVector<int64_t>> gathered, summed;
  llvm::DenseSet<size_t> accumulations;
};

bool splitsWeights(const pipeline::Schedule &schedule) {
  return llvm::any_of(schedule.ranks, [](const std::vector<pipeline::Action> &actions) {
    return llvm::any_of(actions,
                        [](const pipeline::Action &action) { return action.kind == Kind::Weight; });
  });
}

} // namespace

func::FuncOp account::leadProgram(ModuleOp module) {
  func::FuncOp first;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (nn::updatedState(function, result))
        return function;
    if (!first)
      first = function;
  }
  return first;
}

void account::keepLeadProgram(ModuleOp module) {
  func::FuncOp lead = leadProgram(module);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPublic() && function != lead)
      function.erase();
}

llvm::Expected<cost::StepAccount> account::accountOf(ModuleOp module, const Options &options) {
  func::FuncOp program = leadProgram(module);
  const Target *target = targetOf(module);
  if (!program || !target)
    return llvm::createStringError("the module has no program, or none for a known target");
  dist::MeshAttr attribute = dist::getMesh(module);
  Mesh mesh = attribute ? attribute.getValue() : Mesh();
  cost::StepAccount account;
  int64_t microbatches = 1, stages = 1;
  std::vector<int32_t> axisNumber(mesh.axes.size(), -1);
  for (auto [id, axis] : llvm::enumerate(mesh.axes)) {
    if (mesh.isTemporal(id)) {
      microbatches *= axis.size;
      continue;
    }
    axisNumber[id] = int32_t(account.axes.size());
    account.axes.push_back({axis.name, axis.size});
  }
  if (std::optional<AxisId> axis = mesh.stageAxis(); axis && mesh.size(*axis) > 1) {
    account.stages = axisNumber[*axis];
    stages = mesh.size(*axis);
  }
  if (stages == 1) {
    account.schedule = pipeline::withoutStages(microbatches);
  } else {
    llvm::Expected<pipeline::Schedule> schedule =
        dist::scheduleOf(options.schedule, stages, microbatches);
    if (!schedule)
      return schedule.takeError();
    if (schedule->place != dist::placeOf(module, stages))
      return llvm::createStringError("the program is cut for a schedule with other chunks on its "
                                     "stages; compile it anew for this one");
    account.schedule = std::move(*schedule);
  }
  Nodes nodes(program, *target, account.schedule.place);
  // The first microbatch begins the sums; those behind it do more.
  std::optional<int64_t> microbatch;
  if (microbatches > 1)
    microbatch = 1;
  for (size_t chunk = 0; chunk < account.schedule.place.size(); ++chunk) {
    ChunkView view{nodes, int64_t(chunk), microbatch,
                   options.isForPlanning || splitsWeights(account.schedule)};
    account.chunks.push_back(ChunkWriter(program, mesh, axisNumber, view, options).run());
  }
  return account;
}
