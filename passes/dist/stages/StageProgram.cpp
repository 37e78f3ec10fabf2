// The part of a program that one stage of a pipeline runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageProgram.h"

#include "dialects/dist/IR/ScheduleAttrs.h"
#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/Reduction.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;

namespace weft::dist {

static const Placement &placementOf(Value value) { return getLocal(value.getType()).getValue(); }

static int64_t sectionOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(kSectionAttr).getInt();
}

static void setSection(Operation *op, int64_t section) {
  op->setAttr(kSectionAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64), section));
}

/// Within a stage's program there is no other: what it has, all have that run it.
static Type withoutHeld(Type type) {
  LocalAttr local = getLocal(type);
  if (!local || !local.getValue().held)
    return type;
  Placement placement = local.getValue();
  placement.held.reset();
  return localType(getElementTypeOrSelf(type), local.getMesh(), placement);
}

/// Copies one program for one stage.
class StagePrograms::Copier {
public:
  Copier(StagePrograms &all, int64_t stage, func::FuncOp copy)
      : all(all), stage(stage), copy(copy), builder(copy.getContext()) {}

  bool isHere(Value value) const {
    const std::optional<Held> &held = placementOf(value).held;
    return !held || held->contains(stage);
  }

  void copyBlock(Block &from, Block &to) {
    builder.setInsertionPointToEnd(&to);
    for (Operation &op : from)
      copyOp(&op);
  }

  IRMapping map;

private:
  void copyOp(Operation *op) {
    if (auto loop = dyn_cast<RepeatOp>(op))
      return copyLoop(loop);
    if (isa<AccumulateOp>(op) || op->hasTrait<OpTrait::ReturnLike>())
      return copyEnd(op);
    if (isa<MoveOp>(op))
      return copyMove(op);
    if (!isHere(op->getResult(0)))
      return;
    auto partialize = dyn_cast<PartializeOp>(op);
    bool joinsStages =
        partialize &&
        llvm::is_contained(cast<TransitionOpInterface>(op).getTransitionAxes(), all.axis);
    if (joinsStages)
      return copyPartialize(partialize);
    Operation *made = builder.clone(*op, map);
    place(made, op);
    if (crossesStages(op))
      putOn(made, all.channels.find({op, -1})->second);
  }

  /// A copy of what crosses has its section.
  void putOn(Operation *made, Channel &channel) {
    setSection(made, channel.section);
    all.channelOf[made] = &channel;
  }

  /// The copy of `op`, or what stands for it.
  void place(Operation *made, Operation *op) {
    for (OpResult result : made->getResults())
      result.setType(withoutHeld(result.getType()));
    made->removeAttr(kChunksAttr);
    setSection(made, all.sections.of(op, stage));
    if (made->getNumResults() == op->getNumResults())
      map.map(op->getResults(), made->getResults());
  }

  void copyEnd(Operation *op) {
    SmallVector<Value> values;
    SmallVector<Attribute> accumulate;
    auto each = dyn_cast<AccumulateOp>(op);
    // What a loop makes of an addend may be here no more.
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      if (isHere(each ? Value(op->getParentOp()->getResult(i)) : value)) {
        values.push_back(map.lookupOrDefault(value));
        if (each)
          accumulate.push_back(each.getAccumulate()[i]);
      }
    if (each)
      AccumulateOp::create(builder, op->getLoc(), values, builder.getArrayAttr(accumulate));
    else
      func::ReturnOp::create(builder, op->getLoc(), values);
  }

  void copyLoop(RepeatOp loop) {
    SmallVector<Value> results;
    SmallVector<Type> types;
    for (Value result : loop.getResults())
      if (isHere(result)) {
        results.push_back(result);
        types.push_back(withoutHeld(result.getType()));
      }
    auto made =
        RepeatOp::create(builder, loop.getLoc(), types, loop.getAxisAttr(), DenseI64ArrayAttr());
    Block *body = builder.createBlock(&made.getBody());
    copyBlock(loop.getBody().front(), *body);
    builder.setInsertionPointAfter(made);
    map.map(results, made.getResults());
    setSection(made, all.sections.of(loop, stage));
  }

