// The walk: inputs, initializers, nodes, calls of functions, constant branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/GraphConverter.h"

#include "dialects/onnx/IR/TensorData.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Calls of functions inside functions; the standard forbids recursion, a
/// hostile file may still have it.
static constexpr unsigned kMaxCallDepth = 64;
/// Nodes after inlining; a small file of nested calls can mean any number.
static constexpr size_t kMaxNodes = 4'000'000;
/// Integer tensors above this many bytes are state, not constants.
static constexpr int64_t kMaxIntegerConstant = int64_t(16) << 20;

GraphConverter::GraphConverter(ModuleOp module, const Bindings &bindings,
                               Purpose purpose, uint64_t seed)
    : module(module), bindings(bindings), purpose(purpose),
      builder(module.getContext()), b(builder, module.getLoc()) {
  b.seed = seed;
  if (purpose != Purpose::Inference)
    b.training = purpose == Purpose::Training;
  if (purpose == Purpose::Training)
    b.stepCounter = [this] { return stepCounter(); };
  b.readArgument = [this](BlockArgument argument) -> std::optional<HostTensor> {
    auto found = states.find(argument);
    if (found == states.end())
      return std::nullopt;
    RankedTensorType type = found->second.getType();
    if (type.getNumElements() > (int64_t(1) << 22))
      return std::nullopt;
    auto bytes =
        readTensor(found->second, [&] { return error(argument.getLoc()); });
    if (mlir::failed(bytes))
      return std::nullopt;
    return decodeHostTensor(type, *bytes);
  };
}

InFlightDiagnostic GraphConverter::error(Location loc) {
  failed = true;
  return emitError(loc);
}

func::FuncOp GraphConverter::convert() {
  GraphOp graph = getMainGraph(module);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  bool isTraining = purpose == Purpose::Training;
  function = func::FuncOp::create(
      builder, graph.getLoc(),
      isTraining ? llvm::StringRef(kTrainingForward) : "forward",
      builder.getFunctionType({}, {}));
  if (isTraining)
    function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  convertInputs(graph);
  convertBlock(graph.getBody().front(), Scope());
  if (!failed)
    finish(graph);
  if (!failed)
    return function;
  function.erase();
  return func::FuncOp();
}

//===----------------------------------------------------------------------===//
// Inputs and initializers
//===----------------------------------------------------------------------===//

static llvm::StringRef nameOf(Attribute info) {
  auto value = dyn_cast<ValueInfoAttr>(info);
  return value && value.getName() ? value.getName().getValue()
                                  : llvm::StringRef();
}

static bool isComputable(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return element.isF64() || element.isF32() || element.isF16() ||
         element.isBF16();
}

std::optional<RankedTensorType>
GraphConverter::bindType(llvm::StringRef name, Type declared, Location loc) {
  auto type = dyn_cast<RankedTensorType>(declared);
  if (!type) {
    error(loc) << "input '" << name << "' has type " << declared
               << ", but only tensors of known tensor rank are compiled";
    return std::nullopt;
  }
  if (!isComputable(type.getElementType())) {
    error(loc) << "input '" << name << "' has element type "
               << type.getElementType() << ", which is not supported";
    return std::nullopt;
  }
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  SmallVector<int64_t> shape(type.getShape());
  bool bound = true;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    auto symbol =
        dims ? dyn_cast<StringAttr>(dims.getNames()[dim]) : StringAttr();
    std::string place = (name + "[" + llvm::Twine(dim) + "]").str();
    auto found = bindings.dims.find(place);
    if (found == bindings.dims.end() && symbol)
      found = bindings.dims.find(symbol.getValue());
    if (found != bindings.dims.end()) {
      extent = found->second;
      continue;
    }
    bound = false;
    std::string flag = symbol ? symbol.str() : place;
    error(loc) << "dimension " << dim << " of input '" << name << "' "
               << (symbol ? "('" + symbol.str() + "') " : "")
               << "is not bound; give its extent with --bind '" << flag
               << "=N'";
  }
  if (!bound)
    return std::nullopt;
  return RankedTensorType::get(shape, type.getElementType());
}

