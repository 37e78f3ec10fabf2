// The walk: inputs, initializers, nodes, calls of functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/GraphConverter.h"

#include "dialects/nn/IR/NnTraining.h"
#include "dialects/onnx/IR/TensorData.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/ValueNames.h"
#include "weft/runtime/Metadata.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

llvm::StringRef weft::onnx::nameOfInfo(Attribute info) {
  auto value = dyn_cast<ValueInfoAttr>(info);
  return value && value.getName() ? value.getName().getValue() : llvm::StringRef();
}

GraphConverter::GraphConverter(ModuleOp module, const Bindings &bindings, Purpose purpose,
                               uint64_t seed, bool hasModelStep, int64_t batchParts)
    : module(module), functions(module), notes(getMainGraph(module).getInfo()), bindings(bindings),
      purpose(purpose), builder(module.getContext()), b(builder, module.getLoc()),
      hasModelStep(hasModelStep) {
  b.seed = seed;
  b.sourceOfExtent = [this](int64_t extent) { return sourceOf(extent); };
  // A step of the model's own computes what its nodes say.
  if (purpose != Purpose::Inference && purpose != Purpose::ModelStep)
    b.training = purpose == Purpose::Training;
  if (purpose == Purpose::Training || purpose == Purpose::ModelStep) {
    b.batchParts = batchParts;
    b.stepCounter = [this] { return stepCounter(); };
  }
  b.isState = [this](BlockArgument argument) { return states.contains(argument); };
  b.readArgument = [this](BlockArgument argument) -> std::optional<HostTensor> {
    auto found = states.find(argument);
    if (found == states.end())
      return std::nullopt;
    RankedTensorType type = found->second.getType();
    if (type.getNumElements() > NnBuilder::kFoldLimit)
      return std::nullopt;
    auto bytes = readTensor(found->second, [&] { return error(argument.getLoc()); });
    if (mlir::failed(bytes))
      return std::nullopt;
    return decodeHostTensor(type, *bytes);
  };
}

InFlightDiagnostic GraphConverter::error(Location loc) {
  failed = true;
  return emitError(loc);
}

llvm::StringRef GraphConverter::functionName() const {
  switch (purpose) {
  case Purpose::Training:
    return kTrainingForward;
  case Purpose::ModelStep:
    return nn::kModelStep;
  case Purpose::ModelEvaluation:
    return nn::kModelEvaluation;
  case Purpose::Inference:
  case Purpose::Evaluation:
    return "forward";
  }
  llvm_unreachable("purpose of a conversion");
}