  void copyMove(Operation *op) {
    SmallVector<int64_t, 4> sources = cast<TransitionOpInterface>(op).getGeometry().sources;
    Value input = op->getOperand(0), result = op->getResult(0);
    for (auto [to, from] : llvm::enumerate(sources)) {
      if (from != stage || int64_t(to) == stage)
        continue;
      Channel &channel = all.channels.find({op, int64_t(to)})->second;
      channel.send = SendOp::create(builder, op->getLoc(), map.lookup(input), to, channel.name);
      if (Attribute reason = op->getAttr(kReasonAttr))
        channel.send->setAttr(kReasonAttr, reason);
      putOn(channel.send, channel);
    }
    if (sources[stage] == stage)
      return map.map(result, map.lookup(input));
    if (sources[stage] < 0)
      return;
    Channel &channel = all.channels.find({op, stage})->second;
    auto receive = ReceiveOp::create(builder, op->getLoc(), withoutHeld(result.getType()),
                                     sources[stage], channel.name);
    channel.receive = receive;
    putOn(receive, channel);
    map.map(result, receive.getResult());
  }

  /// The first stage that holds the value counts it; the others add nothing.
  void copyPartialize(PartializeOp op) {
    Value input = op.getInput();
    auto type = cast<RankedTensorType>(withoutHeld(op.getResult().getType()));
    const std::optional<Held> &held = placementOf(input).held;
    if (stage != (held ? held->stages.front() : 0)) {
      TypedAttr number =
          neutralAttr(placementOf(op.getResult()).partial.front().kind, type.getElementType());
      return place(nn::ConstantOp::create(builder, op.getLoc(), type,
                                          DenseElementsAttr::get(type, Attribute(number))),
                   op);
    }
    Value value = map.lookup(input);
    AxisList others = cast<TransitionOpInterface>(op.getOperation()).getTransitionAxes();
    llvm::erase(others, all.axis);
    if (!others.empty()) {
      Placement partial = getLocal(type).getValue();
      llvm::erase_if(partial.partial, [&](const PartialAxis &p) { return p.axis == all.axis; });
      value = createTransition(builder, op.getLoc(), value, all.mesh, TransitionKind::Partialize,
                               others, -1, -1, partial);
      setSection(value.getDefiningOp(), all.sections.of(op, stage));
    }
    place(nn::ReshapeOp::create(builder, op.getLoc(), type, value), op);
  }

  static TypedAttr neutralAttr(ReduceKind kind, Type element) {
    Scalar neutral = neutralElement(kind, element);
    if (isa<FloatType>(element))
      return FloatAttr::get(element, neutral.real);
    return IntegerAttr::get(element,
                            APInt(element.getIntOrFloatBitWidth(), neutral.integer, false, true));
  }

  StagePrograms &all;
  int64_t stage;
  func::FuncOp copy;
  OpBuilder builder;
};

StagePrograms::StagePrograms(func::FuncOp function, MeshAttr mesh, AxisId axis,
                             const StageSections &sections)
    : function(function), mesh(mesh), axis(axis), sections(sections) {
  for (auto &[loop, own] : sections.loops())
    addChannels(own.crossings);
  addChannels(sections.crossings());
}

/// What makes the value that moves names its channel; several of one name are numbered.
void StagePrograms::addChannels(const std::vector<Crossing> &crossings) {
  for (const Crossing &crossing : crossings) {
    Operation *maker = crossing.op->getOperand(0).getDefiningOp();
    std::string name = nodeName(maker && !isa<RepeatOp>(maker) ? maker : crossing.op);
    if (unsigned number = names[name]++)
      name += "#" + std::to_string(number);
    Channel channel{std::move(name), crossing.section, int64_t(channels.size())};
    channels.insert({{crossing.op, crossing.to}, channel});
  }
}