void GraphConverter::addInput(llvm::StringRef name, BlockArgument argument,
                              Location loc) {
  std::optional<RankedTensorType> type =
      bindType(name, argument.getType(), loc);
  if (!type)
    return;
  NamedAttrList attributes;
  attributes.set(nn::kNameAttr, builder.getStringAttr(name));
  // The names of symbolic dims tell the sharding passes which dim is the batch.
  if (auto dims = dyn_cast_or_null<DimsAttr>(
          cast<RankedTensorType>(argument.getType()).getEncoding()))
    if (llvm::any_of(dims.getNames(), llvm::IsaPred<StringAttr>)) {
      SmallVector<Attribute> names;
      for (Attribute entry : dims.getNames())
        names.push_back(isa<StringAttr>(entry) ? entry
                                               : builder.getStringAttr(""));
      attributes.set("nn.dims", builder.getArrayAttr(names));
    }
  argumentAttrs.push_back(attributes.getDictionary(builder.getContext()));
  values[argument] = function.front().addArgument(*type, loc);
  ++numInputs;
}

void GraphConverter::bindInput(llvm::StringRef name, const HostTensor &tensor,
                               BlockArgument argument, Location loc) {
  auto declared = dyn_cast<RankedTensorType>(argument.getType());
  auto given = RankedTensorType::get(tensor.shape, tensor.elementType);
  if (!declared || declared.getElementType() != given.getElementType() ||
      mlir::failed(
          verifyCompatibleShape(declared.getShape(), given.getShape()))) {
    error(loc) << "input '" << name << "' has type " << argument.getType()
               << ", but the array bound to it has " << given;
    return;
  }
  b.loc = loc;
  values[argument] = b.constant(tensor);
}

void GraphConverter::convertInputs(GraphOp graph) {
  llvm::StringMap<bool> initialized;
  for (auto initializer : graph.getBody().getOps<InitializerOp>())
    if (StringAttr name = initializer.getValue().getName())
      initialized[name.getValue()] = true;
  llvm::StringMap<bool> names;
  for (auto [argument, info] : llvm::zip_equal(
           graph.getBody().getArguments(),
           graph.getInfo().getInputs() ? graph.getInfo().getInputs().getValue()
                                       : llvm::ArrayRef<Attribute>())) {
    llvm::StringRef name = nameOf(info);
    names[name] = true;
    Location loc = NameLoc::get(builder.getStringAttr(name), graph.getLoc());
    // The initializer is the value that every exporter means.
    if (initialized.contains(name))
      continue;
    auto bound = bindings.inputs.find(name);
    if (bound != bindings.inputs.end())
      bindInput(name, bound->second, argument, loc);
    else
      addInput(name, argument, loc);
  }
  for (const auto &entry : bindings.inputs)
    if (!names.contains(entry.getKey()))
      error(graph.getLoc()) << "--bind names input '" << entry.getKey()
                            << "', which the model does not have";
}

Value GraphConverter::addState(TensorAttr tensor, llvm::StringRef name,
                               Location loc) {
  auto data = cast<DataAttr>(tensor.getData());
  llvm::StringRef file = data.getFile().getValue();
  // Sources are relative to the model's folder, payloads to the working one.
  if (auto position = module.getLoc()->findInstanceOf<FileLineColLoc>()) {
    llvm::StringRef folder =
        llvm::sys::path::parent_path(position.getFilename().getValue());
    if (!folder.empty() && file.starts_with(folder))
      file = file.drop_front(folder.size()).ltrim('/');
  }
  NamedAttrList attributes;
  attributes.set(nn::kNameAttr, builder.getStringAttr(name));
  attributes.set(nn::kSourceAttr,
                 nn::SourceAttr::get(builder.getContext(), file,
                                     data.getOffset(), data.getLength(), 0));
  argumentAttrs.push_back(attributes.getDictionary(builder.getContext()));
  RankedTensorType type = tensor.getType();
  BlockArgument argument = function.front().addArgument(
      RankedTensorType::get(type.getShape(), type.getElementType()), loc);
  states[argument] = tensor;
  return argument;
}

/// State whose bytes are no plain part of a file (typed fields, for one) starts
/// at a value that the program holds.
Value GraphConverter::addEmbeddedState(TensorAttr tensor, llvm::StringRef name,
                                       DenseElementsAttr value, Location loc) {
  argumentAttrs.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(name)),
       builder.getNamedAttr(nn::kInitialAttr, value)}));
  BlockArgument argument = function.front().addArgument(value.getType(), loc);
  states[argument] = tensor;
  return argument;
}