func::FuncOp GraphConverter::convert() {
  GraphOp graph = getMainGraph(module);
  std::string problem = functions.checkInlined(graph.getBody().front());
  for (auto info : graph.getBody().getOps<TrainingInfoOp>())
    for (Region &region : info.getGraphs())
      if (problem.empty())
        problem = functions.checkInlined(region.front());
  if (!problem.empty()) {
    error(graph.getLoc()) << problem;
    return func::FuncOp();
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, graph.getLoc(), functionName(),
                                  builder.getFunctionType({}, {}));
  if (functionName() != "forward")
    function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  collectNames(graph);
  convertInputs(graph);
  if (hasModelStep)
    findBound(graph);
  if (isOfModel())
    convertAlgorithms(graph);
  else
    convertBlock(graph.getBody().front(), Scope());
  if (!failed)
    finish(graph);
  if (!failed)
    return function;
  function.erase();
  return func::FuncOp();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool GraphConverter::countNode(Location loc) {
  if (++numNodes <= FunctionTable::kMaxNodes)
    return true;
  if (!failed)
    error(loc) << "the model has more than " << FunctionTable::kMaxNodes
               << " nodes once its loops are written out";
  return false;
}

void GraphConverter::convertBlock(Block &block, const Scope &scope) {
  for (Operation &op : block) {
    if (auto node = dyn_cast<NodeOp>(op)) {
      // Bodies of loops count once for each run.
      if (!countNode(node.getLoc()))
        return;
      convertNode(node, scope);
      continue;
    }
    if (auto initializer = dyn_cast<InitializerOp>(op)) {
      if (initializer.use_empty() && !bound.contains(initializer))
        continue;
      Value &value = current[initializer];
      if (!value)
        value = initialValue(initializer);
      if (value)
        values[initializer.getResult()] = value;
      continue;
    }
    if (isa<SparseInitializerOp>(op) && !op.use_empty())
      error(op.getLoc()) << "sparse initializers are not supported; store the tensor densely";
  }
}

std::optional<int64_t> GraphConverter::opsetOf(NodeOp node, const Scope &scope) {
  auto [versions, isNew] = opsets.try_emplace(scope.function);
  if (isNew) {
    ModelAttr model = getModel(module);
    ArrayAttr imports = scope.function ? FunctionOp(scope.function).getOpsetImportAttr()
                        : model        ? model.getOpsetImport()
                                       : ArrayAttr();
    for (Attribute import : imports ? imports.getValue() : ArrayRef<Attribute>()) {
      auto opset = cast<OpsetAttr>(import);
      // Of a domain that is given twice the first version counts.
      versions->second.try_emplace(
          canonicalDomain(opset.getDomain() ? opset.getDomain().getValue() : ""),
          opset.getVersion() ? opset.getVersion().getInt() : 0);
    }
  }
  auto found = versions->second.find(node.getCanonicalDomain());
  return found == versions->second.end() ? std::nullopt : std::optional(found->second);
}

Location GraphConverter::locationOf(NodeOp node, const Scope &scope) {
  if (scope.prefix.empty())
    return node.getLoc();
  // Importers name a node by NameLoc(node, NameLoc(op type, place)).
  auto named = node.getLoc()->findInstanceOf<NameLoc>();
  return named ? NameLoc::get(builder.getStringAttr(scope.prefix + named.getName().str()),
                              named.getChildLoc())
               : NameLoc::get(builder.getStringAttr(scope.prefix), node.getLoc());
}

/// Names of calls and loops before a node's own; a small file can nest long ones.
static constexpr size_t kMaxPrefix = 512;

std::string GraphConverter::prefixWithin(NodeOp node, const Scope &scope, llvm::StringRef part) {
  auto named = node.getLoc()->findInstanceOf<NameLoc>();
  std::string own = named ? named.getName().str() : "";
  if (!own.empty() || !part.empty())
    own += "/" + part.str();
  return scope.prefix.size() + own.size() <= kMaxPrefix ? scope.prefix + own : scope.prefix;
}

SmallVector<Value> GraphConverter::lookup(ValueRange operands) {
  SmallVector<Value> found;
  for (Value operand : operands)
    found.push_back(values.lookup(operand));
  return found;
}

bool GraphConverter::lookupInputs(NodeOp node, SmallVectorImpl<Value> &inputs) {
  for (auto [index, operand] : llvm::enumerate(node.getInputs())) {
    Value value = values.lookup(operand);
    if (!value && node.hasInput(index) && !absent.contains(operand))
      return false;
    inputs.push_back(value);
  }
  return true;
}

/// Models from elsewhere name values as they like, and Netron shows these names. What follows from
/// the node's is not written down.
static void nameValue(NodeOp node, unsigned index, Value value, Location loc) {
  Operation *op = value.getDefiningOp();
  llvm::StringRef name = node.getOutputName(index), rest = name;
  // An op of another node's has a name already.
  if (!op || op->getNumResults() != 1 || op->getLoc() != loc || name.empty())
    return;
  if (!rest.consume_front(nodeName(loc)) || (!rest.empty() && rest != "_output_0"))
    op->setLoc(withValueName(loc, name));
}

void GraphConverter::setResults(NodeOp node, llvm::ArrayRef<Value> results, Location loc) {
  for (auto [index, output] : llvm::enumerate(node.getResults())) {
    if (index < results.size() && results[index]) {
      values[output] = results[index];
      if (loc == node.getLoc()) // not within a function or loop, where names are local
        nameValue(node, index, results[index], loc);
      continue;
    }
    if (output.use_empty() && index > 0 && !b.hasFailed())
      continue;
    std::string reason = b.takeMessage();
    if (reason.empty())
      reason = ("output " + llvm::Twine(index) + " is not supported").str();
    error(loc) << "cannot convert '" << node.getOpType() << "': " << reason;
    return;
  }
  b.takeMessage();
}

/// The attribute that a node gives and its conversion has not read, or "".
static std::string findUnread(const NodeContext &context, const Schema &schema) {
  return checkRead(
      context.node, schema, [&](AttributeAttr given) { return context.resolved(given); },
      context.readAttributes());
}

const Schema *GraphConverter::checkNode(NodeOp node, int64_t opset, const Scope &scope,
                                        Location loc) {
  llvm::StringRef domain = node.getCanonicalDomain();
  const Schema *schema = findSchema(domain, node.getOpType(), opset);
  if (!schema) {
    error(loc) << "operator '" << node.getOpType() << "' is not part of "
               << (domain.empty() ? "opset " : "domain '" + domain.str() + "', version ") << opset
               << "; import a later version";
    return nullptr;
  }
  auto value = [&](AttributeAttr attribute) { return resolve(attribute, scope.attributes); };
  std::string problem = checkForm(node, *schema, value);
  if (problem.empty())
    return schema;
  error(loc) << "'" << node.getOpType() << "' of " << (domain.empty() ? "opset " : "version ")
             << opset << " has another form: " << problem;
  return nullptr;
}

void GraphConverter::convertNode(NodeOp node, const Scope &scope) {
  if (FunctionOp callee = functions.lookup(node))
    return convertCall(node, callee, scope);
  Location loc = locationOf(node, scope);
  std::optional<int64_t> opset = opsetOf(node, scope);
  if (!opset) {
    error(loc) << "no version of domain '" << node.getCanonicalDomain()
               << "' is imported, which operator '" << node.getOpType() << "' needs";
    return;
  }
  b.loc = loc;
  auto walk = controlFlow().find(node.getOpType());
  bool isWalked = node.getCanonicalDomain().empty() && walk != controlFlow().end();
  bool isGradient = node.getCanonicalDomain() == kTrainingDomain && node.getOpType() == "Gradient";
  const Handler *handler = nullptr;
  if (!isWalked && !isGradient) {
    auto found = Registry::get().find(node.getCanonicalDomain(), node.getOpType(), *opset);
    if (!found) {
      error(loc) << llvm::toString(found.takeError());
      return;
    }
    handler = &*found;
  }
  const Schema *schema = checkNode(node, *opset, scope, loc);
  if (!schema)
    return;
  if (isWalked)
    return (this->*walk->second)(node, scope);
  if (isGradient)
    return convertGradient(node, scope);
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return; // what makes an input has failed already
  NodeContext context(b, node, *opset, scope.attributes, inputs);
  if (node.getCanonicalDomain().empty() && node.getOpType() == "Constant")
    if (TensorAttr value = context.tensor("value")) {
      if (std::string more = findUnread(context, *schema); !more.empty())
        error(loc) << "'Constant' has several values: " << more;
      else if (Value constant = constantOf(node, value, loc))
        values[node.getResult(0)] = constant;
      return;
    }
  Results results = (*handler)(context);
  if (!b.hasFailed())
    b.fail(findUnread(context, *schema));
  if (b.hasFailed())
    results.clear();
  setResults(node, results, loc);
}

Value GraphConverter::constantOf(NodeOp node, TensorAttr value, Location loc) {
  bool quantized = feedsQuantized(node.getResult(0));
  Value &made = constants[{value, quantized}];
  if (!made)
    made = materialize(value, node.getOutputName(0), quantized, /*isInitializer=*/false, loc);
  return made;
}

void GraphConverter::convertCall(NodeOp node, FunctionOp callee, const Scope &scope) {
  Location loc = locationOf(node, scope);
  if (std::string problem = checkCall(node, callee); !problem.empty()) {
    error(loc) << "the call of function '" << node.getOpType() << "' does not fit it: " << problem;
    return;
  }
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return;
  // All that are given are the function's, and come before its defaults.
  AttributeScope attributes;
  if (ArrayAttr list = node.getOnnxAttributesAttr())
    for (auto entry : list.getAsRange<AttributeAttr>())
      if (AttributeAttr given = resolve(entry, scope.attributes); given && entry.getName())
        attributes[entry.getName().getValue()] = given;
  if (ArrayAttr defaults = callee.getOnnxAttributesAttr())
    for (auto entry : defaults.getAsRange<AttributeAttr>())
      if (entry.getName())
        attributes.try_emplace(entry.getName().getValue(), entry);
  Block &body = callee.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    bool given = argument.getArgNumber() < inputs.size() && inputs[argument.getArgNumber()];
    values[argument] = given ? inputs[argument.getArgNumber()] : Value();
    given ? (void)absent.erase(argument) : (void)absent.insert(argument);
  }
  Scope inner{callee, &attributes, prefixWithin(node, scope)};
  convertBlock(body, inner);
  SmallVector<Value> results = lookup(body.getTerminator()->getOperands());
  for (auto [index, output] : llvm::enumerate(node.getResults()))
    if (index < results.size() && results[index])
      values[output] = results[index];
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void GraphConverter::removeDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  // Weights that only fed what was folded need not be loaded; a state that is
  // written and never read is state nevertheless.
  llvm::DenseSet<Value> written;
  if (purpose == Purpose::ModelStep)
    for (auto [initializer, state] : bound)
      written.insert(state);
  for (unsigned i = function.front().getNumArguments(); i-- > numInputs;)
    if (function.front().getArgument(i).use_empty() &&
        !written.contains(function.front().getArgument(i))) {
      function.front().eraseArgument(i);
      argumentAttrs.erase(argumentAttrs.begin() + i);
    }
}

