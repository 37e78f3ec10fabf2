// What a graph starts from: inputs, and initializers as state or constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/GraphConverter.h"

#include "dialects/onnx/IR/TensorData.h"
#include "weft/Support/Nearest.h"
#include "weft/runtime/Metadata.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Integer tensors above this many bytes are state, not constants.
static constexpr int64_t kMaxIntegerConstant = int64_t(16) << 20;

std::optional<RankedTensorType> GraphConverter::bindType(llvm::StringRef name, Type declared,
                                                         Location loc) {
  auto type = dyn_cast<RankedTensorType>(declared);
  if (!type) {
    error(loc) << "input '" << name << "' has type " << declared
               << ", but only tensors of known tensor rank are compiled";
    return std::nullopt;
  }
  if (!isComputable(type.getElementType())) {
    error(loc) << "input '" << name << "' has element type " << type.getElementType()
               << ", which is not supported";
    return std::nullopt;
  }
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  SmallVector<int64_t> shape(type.getShape());
  bool bound = true;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    auto symbol = dims ? dyn_cast<StringAttr>(dims.getNames()[dim]) : StringAttr();
    if (symbol && symbol.empty())
      symbol = {};
    std::string place = (name + "[" + llvm::Twine(dim) + "]").str();
    bindable.insert(place);
    if (symbol)
      bindable.insert(symbol.str());
    auto found = extents.find(place);
    if (found == extents.end() && symbol)
      found = extents.find(symbol.getValue());
    if (found != extents.end() && !ShapedType::isDynamic(extent)) {
      if (found->second.extent != extent)
        error(loc) << found->second.source << ", but dimension " << dim << " of input '" << name
                   << "' is " << extent << " in the model";
      continue;
    }
    if (!ShapedType::isDynamic(extent))
      continue;
    if (found != extents.end()) {
      extent = found->second.extent;
      continue;
    }
    bound = false;
    std::string flag = symbol ? symbol.str() : place;
    error(loc) << "dimension " << dim << " of input '" << name << "' "
               << (symbol ? "('" + symbol.str() + "') " : "")
               << "is not bound; give its extent with --bind '" << flag << "=N'";
  }
  if (!bound)
    return std::nullopt;
  if (!countElements(shape)) {
    error(loc) << "input '" << name << "' " << describeExcess(shape);
    return std::nullopt;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

void GraphConverter::addInput(llvm::StringRef name, BlockArgument argument, Location loc) {
  std::optional<RankedTensorType> type = bindType(name, argument.getType(), loc);
  if (!type)
    return;
  NamedAttrList attributes;
  attributes.set(nn::kNameAttr, builder.getStringAttr(name));
  // The names of symbolic dims tell the sharding passes which dim is the batch.
  if (auto dims =
          dyn_cast_or_null<DimsAttr>(cast<RankedTensorType>(argument.getType()).getEncoding()))
    if (llvm::any_of(dims.getNames(), llvm::IsaPred<StringAttr>)) {
      SmallVector<Attribute> names;
      for (Attribute entry : dims.getNames())
        names.push_back(isa<StringAttr>(entry) ? entry : builder.getStringAttr(""));
      attributes.set(nn::kDimsAttr, builder.getArrayAttr(names));
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
      mlir::failed(verifyCompatibleShape(declared.getShape(), given.getShape()))) {
    error(loc) << "input '" << name << "' has type " << argument.getType()
               << ", but the array bound to it has " << given;
    return;
  }
  b.loc = loc;
  values[argument] = b.constant(tensor);
}

void GraphConverter::deriveDims(Block &block, GraphAttr info) {
  for (auto [argument, entry] :
       llvm::zip_equal(block.getArguments(), info.getInputs() ? info.getInputs().getValue()
                                                              : llvm::ArrayRef<Attribute>())) {
    llvm::StringRef name = nameOfInfo(entry);
    auto given = bindings.inputs.find(name);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto dims = type ? dyn_cast_or_null<DimsAttr>(type.getEncoding()) : nullptr;
    if (given == bindings.inputs.end() || !dims ||
        given->second.shape.size() != dims.getNames().size())
      continue;
    for (auto [dim, symbol] : llvm::enumerate(dims.getNames())) {
      auto text = dyn_cast<StringAttr>(symbol);
      if (!text || text.empty())
        continue;
      bindable.insert(text.str());
      int64_t size = given->second.shape[dim];
      std::string source =
          ("--bind " + name + "=@FILE makes '" + text.getValue() + "' " + llvm::Twine(size)).str();
      auto [known, isNew] = extents.try_emplace(text.getValue(), Extent{size, source});
      if (known->second.extent != size)
        error(module.getLoc()) << known->second.source << ", but " << source << " (dimension "
                               << dim << " of the array)";
    }
  }
}

/// Names that mean nothing are misspelt.
void GraphConverter::checkBindings(Location loc) {
  SmallVector<llvm::StringRef> unknown;
  for (const auto &[name, extent] : bindings.dims)
    if (bindable.count(name) == 0)
      unknown.push_back(name);
  std::vector<std::string> all(bindable.begin(), bindable.end()), symbols;
  for (const std::string &known : all)
    if (!llvm::StringRef(known).ends_with("]"))
      symbols.push_back(known);
  for (llvm::StringRef name : unknown)
    error(loc) << "--bind names dimension '" << name
               << "', which no input of the model has; it has " << listNames(symbols)
               << didYouMean(name, all);
}

std::string GraphConverter::sourceOf(int64_t extent) const {
  // Where several dims have it, none is known to be the one that matters.
  std::string source;
  for (const auto &entry : extents)
    if (entry.second.extent == extent) {
      if (!source.empty())
        return "";
      source = entry.second.source;
    }
  return source;
}

/// The ops of `block` that what it returns needs.
static llvm::DenseSet<Operation *> findLive(Block &block) {
  llvm::DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(block))
    if (!wouldOpBeTriviallyDead(&op) || llvm::any_of(op.getUsers(), [&](Operation *user) {
          return live.contains(block.findAncestorOpInBlock(*user));
        }))
      live.insert(&op);
  return live;
}