Value GraphConverter::stepCounter() {
  for (auto [i, attributes] : llvm::enumerate(argumentAttrs))
    if (attributes.get(nn::kNameAttr) == builder.getStringAttr(kStepState))
      return function.front().getArgument(i);
  argumentAttrs.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(kStepState)),
       builder.getNamedAttr(nn::kInitialAttr, builder.getI64IntegerAttr(0)),
       builder.getNamedAttr(nn::kClassAttr,
                            builder.getStringAttr("optimizer"))}));
  return function.front().addArgument(
      RankedTensorType::get({}, builder.getI64Type()),
      NameLoc::get(builder.getStringAttr(kStepState), function.getLoc()));
}

Value GraphConverter::materialize(TensorAttr tensor, llvm::StringRef name,
                                  bool quantized, bool isInitializer,
                                  Location loc) {
  RankedTensorType type = tensor.getType();
  if (!isComputable(type.getElementType()) || !type.hasStaticShape()) {
    error(loc) << "tensor '" << name << "' has type " << type
               << ", which is not supported";
    return Value();
  }
  // Weights stay where they are. Integers are indices, masks and shapes that
  // folding needs, unless they are quantised weights. One number is a constant.
  bool weight =
      isa<FloatType>(type.getElementType())
          ? type.getNumElements() > 1
          : quantized || getStoredBytes(type).value_or(0) > kMaxIntegerConstant;
  bool trainable = purpose != Purpose::Inference && isInitializer &&
                   isa<FloatType>(type.getElementType());
  if ((weight || trainable) && isPlainFileData(tensor)) {
    Value state = addState(tensor, name, loc);
    if (!trainable)
      b.statistics.push_back(state);
    return state;
  }
  auto bytes = readTensor(
      tensor, [&] { return error(loc) << "tensor '" << name << "' "; });
  if (mlir::failed(bytes))
    return Value();
  HostTensor value = decodeHostTensor(
      RankedTensorType::get(type.getShape(), type.getElementType()), *bytes);
  if (trainable)
    return addEmbeddedState(tensor, name, toElementsAttr(value), loc);
  b.loc = loc;
  return b.constant(value);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static bool feedsQuantized(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto node = dyn_cast<NodeOp>(user);
    return node && (node.getOpType() == "DequantizeLinear" ||
                    node.getOpType() == "MatMulInteger" ||
                    node.getOpType() == "ConvInteger" ||
                    node.getOpType().starts_with("QLinear"));
  });
}

void GraphConverter::convertBlock(Block &block, const Scope &scope) {
  for (Operation &op : block) {
    if (auto node = dyn_cast<NodeOp>(op)) {
      if (++numNodes <= kMaxNodes) {
        convertNode(node, scope);
        continue;
      }
      if (numNodes == kMaxNodes + 1)
        error(node.getLoc()) << "the model has more than " << kMaxNodes
                             << " nodes once its functions are inlined";
      return;
    }
    if (auto initializer = dyn_cast<InitializerOp>(op)) {
      if (initializer.use_empty())
        continue;
      StringAttr attr = initializer.getValue().getName();
      llvm::StringRef name = attr ? attr.getValue() : llvm::StringRef("");
      Location loc =
          NameLoc::get(builder.getStringAttr(name), initializer.getLoc());
      if (Value value = materialize(initializer.getValue(), name,
                                    feedsQuantized(initializer),
                                    /*isInitializer=*/true, loc))
        values[initializer.getResult()] = value;
      continue;
    }
    if (isa<SparseInitializerOp>(op) && !op.use_empty())
      error(op.getLoc())
          << "sparse initializers are not supported; store the tensor densely";
  }
}

std::optional<int64_t> GraphConverter::opsetOf(NodeOp node,
                                               const Scope &scope) {
  llvm::StringRef domain = node.getCanonicalDomain();
  if (scope.function)
    return FunctionOp(scope.function).getOpset(domain);
  ModelAttr model = getModel(module);
  return model ? model.getOpset(domain) : std::nullopt;
}

