// Gradients, and the training step that a model brings along (TrainingInfo).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/GraphConverter.h"

#include "dialects/nn/IR/NnTraining.h"
#include "weft/runtime/Metadata.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

//===----------------------------------------------------------------------===//
// What the message holds
//===----------------------------------------------------------------------===//

static Block *blockOf(TrainingInfoOp info, GraphAttr graph) {
  if (!graph || !graph.getRegion())
    return nullptr;
  uint64_t index = graph.getRegion().getValue().getZExtValue();
  return index < info.getGraphs().size() ? &info.getGraphs()[index].front() : nullptr;
}

Block *weft::onnx::algorithmOf(TrainingInfoOp info) {
  return blockOf(info, info.getAlgorithmAttr());
}

bool weft::onnx::hasModelStep(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  return graph && llvm::any_of(graph.getBody().getOps<TrainingInfoOp>(), algorithmOf);
}

static auto entriesOf(ArrayAttr list) {
  return list ? llvm::to_vector(list.getAsRange<EntryAttr>()) : SmallVector<EntryAttr>();
}
static StringRef textOf(StringAttr text) { return text ? text.getValue() : StringRef(); }

void GraphConverter::collectNames(Block &block, GraphAttr info) {
  if (info.getInputs())
    for (auto [argument, entry] :
         llvm::zip_equal(block.getArguments(), info.getInputs().getValue()))
      names[nameOfInfo(entry)] = argument;
  for (Operation &op : block) {
    // An initializer with the name of an input is what uses refer to.
    if (auto initializer = dyn_cast<InitializerOp>(op))
      names[textOf(initializer.getValue().getName())] = initializer;
    else if (auto node = dyn_cast<NodeOp>(op))
      for (auto [i, result] : llvm::enumerate(node.getResults()))
        names[node.getOutputName(i)] = result;
  }
}

void GraphConverter::collectNames(GraphOp graph, TrainingInfoOp info) {
  names.clear();
  collectNames(graph.getBody().front(), graph.getInfo());
  if (Block *algorithm = info ? algorithmOf(info) : nullptr)
    collectNames(*algorithm, info.getAlgorithmAttr());
  names.erase("");
}

InitializerOp GraphConverter::boundInitializer(EntryAttr entry) {
  Value named = names.lookup(textOf(entry.getKey()));
  return named ? named.getDefiningOp<InitializerOp>() : InitializerOp();
}

void GraphConverter::findBound(GraphOp graph) {
  llvm::StringSet<> keys;
  for (auto info : graph.getBody().getOps<TrainingInfoOp>()) {
    collectNames(graph, info);
    auto find = [&](EntryAttr entry, StringRef list) {
      InitializerOp target = boundInitializer(entry);
      if (target && textOf(entry.getKey()) == runtime::kStepState)
        error(info.getLoc()) << list << " of the training information sets '" << runtime::kStepState
                             << "', the name under which every training step "
                                "counts; rename that initializer";
      else if (target)
        bound.insert({target, Value()});
      else
        error(info.getLoc()) << list << " of the training information sets '"
                             << textOf(entry.getKey())
                             << "', but neither the main graph nor the training graph has an "
                                "initializer of that name";
      return target;
    };
    for (EntryAttr entry : entriesOf(info.getUpdateBindingAttr()))
      if (find(entry, "update_binding") && !keys.insert(textOf(entry.getKey())).second)
        error(info.getLoc()) << "update_binding of the training information "
                                "sets '"
                             << textOf(entry.getKey()) << "' twice; a state has one new value";
    bool sound = true;
    for (EntryAttr entry : entriesOf(info.getInitializationBindingAttr()))
      sound &= bool(find(entry, "initialization_binding"));
    if (sound)
      runInitialization(info);
  }
}

/// The start is the same for every program, so it is computed now.
void GraphConverter::runInitialization(TrainingInfoOp info) {
  Block *block = blockOf(info, info.getInitializationAttr());
  SmallVector<EntryAttr> entries = entriesOf(info.getInitializationBindingAttr());
  if (!block || entries.empty())
    return;
  if (block->getNumArguments() > 0) {
    error(info.getLoc()) << "the initialization graph has " << block->getNumArguments()
                         << " inputs, but nothing to feed them";
    return;
  }
  b.initializes = true;
  convertBlock(*block, Scope());
  b.initializes = false;
  llvm::StringMap<Value> outputs;
  if (ArrayAttr list = info.getInitializationAttr().getOutputs())
    for (auto [value, entry] : llvm::zip(block->getTerminator()->getOperands(), list.getValue()))
      outputs[nameOfInfo(entry)] = value;
  for (EntryAttr entry : entries) {
    StringRef key = textOf(entry.getKey()), name = textOf(entry.getValue());
    InitializerOp target = boundInitializer(entry);
    Value output = outputs.lookup(name);
    Value value = output ? values.lookup(output) : Value();
    std::optional<HostTensor> known = value ? b.known(value) : std::nullopt;
    RankedTensorType wanted = target.getValue().getType();
    if (!output) {
      error(info.getLoc()) << "initialization_binding sets '" << key << "' to '" << name
                           << "', which is no output of the initialization "
                              "graph";
    } else if (!value) {
      continue; // told where it failed
    } else if (!known) {
      error(info.getLoc()) << "initialization_binding sets '" << key << "' to '" << name
                           << "', which is not known at compile time";
    } else if (ArrayRef<int64_t>(known->shape) != wanted.getShape() ||
               known->elementType != wanted.getElementType()) {
      error(info.getLoc()) << "initialization_binding sets '" << key << "' of type " << wanted
                           << " to '" << name << "' of type " << value.getType();
    } else {
      initialValues[target] = std::move(*known);
    }
  }
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Whether a value is computed from another. `holes` tells what arguments that
/// stand for gradients come from.
static bool dependsOn(Value value, Value on, llvm::function_ref<Value(Value)> holes) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!next || !seen.insert(next).second)
      continue;
    if (next == on)
      return true;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(work, op->getOperands());
    else
      work.push_back(holes(next));
  }
  return false;
}