/// The value of which all elements are `value`'s, but for the width of their integers.
static Value sourceOfIds(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto isInteger = [](Value ids) { return getElementTypeOrSelf(ids).isIntOrIndex(); };
    if (!isa<nn::ReshapeOp>(op) && !(isa<nn::CastOp>(op) && isInteger(op->getOperand(0))))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// An input that goes into a lookup, in other shape or width perhaps, can be checked before it
/// does. What nobody looks up may be anything.
void GraphConverter::recordLookups() {
  llvm::DenseSet<Operation *> live = findLive(function.front());
  auto isLive = [&](Operation *op) { return live.contains(op); };
  for (auto [value, wrapped, rows] : b.lookups) {
    auto argument = dyn_cast<BlockArgument>(sourceOfIds(value));
    if (!argument || argument.getOwner() != &function.front() ||
        argument.getArgNumber() >= numInputs || llvm::none_of(wrapped.getUsers(), isLive))
      continue;
    auto name = cast<StringAttr>(argumentAttrs[argument.getArgNumber()].get(nn::kNameAttr));
    int64_t &least = lookedUp.try_emplace(name.getValue(), rows).first->second;
    least = std::min(least, rows);
  }
}

void GraphConverter::addInputs(Block &block, GraphAttr info, Location loc,
                               const llvm::StringMap<bool> &initialized,
                               llvm::StringMap<bool> &inputs) {
  for (auto [argument, entry] :
       llvm::zip_equal(block.getArguments(), info.getInputs() ? info.getInputs().getValue()
                                                              : llvm::ArrayRef<Attribute>())) {
    llvm::StringRef name = nameOfInfo(entry);
    inputs[name] = true;
    Location place = NameLoc::get(builder.getStringAttr(name), loc);
    auto given = bindings.inputs.find(name);
    // The initializer is the value that every exporter means.
    if (initialized.contains(name)) {
      if (given != bindings.inputs.end())
        error(place)
            << "input '" << name
            << "' has a value in the model, an initializer, which --bind does not replace; "
               "take it out of the model's inputs or its initializers";
      continue;
    }
    if (given != bindings.inputs.end())
      bindInput(name, given->second, argument, place);
    else
      addInput(name, argument, place);
  }
}

void GraphConverter::convertInputs(GraphOp graph) {
  llvm::StringMap<bool> initialized, inputs;
  auto noteInitializers = [&](Block &block) {
    for (auto initializer : block.getOps<InitializerOp>())
      if (StringAttr name = initializer.getValue().getName())
        initialized[name.getValue()] = true;
  };
  noteInitializers(graph.getBody().front());
  for (const auto &[name, extent] : bindings.dims)
    extents.try_emplace(name,
                        Extent{extent, "--bind makes '" + name + "' " + std::to_string(extent)});
  deriveDims(graph.getBody().front(), graph.getInfo());
  addInputs(graph.getBody().front(), graph.getInfo(), graph.getLoc(), initialized, inputs);
  for (auto info : graph.getBody().getOps<TrainingInfoOp>())
    if (Block *body = hasModelStep ? algorithmOf(info) : nullptr) {
      noteInitializers(*body);
      deriveDims(*body, info.getAlgorithmAttr());
      // The forward pass has no such inputs, but they are no misspelt names.
      if (isOfModel())
        addInputs(*body, info.getAlgorithmAttr(), info.getLoc(), initialized, inputs);
      else if (ArrayAttr list = info.getAlgorithmAttr().getInputs())
        for (Attribute entry : list)
          inputs[nameOfInfo(entry)] = true;
    }
  std::vector<std::string> known;
  for (const auto &entry : inputs)
    known.push_back(entry.getKey().str());
  llvm::sort(known);
  for (const auto &entry : bindings.inputs)
    if (!inputs.contains(entry.getKey()))
      error(graph.getLoc()) << "--bind names input '" << entry.getKey()
                            << "', which the model does not have; it has " << listNames(known)
                            << didYouMean(entry.getKey(), known);
  // What only the training graph names means something to its passes.
  if (!hasModelStep || isOfModel())
    checkBindings(graph.getLoc());
}

/// Its own; functions that are inlined and training graphs may use a name again.
StringAttr GraphConverter::stateName(llvm::StringRef name) {
  std::string unique = name.str();
  for (unsigned count = 2; !stateNames.insert(unique).second; ++count)
    unique = (name + "." + llvm::Twine(count)).str();
  return builder.getStringAttr(unique);
}

Value GraphConverter::addState(TensorAttr tensor, llvm::StringRef name, Location loc) {
  auto data = cast<DataAttr>(tensor.getData());
  llvm::StringRef file = data.getFile().getValue();
  // Sources are relative to the model's folder, payloads to the working one.
  if (auto position = module.getLoc()->findInstanceOf<FileLineColLoc>()) {
    llvm::StringRef folder = llvm::sys::path::parent_path(position.getFilename().getValue());
    if (!folder.empty() && file.starts_with(folder))
      file = file.drop_front(folder.size()).ltrim('/');
  }
  NamedAttrList attributes;
  attributes.set(nn::kNameAttr, stateName(name));
  attributes.set(nn::kSourceAttr, nn::SourceAttr::get(builder.getContext(), file, data.getOffset(),
                                                      data.getLength(), 0));
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
  argumentAttrs.push_back(
      builder.getDictionaryAttr({builder.getNamedAttr(nn::kNameAttr, stateName(name)),
                                 builder.getNamedAttr(nn::kInitialAttr, value)}));
  BlockArgument argument = function.front().addArgument(value.getType(), loc);
  states[argument] = tensor;
  return argument;
}

Value GraphConverter::stepCounter() {
  for (auto [i, attributes] : llvm::enumerate(argumentAttrs))
    if (attributes.get(nn::kNameAttr) == builder.getStringAttr(runtime::kStepState))
      return function.front().getArgument(i);
  argumentAttrs.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(runtime::kStepState)),
       builder.getNamedAttr(nn::kInitialAttr, builder.getI64IntegerAttr(0)),
       builder.getNamedAttr(nn::kClassAttr, builder.getStringAttr("optimizer"))}));
  return function.front().addArgument(
      RankedTensorType::get({}, builder.getI64Type()),
      NameLoc::get(builder.getStringAttr(runtime::kStepState), function.getLoc()));
}