/// Ports have names: a stage has some of them only, so that their numbers say nothing there.
static DictionaryAttr named(DictionaryAttr attributes, StringRef kind, unsigned number,
                            MLIRContext *context) {
  NamedAttrList list(attributes);
  if (!list.get(nn::kNameAttr) && !list.get(nn::kUpdatesAttr))
    list.set(nn::kNameAttr, StringAttr::get(context, kind + Twine(number)));
  return list.getDictionary(context);
}

void StagePrograms::project(MutableArrayRef<ModuleOp> modules) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  for (auto [stage, module] : llvm::enumerate(modules)) {
    func::FuncOp copy = function.cloneWithoutRegions();
    module.push_back(copy);
    programs.push_back(copy);
    Copier copier(*this, int64_t(stage), copy);
    Block *block = new Block;
    copy.getBody().push_back(block);
    SmallVector<DictionaryAttr> ofArguments, ofResults;
    for (BlockArgument argument : body.getArguments()) {
      if (!copier.isHere(argument))
        continue;
      copier.map.map(argument,
                     block->addArgument(withoutHeld(argument.getType()), argument.getLoc()));
      ofArguments.push_back(named(function.getArgAttrDict(argument.getArgNumber()), "input",
                                  argument.getArgNumber(), function.getContext()));
    }
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (copier.isHere(value))
        ofResults.push_back(
            named(function.getResultAttrDict(i), "output", i, function.getContext()));
    copier.copyBlock(body, *block);
    updateFunctionType(copy);
    copy.setAllArgAttrs(ofArguments);
    copy.setAllResultAttrs(ofResults);
  }
}

void StagePrograms::eraseDead() {
  bool changed = true;
  auto erase = [&](Operation *op) {
    op->erase();
    changed = true;
  };
  while (std::exchange(changed, false))
    for (func::FuncOp program : programs)
      program.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
        if (auto receive = dyn_cast<ReceiveOp>(op); receive && receive->use_empty()) {
          channelOf.lookup(receive)->send->erase();
          erase(receive);
        } else if (isOpTriviallyDead(op)) {
          erase(op);
        }
      });
  eraseInputs();
}

/// An input is on the stages that read it, and on the first one if none does.
void StagePrograms::eraseInputs() {
  llvm::StringMap<bool> isRead;
  auto nameOf = [](func::FuncOp program, unsigned number) {
    return nn::argumentName(program, number);
  };
  for (func::FuncOp program : programs)
    for (BlockArgument argument : program.getArguments())
      isRead[nameOf(program, argument.getArgNumber())] |= !argument.use_empty();
  for (auto [stage, program] : llvm::enumerate(programs)) {
    BitVector erased(program.getNumArguments());
    for (BlockArgument argument : program.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (!nn::isState(program, number) && argument.use_empty() &&
          (stage > 0 || isRead.lookup(nameOf(program, number))))
        erased.set(number);
    }
    (void)program.eraseArguments(erased);
  }
}

//===--------------------------------------------------------------------===//
// Order

/// What is made without hearing of other stages may wait for its first reader, if it keeps nothing
/// alive by that: so masks, casts and the like are made where they are read, in one kernel with it.
void StagePrograms::sinkSources(Block &block, const LoopSections *loop) {
  auto isFixed = [](Operation *op) { return crossesStages(op) || isa<RepeatOp>(op); };
  Operation *end = block.getTerminator();
  llvm::DenseMap<Operation *, int64_t> latest;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    int64_t own = sectionOf(&op);
    std::optional<int64_t> least;
    for (Operation *user : op.getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      int64_t read = reader == end || crossesStages(reader) ? own : latest.lookup(reader);
      least = !least ? read : loop ? loop->notAfter(*least, read) : std::min(*least, read);
    }
    latest[&op] = isFixed(&op) ? own : std::max(own, least.value_or(own));
  }
  for (Operation &op : block.without_terminator()) {
    if (isFixed(&op))
      continue;
    int64_t section = latest.lookup(&op), made = sectionOf(&op);
    bool keepsAlive = false;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == &block) {
        keepsAlive |= isFixed(maker) || sectionOf(maker) < section;
        made = std::max(made, isFixed(maker) ? made : sectionOf(maker));
      }
    setSection(&op, keepsAlive ? made : section);
  }
}