/// Marks state that is not trained; a training pass returns what it becomes.
void GraphConverter::addStatistics(SmallVectorImpl<Value> &results,
                                   SmallVectorImpl<DictionaryAttr> &attrs) {
  for (Value statistic : b.statistics) {
    unsigned number = cast<BlockArgument>(statistic).getArgNumber();
    // Whoever feeds the statistics by hand has an input there.
    if (number >= numInputs)
      setArgument(statistic, nn::kStatisticAttr, builder.getUnitAttr());
  }
  if (purpose != Purpose::Training)
    return;
  for (auto [old, now] : b.updates) {
    unsigned number = cast<BlockArgument>(old).getArgNumber();
    if (number < numInputs)
      continue;
    results.push_back(now);
    attrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(nn::kUpdatesAttr, argumentAttrs[number].get(nn::kNameAttr))));
  }
}

void GraphConverter::checkDeclared(Attribute output, Value computed, Location loc) {
  auto info = dyn_cast<ValueInfoAttr>(output);
  auto declared = info ? dyn_cast_or_null<ShapedType>(info.getType()) : ShapedType();
  auto type = cast<RankedTensorType>(computed.getType());
  if (!declared || (declared.getElementType() == type.getElementType() &&
                    (!declared.hasRank() ||
                     succeeded(verifyCompatibleShape(declared.getShape(), type.getShape())))))
    return;
  error(loc) << "output '" << nameOfInfo(output) << "' is declared as " << declared
             << ", but the graph computes " << type << "; correct the declaration in the model";
}