Value GraphConverter::materialize(TensorAttr tensor, llvm::StringRef name, bool quantized,
                                  bool isInitializer, Location loc) {
  RankedTensorType type = tensor.getType();
  if (!isComputable(type.getElementType()) || !type.hasStaticShape()) {
    error(loc) << "tensor '" << name << "' has type " << type << ", which is not supported";
    return Value();
  }
  if (!hasBoundedSize(type)) {
    error(loc) << "tensor '" << name << "' " << describeExcess(type.getShape());
    return Value();
  }
  // Weights stay where they are. Integers are indices, masks and shapes that
  // folding needs, unless they are quantised weights. One number is a constant.
  bool weight = isa<FloatType>(type.getElementType())
                    ? type.getNumElements() > 1
                    : quantized || getStoredBytes(type).value_or(0) > kMaxIntegerConstant;
  bool trainable = (purpose != Purpose::Inference || keepsWeights) && isInitializer &&
                   isa<FloatType>(type.getElementType());
  if ((weight || trainable) && isPlainFileData(tensor)) {
    Value state = addState(tensor, name, loc);
    if (!trainable)
      b.statistics.push_back(state);
    return state;
  }
  auto bytes = readTensor(tensor, [&] { return error(loc) << "tensor '" << name << "' "; });
  if (mlir::failed(bytes))
    return Value();
  DenseElementsAttr value =
      decode(RankedTensorType::get(type.getShape(), type.getElementType()), *bytes);
  if (trainable)
    return addEmbeddedState(tensor, name, value, loc);
  b.loc = loc;
  return b.constant(value);
}