/// Behind what computes in a section stands what crosses then.
void StagePrograms::sortBySection(Block &block) {
  using Key = std::tuple<int64_t, int64_t, size_t>;
  std::vector<std::pair<Key, Operation *>> ops;
  for (Operation &op : block.without_terminator()) {
    Channel *channel = channelOf.lookup(&op);
    ops.push_back({{sectionOf(&op), channel ? channel->turn : -1, ops.size()}, &op});
  }
  llvm::sort(ops);
  for (auto &[key, op] : ops)
    op->moveBefore(block.getTerminator());
}

/// The action of a section of a stage's loop, as "F1"; "" if it is of none.
static std::string actionOf(const LoopSections &own, const pipeline::Schedule &schedule,
                            int64_t section, int64_t stage) {
  SmallVector<int64_t> chunks; // of the stage
  for (auto [chunk, rank] : llvm::enumerate(schedule.place))
    if (rank == stage)
      chunks.push_back(int64_t(chunk));
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    if (section == own.forward(int64_t(number)))
      return "F" + std::to_string(chunk);
    if (section == own.backward(int64_t(number)) && own.hasBackward)
      return (own.splitsWeights ? "B" : "D") + std::to_string(chunk);
    if (section == own.weight(int64_t(number)) && own.hasBackward && own.splitsWeights)
      return "W" + std::to_string(chunk);
  }
  return "";
}

/// Those of all sections, of the stage's own and of what it exchanges.
static DictionaryAttr actionsOf(const LoopSections &own, const pipeline::Schedule &schedule,
                                int64_t stage, Builder builder) {
  NamedAttrList actions;
  auto set = [&](int64_t section, const std::string &action) {
    if (!action.empty())
      actions.set(std::to_string(section), builder.getStringAttr(action));
  };
  for (int64_t section = own.base; section < own.late(); ++section)
    set(section, actionOf(own, schedule, section, stage));
  for (const Crossing &crossing : own.crossings)
    if (crossing.from >= 0)
      set(crossing.section, actionOf(own, schedule, crossing.after, crossing.from));
  return actions.getDictionary(builder.getContext());
}

void StagePrograms::setSteps(RepeatOp loop, ArrayRef<Step> list) {
  llvm::DenseSet<int64_t> present;
  for (Operation &op : loop.getBody().front().without_terminator())
    present.insert(sectionOf(&op));
  SmallVector<int64_t> steps;
  for (auto [section, microbatch] : list)
    if (present.contains(section))
      steps.append({section, microbatch});
  loop.setSteps(steps);
}

void StagePrograms::order(const pipeline::Schedule &schedule) {
  // Of loops by their first section.
  std::map<int64_t, const LoopSections *> loops;
  std::map<int64_t, std::vector<std::vector<Step>>> steps;
  std::map<int64_t, std::vector<DictionaryAttr>> actions;
  for (const auto &[loop, own] : sections.loops()) {
    loops[own.base] = &own;
    steps[own.base] = stepsOf(own, schedule);
    for (size_t stage = 0; stage < programs.size(); ++stage)
      actions[own.base].push_back(actionsOf(own, schedule, int64_t(stage), Builder(loop)));
  }
  for (auto [stage, program] : llvm::enumerate(programs)) {
    Block &body = program.getBody().front();
    sinkSources(body, nullptr);
    sortBySection(body);
    for (auto loop : body.getOps<RepeatOp>()) {
      sinkSources(loop.getBody().front(), loops.at(sectionOf(loop)));
      setSteps(loop, steps.at(sectionOf(loop))[stage]);
      loop->setAttr(kActionsAttr, actions.at(sectionOf(loop))[stage]);
    }
  }
}

} // namespace weft::dist