static bool isOneFloat(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return isa<FloatType>(type.getElementType()) && type.getNumElements() == 1;
}

/// Its results become arguments, which `step` replaces by what they stand for.
void GraphConverter::convertGradient(NodeOp node, const Scope &scope) {
  Location loc = locationOf(node, scope);
  if (scope.function) {
    error(loc) << "'Gradient' stands in a function, where the names of xs, zs "
                  "and y mean nothing; put it into the main or the training "
                  "graph";
    return;
  }
  auto xs = node.getStrings("xs"), zs = node.getStrings("zs");
  auto target = node.getString("y");
  if (!xs || xs->empty() || !target) {
    error(loc) << "'Gradient' needs its attributes xs, a list of names, and y, "
                  "a name";
    return;
  }
  auto find = [&](StringRef name, StringRef list) {
    Value named = names.lookup(name);
    if (!named)
      error(loc) << "'" << list << "' names '" << name
                 << "', which is no tensor of the main graph or of this "
                    "training graph";
    return named;
  };
  SmallVector<StringRef> independent(*xs);
  if (zs)
    llvm::append_range(independent, *zs);
  if (independent.size() != node.getInputs().size()) {
    error(loc) << "'Gradient' has " << node.getInputs().size() << " inputs, but xs and zs name "
               << independent.size() << " tensors; it has one input for each";
    return;
  }
  SmallVector<Value> named;
  for (auto [i, name] : llvm::enumerate(independent)) {
    named.push_back(find(name, i < xs->size() ? "xs" : "zs"));
    if (named.back() && named.back() != node.getInputs()[i])
      error(loc) << "input " << i << " of 'Gradient' is another tensor than '" << name
                 << "', which " << (i < xs->size() ? "xs" : "zs")
                 << " names; gradients at other values than those that the "
                    "graph computes are not supported";
  }
  Value y = find(*target, "y");
  if (failed)
    return;
  Value number = values.lookup(y);
  if (!number) {
    error(loc) << "'y' names '" << *target << "', which is computed behind this node";
    return;
  }
  if (!isOneFloat(number)) {
    error(loc) << "'y' names '" << *target << "' of type " << number.getType()
               << ", but gradients are those of one number; reduce it first, "
                  "as ReduceMean does";
    return;
  }
  Gradient gradient{number, {}};
  auto hole = [&](Value argument) {
    for (const Gradient &one : gradients)
      for (auto [stands, x] : one.argumentsAndXs)
        if (stands == argument)
          return one.y;
    return Value();
  };
  for (auto [i, output] : llvm::enumerate(node.getResults())) {
    if (node.getOutputName(i).empty() || i >= xs->size())
      continue;
    Value x = values.lookup(named[i]);
    if (!x)
      continue; // what makes it has failed already
    if (!NnBuilder::isFloat(x) || !dependsOn(number, x, hole)) {
      error(loc) << "'" << *target << "' does not depend on '" << (*xs)[i] << "' of type "
                 << x.getType() << "; take it out of xs, or name what it depends on";
      continue;
    }
    Value argument = function.front().addArgument(x.getType(), loc);
    argumentAttrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr("gradient of " + (*xs)[i]))));
    values[output] = argument;
    gradient.argumentsAndXs.push_back({argument, x});
  }
  gradients.push_back(std::move(gradient));
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Infos run one after the other: what one assigns, the next one reads.
void GraphConverter::convertAlgorithms(GraphOp graph) {
  const llvm::DenseMap<Value, Value> inputs = values;
  for (auto info : graph.getBody().getOps<TrainingInfoOp>()) {
    Block *algorithm = algorithmOf(info);
    if (!algorithm || failed)
      continue;
    values = inputs;
    collectNames(graph, info);
    convertBlock(graph.getBody().front(), Scope());
    convertBlock(*algorithm, Scope());
    if (failed || (purpose == Purpose::ModelEvaluation && !gradients.empty()))
      return;
    assignUpdates(graph, info);
  }
  if (!failed && gradients.empty())
    error(graph.getLoc()) << "the model's training information has no node 'Gradient', so "
                             "nothing says what its loss is; give --loss and --optimizer";
}