DenseElementsAttr GraphConverter::decode(RankedTensorType type, llvm::ArrayRef<char> bytes) {
  constexpr size_t kWorthKeeping = 1 << 12;
  if (bytes.size() < kWorthKeeping)
    return toElementsAttr(decodeHostTensor(type, bytes));
  Decoded &last = decoded[type];
  if (llvm::ArrayRef<char>(last.bytes) != bytes) {
    last.bytes.assign(bytes.begin(), bytes.end());
    last.value = toElementsAttr(decodeHostTensor(type, bytes));
  }
  return last.value;
}

bool weft::onnx::feedsQuantized(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto node = dyn_cast<NodeOp>(user);
    return node && (node.getOpType() == "DequantizeLinear" || node.getOpType() == "MatMulInteger" ||
                    node.getOpType() == "ConvInteger" || node.getOpType().starts_with("QLinear"));
  });
}

/// What it is when the program starts: state or a constant.
Value GraphConverter::initialValue(InitializerOp initializer) {
  TensorAttr tensor = initializer.getValue();
  llvm::StringRef name = tensor.getName() ? tensor.getName().getValue() : llvm::StringRef();
  Location loc = NameLoc::get(builder.getStringAttr(name), initializer.getLoc());
  auto found = bound.find(initializer);
  // Nothing but bindings changes what a training graph holds.
  bool isWeight = !isa<TrainingInfoOp>(initializer->getParentOp()) && !notes.isConstant(name);
  if (found == bound.end())
    return materialize(tensor, name, feedsQuantized(initializer), isWeight, loc);
  if (auto given = initialValues.find(initializer); given != initialValues.end())
    return found->second = addEmbeddedState(tensor, name, toElementsAttr(given->second), loc);
  // Its bytes are not what it is in later steps, so nothing may fold them.
  if (!isComputable(tensor.getType().getElementType()))
    return materialize(tensor, name, false, true, loc);
  Value state;
  if (isPlainFileData(tensor)) {
    state = addState(tensor, name, loc);
  } else if (auto bytes = readTensor(tensor, [&] { return error(loc); }); succeeded(bytes)) {
    RankedTensorType type = tensor.getType();
    HostTensor value =
        decodeHostTensor(RankedTensorType::get(type.getShape(), type.getElementType()), *bytes);
    state = addEmbeddedState(tensor, name, toElementsAttr(value), loc);
  }
  if (state)
    states.erase(cast<BlockArgument>(state));
  return found->second = state;
}