Location GraphConverter::locationOf(NodeOp node, const Scope &scope) {
  if (scope.prefix.empty())
    return node.getLoc();
  // Importers name a node by NameLoc(node, NameLoc(op type, place)).
  auto named = node.getLoc()->findInstanceOf<NameLoc>();
  return named
             ? NameLoc::get(
                   builder.getStringAttr(scope.prefix + named.getName().str()),
                   named.getChildLoc())
             : NameLoc::get(builder.getStringAttr(scope.prefix), node.getLoc());
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

void GraphConverter::setResults(NodeOp node, llvm::ArrayRef<Value> results,
                                Location loc) {
  for (auto [index, output] : llvm::enumerate(node.getResults())) {
    if (index < results.size() && results[index]) {
      values[output] = results[index];
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

void GraphConverter::convertNode(NodeOp node, const Scope &scope) {
  if (FunctionOp callee = lookupFunction(module, node))
    return convertCall(node, callee, scope);
  Location loc = locationOf(node, scope);
  std::optional<int64_t> opset = opsetOf(node, scope);
  if (!opset) {
    error(loc) << "no version of domain '" << node.getCanonicalDomain()
               << "' is imported, which operator '" << node.getOpType()
               << "' needs";
    return;
  }
  b.loc = loc;
  if (node.getCanonicalDomain().empty() && node.getOpType() == "If")
    return convertIf(node, scope);
  std::string problem;
  const Handler *handler = Registry::get().find(
      node.getCanonicalDomain(), node.getOpType(), *opset, problem);
  if (!handler) {
    error(loc) << problem;
    return;
  }
  if (node.getCanonicalDomain().empty() && node.getOpType() == "Constant")
    if (auto value = dyn_cast_or_null<TensorAttr>(
            node.getAttribute("value") ? node.getAttribute("value").getValue()
                                       : Attribute())) {
      if (Value constant = materialize(value, node.getOutputName(0),
                                       feedsQuantized(node.getResult(0)),
                                       /*isInitializer=*/false, loc))
        values[node.getResult(0)] = constant;
      return;
    }
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return; // what makes an input has failed already
  NodeContext context(b, node, *opset, scope.attributes, inputs);
  setResults(node, (*handler)(context), loc);
}

void GraphConverter::convertCall(NodeOp node, FunctionOp callee,
                                 const Scope &scope) {
  Location loc = locationOf(node, scope);
  if (scope.depth >= kMaxCallDepth) {
    error(loc) << "function '" << node.getOpType()
               << "' is called through more than " << kMaxCallDepth
               << " other calls; recursion is not allowed";
    return;
  }
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return;
  AttributeScope attributes;
  NodeContext context(b, node, 1, scope.attributes, inputs);
  auto bind = [&](llvm::StringRef name, AttributeAttr otherwise) {
    AttributeAttr given = context.attribute(name);
    if (given || otherwise)
      attributes[name] = given ? given : otherwise;
  };
  if (ArrayAttr names = callee.getPlainAttributesAttr())
    for (auto name : names.getAsRange<StringAttr>())
      bind(name.getValue(), AttributeAttr());
  if (ArrayAttr defaults = callee.getOnnxAttributesAttr())
    for (auto entry : defaults.getAsRange<AttributeAttr>())
      if (entry.getName())
        bind(entry.getName().getValue(), entry);
  Block &body = callee.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    bool given = argument.getArgNumber() < inputs.size() &&
                 inputs[argument.getArgNumber()];
    values[argument] = given ? inputs[argument.getArgNumber()] : Value();
    given ? (void)absent.erase(argument) : (void)absent.insert(argument);
  }
  Scope inner{callee, &attributes, scope.prefix, scope.depth + 1};
  if (auto named = node.getLoc()->findInstanceOf<NameLoc>())
    inner.prefix += named.getName().str();
  inner.prefix += "/";
  convertBlock(body, inner);
  SmallVector<Value> results = lookup(body.getTerminator()->getOperands());
  for (auto [index, output] : llvm::enumerate(node.getResults()))
    if (index < results.size() && results[index])
      values[output] = results[index];
}

void GraphConverter::convertIf(NodeOp node, const Scope &scope) {
  Location loc = locationOf(node, scope);
  SmallVector<Value> inputs = lookup(node.getInputs());
  if (inputs.empty() || !inputs[0])
    return;
  auto branch = [&](llvm::StringRef name) -> std::optional<SmallVector<Value>> {
    Region *region = node.getGraphRegion(name);
    if (!region || region->empty()) {
      error(loc) << "'If' lacks its graph '" << name << "'";
      return std::nullopt;
    }
    convertBlock(region->front(), scope);
    SmallVector<Value> results =
        lookup(region->front().getTerminator()->getOperands());
    return llvm::is_contained(results, Value()) ? std::nullopt
                                                : std::optional(results);
  };
  if (std::optional<HostTensor> condition = b.known(inputs[0])) {
    bool taken = !condition->integers.empty() && condition->integers[0];
    if (auto results = branch(taken ? "then_branch" : "else_branch"))
      setResults(node, *results, loc);
    return;
  }
  // Graphs have no effects, so both branches may run and one result be chosen.
  auto onTrue = branch("then_branch"), onFalse = branch("else_branch");
  if (!onTrue || !onFalse || onTrue->size() != onFalse->size())
    return;
  b.loc = loc;
  SmallVector<Value> chosen;
  for (auto [x, y] : llvm::zip_equal(*onTrue, *onFalse)) {
    if (x.getType() != y.getType()) {
      error(loc) << "the branches of 'If' make " << x.getType() << " and "
                 << y.getType()
                 << "; with a condition that is not known at compile time they "
                    "must agree";
      return;
    }
    chosen.push_back(b.select(b.reshape(inputs[0], {}), x, y));
  }
  setResults(node, chosen, loc);
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void GraphConverter::removeDead() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  // Weights that only fed what was folded need not be loaded.
  for (unsigned i = function.front().getNumArguments(); i-- > numInputs;)
    if (function.front().getArgument(i).use_empty()) {
      function.front().eraseArgument(i);
      argumentAttrs.erase(argumentAttrs.begin() + i);
    }
}

/// Marks state that is not trained; a training pass returns what it becomes.
void GraphConverter::addStatistics(SmallVectorImpl<Value> &results,
                                   SmallVectorImpl<DictionaryAttr> &attrs) {
  auto set = [&](DictionaryAttr &attributes, StringRef name, Attribute value) {
    NamedAttrList list(attributes);
    list.set(name, value);
    attributes = list.getDictionary(builder.getContext());
  };
  for (Value statistic : b.statistics) {
    unsigned number = cast<BlockArgument>(statistic).getArgNumber();
    // Whoever feeds the statistics by hand has an input there.
    if (number >= numInputs)
      set(argumentAttrs[number], nn::kStatisticAttr, builder.getUnitAttr());
  }
  if (purpose != Purpose::Training)
    return;
  for (auto [old, now] : b.updates) {
    unsigned number = cast<BlockArgument>(old).getArgNumber();
    if (number < numInputs)
      continue;
    results.push_back(now);
    set(attrs.emplace_back(builder.getDictionaryAttr({})), nn::kUpdatesAttr,
        argumentAttrs[number].get(nn::kNameAttr));
  }
}

void GraphConverter::finish(GraphOp graph) {
  Operation *yield = graph.getBody().front().getTerminator();
  SmallVector<Value> results = lookup(yield->getOperands());
  SmallVector<DictionaryAttr> resultAttrs;
  for (auto [index, result] : llvm::enumerate(results)) {
    llvm::StringRef name = nameOf(graph.getInfo().getOutputs()[index]);
    if (!result) {
      error(graph.getLoc()) << "output '" << name
                            << "' is not computed by any node that converts";
      return;
    }
    resultAttrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(name))));
  }
  if (purpose != Purpose::Inference)
    addStatistics(results, resultAttrs);
  func::ReturnOp::create(builder, graph.getLoc(), results);
  removeDead();
  function.setType(builder.getFunctionType(function.front().getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
}

LogicalResult weft::onnx::convertOnnxToNn(ModuleOp module,
                                          const Bindings &bindings,
                                          bool training, uint64_t seed) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return success();
  using Purpose = GraphConverter::Purpose;
  GraphConverter converter(module, bindings,
                           training ? Purpose::Evaluation : Purpose::Inference);
  func::FuncOp forward = converter.convert();
  if (!forward)
    return failure();
  if (training && converter.dependsOnTraining() &&
      !GraphConverter(module, bindings, Purpose::Training, seed).convert()) {
    forward.erase();
    return failure();
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<GraphOp, FunctionOp>(op))
      op.erase();
  module->removeAttr(OnnxDialect::kModelAttrName);
  return success();
}