void GraphConverter::assignUpdates(GraphOp graph, TrainingInfoOp info) {
  llvm::StringMap<Value> outputs;
  auto addOutputs = [&](Block &block, GraphAttr attr) {
    if (attr.getOutputs())
      for (auto [value, entry] :
           llvm::zip(block.getTerminator()->getOperands(), attr.getOutputs().getValue()))
        outputs[nameOfInfo(entry)] = value;
  };
  addOutputs(graph.getBody().front(), graph.getInfo());
  addOutputs(*algorithmOf(info), info.getAlgorithmAttr());
  SmallVector<std::pair<Operation *, Value>> assigned;
  for (EntryAttr entry : entriesOf(info.getUpdateBindingAttr())) {
    StringRef key = textOf(entry.getKey()), name = textOf(entry.getValue());
    InitializerOp target = boundInitializer(entry);
    Value output = outputs.lookup(name);
    Value next = output ? values.lookup(output) : Value();
    Value old = target ? bound.lookup(target) : Value();
    if (!output)
      error(info.getLoc()) << "update_binding sets '" << key << "' to '" << name
                           << "', which is no output of the training graph or "
                              "of the main graph";
    else if (!next || !old)
      error(info.getLoc()) << "update_binding sets '" << key << "' to '" << name
                           << "', which no node computes";
    else if (next.getType() != old.getType())
      error(info.getLoc()) << "update_binding sets '" << key << "' of type " << old.getType()
                           << " to '" << name << "' of type " << next.getType();
    else
      assigned.push_back({target, next});
  }
  for (auto [target, next] : assigned)
    current[target] = next;
}

StringRef GraphConverter::nameOfState(Value state) {
  unsigned number = cast<BlockArgument>(state).getArgNumber();
  return cast<StringAttr>(argumentAttrs[number].get(nn::kNameAttr)).getValue();
}

void GraphConverter::addOwnResults(SmallVectorImpl<Value> &results,
                                   SmallVectorImpl<DictionaryAttr> &attrs) {
  auto add = [&](Value value, StringRef attribute, StringRef name, bool inner) {
    assert(value && "the loss and the rate are single numbers, updates are computed");
    results.push_back(value);
    NamedAttrList list;
    list.set(attribute, builder.getStringAttr(name));
    if (inner)
      list.set(nn::kInnerAttr, builder.getUnitAttr());
    attrs.push_back(list.getDictionary(builder.getContext()));
  };
  add(b.reshape(gradients.front().y, {}), nn::kNameAttr, "loss", true);
  if (purpose == Purpose::ModelEvaluation)
    return;
  if (!b.rates.empty())
    add(b.reshape(b.rates.front(), {}), nn::kNameAttr, "lr", true);
  for (auto [target, state] : bound)
    if (Value now = current.lookup(target); now != state)
      add(now, nn::kUpdatesAttr, nameOfState(state), false);
}

void GraphConverter::addHoles(SmallVectorImpl<Value> &results,
                              SmallVectorImpl<DictionaryAttr> &attrs) {
  auto add = [&](Value value) -> int64_t {
    results.push_back(value);
    attrs.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(nn::kInnerAttr, builder.getUnitAttr())));
    return results.size() - 1;
  };
  for (const Gradient &gradient : gradients) {
    int64_t y = add(gradient.y);
    for (auto [argument, x] : gradient.argumentsAndXs)
      setArgument(argument, nn::kGradientAttr, builder.getDenseI64ArrayAttr({y, add(x)}));
  }
}

void GraphConverter::setArgument(Value argument, StringRef name, Attribute value) {
  DictionaryAttr &attributes = argumentAttrs[cast<BlockArgument>(argument).getArgNumber()];
  NamedAttrList list(attributes);
  list.set(name, value);
  attributes = list.getDictionary(builder.getContext());
}

/// Parameters are the floats of the main graph that no optimizer keeps beside
/// another tensor.
void GraphConverter::classifyStates() {
  llvm::DenseMap<Value, Value> owner;
  for (auto [slot, of] : b.slots)
    owner.try_emplace(slot, of);
  llvm::DenseSet<Value> states;
  for (auto [target, state] : bound)
    states.insert(state);
  for (auto [target, state] : bound) {
    if (!state)
      continue;
    if (NnBuilder::isFloat(state))
      setArgument(state, nn::kKeptAttr, builder.getUnitAttr());
    Value of = owner.lookup(state);
    if (!states.contains(of))
      of = Value();
    bool isParameter = NnBuilder::isFloat(state) && isa<GraphOp>(target->getParentOp()) && !of;
    if (isParameter)
      continue;
    setArgument(state, nn::kClassAttr, builder.getStringAttr("optimizer"));
    if (of)
      setArgument(state, nn::kOfAttr, builder.getStringAttr(nameOfState(of)));
  }
}