void GraphConverter::finish(GraphOp graph) {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttrs;
  if (isOfModel()) {
    addOwnResults(results, resultAttrs);
  } else {
    OperandRange outputs = graph.getBody().front().getTerminator()->getOperands();
    llvm::DenseSet<std::pair<llvm::StringRef, Value>> listed;
    for (auto [index, result] : llvm::enumerate(lookup(outputs))) {
      llvm::StringRef name = nameOfInfo(graph.getInfo().getOutputs()[index]);
      // Models may list an output twice; it is one.
      if (!listed.insert({name, outputs[index]}).second)
        continue;
      if (!result) {
        error(graph.getLoc()) << "output '" << name
                              << "' is not computed by any node that converts";
        return;
      }
      checkDeclared(graph.getInfo().getOutputs()[index], result, outputs[index].getLoc());
      results.push_back(result);
      resultAttrs.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(name))));
    }
  }
  if (purpose != Purpose::Inference)
    addStatistics(results, resultAttrs);
  if (purpose != Purpose::ModelEvaluation)
    addHoles(results, resultAttrs);
  if (hasModelStep)
    classifyStates();
  func::ReturnOp::create(builder, graph.getLoc(), results);
  recordLookups();
  removeDead();
  function.setType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
}

/// Says of how many rows an input's elements are indices, so that the runtime can check
/// what it is given.
static void noteLookups(ModuleOp module, const llvm::StringMap<int64_t> &rows) {
  if (rows.empty())
    return;
  Builder builder(module.getContext());
  NamedAttrList entries;
  if (auto old = module->getAttrOfType<DictionaryAttr>(nn::kMetadataAttr))
    entries.append(old.getValue());
  for (const auto &entry : rows)
    entries.set((runtime::metadata::kLookupPrefix + entry.getKey()).str(),
                builder.getStringAttr(llvm::Twine(entry.second)));
  module->setAttr(nn::kMetadataAttr, entries.getDictionary(module.getContext()));
}

LogicalResult weft::onnx::convertOnnxToNn(ModuleOp module, const Bindings &bindings, bool training,
                                          uint64_t seed, bool modelStep, int64_t batchParts,
                                          bool keepWeights) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return success();
  using Purpose = GraphConverter::Purpose;
  SmallVector<func::FuncOp> made;
  llvm::StringMap<int64_t> lookups;
  auto convert = [&](Purpose purpose, bool *dependsOnTraining = nullptr) {
    GraphConverter converter(module, bindings, purpose, seed, modelStep, batchParts);
    converter.keepsWeights = keepWeights;
    made.push_back(converter.convert());
    for (const auto &entry : converter.lookups()) {
      int64_t &rows = lookups.try_emplace(entry.getKey(), entry.second).first->second;
      rows = std::min(rows, entry.second);
    }
    if (dependsOnTraining)
      *dependsOnTraining = converter.dependsOnTraining();
    return bool(made.back());
  };
  bool differs = false;
  bool complete = convert(training ? Purpose::Evaluation : Purpose::Inference, &differs);
  if (modelStep)
    complete = complete && convert(Purpose::ModelStep) && convert(Purpose::ModelEvaluation);
  else if (training && differs)
    complete = complete && convert(Purpose::Training);
  if (!complete) {
    for (func::FuncOp function : made)
      if (function)
        function.erase();
    return failure();
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<GraphOp, FunctionOp>(op))
      op.erase();
  module->removeAttr(OnnxDialect::kModelAttrName);
  noteLookups(module, lookups);
  return success();
}
