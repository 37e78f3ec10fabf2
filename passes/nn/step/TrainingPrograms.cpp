// Composes loss, gradients, clipping and updates into programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/TrainingPrograms.h"

#include "dialects/nn/IR/NnGradient.h"
#include "passes/nn/step/Optimizers.h"
#include "weft/Support/Nearest.h"
#include "weft/runtime/Metadata.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::step;
using nn::Term;

/// Dynamic loss scaling as PyTorch's GradScaler does it.
static constexpr double kFirstScale = 65536, kGrowth = 2, kBackoff = 0.5;
/// Further than gradients of fp16 need: by the smallest one all vanish. From the largest one the 64
/// skipped steps that end training (Training.cpp) lead to 2^-32.
static constexpr double kLeastScale = 0x1p-64, kMostScale = 0x1p32;
static constexpr int64_t kGrowthInterval = 2000;
/// PyTorch's guard in clip_grad_norm_.
static constexpr double kClipEpsilon = 1e-6;

namespace {

/// Marks new ops with what they compute for.
struct RoleMarker : OpBuilder::Listener {
  StringAttr role;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (role)
      op->setAttr(nn::kRoleAttr, role);
  }
};

struct Parameter {
  BlockArgument value;
  std::string name;
  HyperParameters hyper;
  Value gradient;
  /// The copy that is updated, of a parameter in a small type.
  BlockArgument master;
  SmallVector<BlockArgument> slots;

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  /// The type in which it is updated.
  Type workType() const {
    Type element = type().getElementType();
    return element.getIntOrFloatBitWidth() < 32 ? Float32Type::get(element.getContext()) : element;
  }
};

/// Replaces what the function returns.
class Results {
public:
  void add(Value value, StringRef attribute, StringRef name) {
    values.push_back(value);
    Builder builder(value.getContext());
    attrs.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(attribute, builder.getStringAttr(name))));
  }
  void returnFrom(func::FuncOp function) {
    function.getBody().front().getTerminator()->setOperands(values);
    function.removeResAttrsAttr();
    function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                       TypeRange(ValueRange(values))));
    function.setAllResultAttrs(attrs);
  }

private:
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
};

class StepMaker {
public:
  StepMaker(func::FuncOp function, const TrainingSpec &spec)
      : function(function), spec(spec), builder(function.getContext(), &marker) {
    builder.setInsertionPoint(function.getBody().front().getTerminator());
  }

  FailureOr<Loss> make() {
    if (failed(collectParameters()))
      return failure();
    FailureOr<Loss> built = buildLoss(function, spec.loss);
    if (failed(built))
      return failure();
    loss = *built;
    warnOfSeenLabels(function, spec.loss, loss);
    warnOfOtherClasses(function, spec.loss, loss);
    addGlobalStates();
    Seed seed = buildSeed(function, spec.loss, loss, scale);
    if (failed(differentiateParameters(seed)))
      return failure();
    addSlots();
    marker.role = builder.getStringAttr(nn::kRoleOptimizer);
    buildNorm();
    updateAll();
    return loss;
  }

private:
  //===--- What is trained ------------------------------------------------===//

  bool isTrainable(unsigned i) {
    auto type = cast<RankedTensorType>(function.getArgument(i).getType());
    return nn::isParameter(function, i) && isa<FloatType>(type.getElementType());
  }

  LogicalResult collectParameters() {
    SmallVector<bool> used(spec.groups.size() + spec.freeze.size());
    SmallVector<bool> hasEffect(spec.groups.size());
    auto matches = [&](StringRef pattern, size_t index, StringRef name) {
      bool found = llvm::Regex(pattern).match(name);
      used[index] = used[index] || found;
      return found;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!isTrainable(i))
        continue;
      Parameter parameter;
      parameter.value = function.getArgument(i);
      parameter.name = function.getArgAttrOfType<StringAttr>(i, nn::kNameAttr).getValue().str();
      bool frozen = false;
      for (auto [k, pattern] : llvm::enumerate(spec.freeze))
        frozen |= matches(pattern, spec.groups.size() + k, parameter.name);
      parameter.hyper = spec.optimizer.hyper;
      bool grouped = false;
      for (auto [k, group] : llvm::enumerate(spec.groups))
        if (matches(group.pattern, k, parameter.name) && !std::exchange(grouped, true)) {
          parameter.hyper = refine(parameter.hyper, group);
          hasEffect[k] = hasEffect[k] || !frozen;
        }
      // Biases and the scales of norms are vectors.
      if (!parameter.hyper.decayAll && parameter.type().getRank() < 2)
        parameter.hyper.weightDecay = 0;
      if (!frozen)
        parameters.push_back(parameter);
    }
    for (auto [k, found] : llvm::enumerate(used))
      if (!found)
        return matchesNone(k < spec.groups.size() ? "--param-group" : "--freeze",
                           k < spec.groups.size() ? spec.groups[k].pattern
                                                  : spec.freeze[k - spec.groups.size()]);
    if (parameters.empty())
      return function.emitError() << "no weight is left to train";
    for (auto [k, group] : llvm::enumerate(spec.groups))
      if (!hasEffect[k])
        return function.emitError()
               << "--param-group '" << group.pattern
               << "' has no effect: each weight that it matches is frozen, or of a --param-group "
                  "before it, which holds";
    return success();
  }

  LogicalResult matchesNone(StringRef flag, StringRef pattern) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (isTrainable(i))
        names.push_back(function.getArgAttrOfType<StringAttr>(i, nn::kNameAttr).getValue().str());
    std::string near = didYouMeanByPattern(pattern, names);
    constexpr size_t kExamples = 3;
    if (near.empty())
      near = "; weights have names as " + listNames(ArrayRef(names).take_front(kExamples));
    return function.emitError() << flag << " '" << pattern << "' matches no weight" << near;
  }

  //===--- States ---------------------------------------------------------===//

  /// The place of ops that no node of the model stands for.
  Location named(const Twine &name) {
    return NameLoc::get(builder.getStringAttr(name), function.getLoc());
  }

  struct State {
    std::string name;
    Type type;
    NamedAttrList attributes;
  };
  State stateOf(const Twine &name, Type type, Attribute initial, StringRef of = "") {
    State state{name.str(), type, {}};
    state.attributes.set(nn::kInitialAttr, initial);
    if (!of.empty())
      state.attributes.set(nn::kOfAttr, builder.getStringAttr(of));
    return state;
  }
  /// In one go: each insertion writes the whole signature anew.
  ArrayRef<BlockArgument> addStates(MutableArrayRef<State> states) {
    unsigned at = function.getNumArguments();
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locations;
    for (State &state : states) {
      state.attributes.set(nn::kNameAttr, builder.getStringAttr(state.name));
      state.attributes.set(nn::kClassAttr, builder.getStringAttr("optimizer"));
      types.push_back(state.type);
      attributes.push_back(state.attributes.getDictionary(builder.getContext()));
      locations.push_back(named(state.name));
    }
    (void)function.insertArguments(SmallVector<unsigned>(states.size(), at), types, attributes,
                                   locations);
    return function.getArguments().drop_front(at);
  }
  BlockArgument addState(const Twine &name, Type type, Attribute initial) {
    State state = stateOf(name, type, initial);
    return addStates(state).front();
  }

  /// Small gradients of fp16 vanish unless the loss is scaled up.
  bool needsScaling() {
    if (spec.gradDtype == Precision::F16)
      return true;
    return function
        .walk([](Operation *op) {
          for (Type type : op->getResultTypes())
            if (getElementTypeOrSelf(type).isF16())
              return WalkResult::interrupt();
          return WalkResult::advance();
        })
        .wasInterrupted();
  }

  void addGlobalStates() {
    auto i64 = RankedTensorType::get({}, builder.getI64Type());
    // A forward pass with random numbers has it already.
    step = findArgument(function, runtime::kStepState);
    if (!step)
      step = addState(runtime::kStepState, i64, builder.getI64IntegerAttr(0));
    if (!needsScaling())
      return;
    auto type = cast<RankedTensorType>(loss.value.getType());
    scale = addState(runtime::kLossScaleState, type,
                     FloatAttr::get(type.getElementType(), kFirstScale));
    goodSteps = addState(runtime::kLossScaleStepsState, i64, builder.getI64IntegerAttr(0));
  }

  void addSlots() {
    auto hasMaster = [](Parameter &parameter) {
      return parameter.workType() != parameter.type().getElementType();
    };
    SmallVector<StringRef> slots = slotNames(spec.optimizer.kind);
    SmallVector<State> states;
    for (Parameter &parameter : parameters) {
      auto type = parameter.type().clone(parameter.workType());
      if (hasMaster(parameter))
        states.push_back(masterOf(parameter, type));
      for (StringRef slot : slots)
        states.push_back(stateOf(parameter.name + "#" + slot, type,
                                 FloatAttr::get(type.getElementType(), 0.0), parameter.name));
    }
    ArrayRef<BlockArgument> made = addStates(states);
    for (Parameter &parameter : parameters) {
      if (hasMaster(parameter)) {
        parameter.master = made.front();
        made = made.drop_front();
      }
      llvm::append_range(parameter.slots, made.take_front(slots.size()));
      made = made.drop_front(slots.size());
    }
  }

  /// Starts at the parameter's bytes in their own precision.
  State masterOf(const Parameter &parameter, RankedTensorType type) {
    unsigned number = parameter.value.getArgNumber();
    State master{parameter.name + runtime::kMasterSuffix, type, {}};
    NamedAttrList &attributes = master.attributes;
    for (StringRef name : {nn::kSourceAttr, nn::kSourceTypeAttr, nn::kInitialAttr})
      if (Attribute value = function.getArgAttr(number, name))
        attributes.set(name, value);
    auto sourceType = cast_or_null<TypeAttr>(attributes.get(nn::kSourceTypeAttr));
    Type from = sourceType ? sourceType.getValue() : parameter.type().getElementType();
    attributes.erase(nn::kSourceTypeAttr);
    if (from != type.getElementType() && attributes.get(nn::kSourceAttr))
      attributes.set(nn::kSourceTypeAttr, TypeAttr::get(from));
    attributes.set(nn::kOfAttr, builder.getStringAttr(parameter.name));
    return master;
  }

  //===--- Gradients ------------------------------------------------------===//

  Type gradientType(const Parameter &parameter) {
    return spec.gradDtype ? precisionType(*spec.gradDtype, builder.getContext())
                          : parameter.workType();
  }

  LogicalResult differentiateParameters(const Seed &seed) {
    SmallVector<Value> values = llvm::map_to_vector(
        parameters, [](const Parameter &parameter) -> Value { return parameter.value; });
    FailureOr<SmallVector<Value>> gradients = differentiate(function, seed, values);
    if (failed(gradients))
      return failure();
    marker.role = builder.getStringAttr(nn::kRoleWeightGradient);
    SmallVector<Parameter> trained;
    for (auto [parameter, gradient] : llvm::zip_equal(parameters, *gradients)) {
      // As in PyTorch, what the loss does not see is not updated.
      if (matchPattern(gradient, m_AnyZeroFloat())) {
        remark::missed(parameter.value.getLoc(),
                       remark::RemarkOpts::name("untrained").category("step-make-training"))
            << "weight '" + parameter.name + "' is not trained: the loss does not depend on it";
        continue;
      }
      parameter.gradient =
          Term(builder, parameter.value.getLoc(), gradient).cast(gradientType(parameter)).value;
      trained.push_back(parameter);
    }
    parameters = std::move(trained);
    if (parameters.empty())
      return function.emitError() << "--loss: '" << spec.loss.value
                                  << "' depends on no weight that is trained";
    return success();
  }

  /// The gradient in the type in which the parameter is updated.
  Term gradientOf(const Parameter &parameter) {
    return Term(builder, parameter.value.getLoc(), parameter.gradient).cast(parameter.workType());
  }

  /// The global norm, in f64, of what the loss's gradient is without scaling.
  void buildNorm() {
    Location loc = named("global gradient norm");
    Value sum;
    for (const Parameter &parameter : parameters) {
      Term g(builder, loc, gradientOf(parameter).value);
      Term squares = (g * g).sum(nn::dimRange(0, g.rank())).cast(builder.getF64Type());
      sum = sum ? (squares.with(sum) + squares).value : squares.value;
    }
    Term total = Term(builder, loc, sum).unary<nn::SqrtOp>();
    if (scale) {
      inverseScale = total.with(scale).cast(builder.getF64Type()).unary<nn::ReciprocalOp>().value;
      total = total * total.with(inverseScale);
      finite = total.is(nn::CompareKind::Lt, INFINITY).value;
    }
    norm = total.value;
  }

  /// What every gradient is multiplied with before the update; null for 1.
  Value gradientFactor() {
    if (spec.optimizer.clip == 0)
      return inverseScale;
    Term total(builder, norm.getLoc(), norm);
    Term clip = total.splat(spec.optimizer.clip) / (total + kClipEpsilon);
    clip = clip.binary<nn::MinOp>(clip.splat(1));
    return inverseScale ? (clip * clip.with(inverseScale)).value : clip.value;
  }

  //===--- Updates --------------------------------------------------------===//

  /// The state's new value, or its old one after a step that is skipped.
  Value unlessSkipped(Value next, Value old) {
    if (!finite)
      return next;
    Term fine = Term(builder, old.getLoc(), finite)
                    .broadcast(cast<RankedTensorType>(old.getType()).getShape(), {});
    return fine.choose(fine.with(next), fine.with(old)).value;
  }

  void updateAll() {
    StepScalars scalars(builder, step.getLoc(), step, spec.optimizer);
    Value factor = gradientFactor();
    SmallVector<std::pair<Value, std::string>> statistics = statisticUpdates();
    Results results;
    Term norms(builder, step.getLoc(), norm);
    Type scalarType = cast<RankedTensorType>(loss.value.getType()).getElementType();
    results.add(loss.value, nn::kNameAttr, "loss");
    results.add(norms.cast(scalarType).value, nn::kNameAttr, "grad_norm");
    results.add(norms.with(scalars.rate(spec.optimizer.hyper.lr)).cast(scalarType).value,
                nn::kNameAttr, "lr");
    if (scale)
      results.add(scale, nn::kNameAttr, "loss_scale");
    for (const Parameter &parameter : parameters)
      updateParameter(parameter, scalars, factor, results);
    for (const auto &[value, name] : statistics)
      results.add(unlessSkipped(value, findArgument(function, name)), nn::kUpdatesAttr, name);
    Term count(builder, step.getLoc(), step);
    results.add(unlessSkipped((count + 1.0).value, step), nn::kUpdatesAttr, runtime::kStepState);
    if (scale)
      updateScale(results);
    results.returnFrom(function);
  }

  void updateParameter(const Parameter &parameter, StepScalars &scalars, Value factor,
                       Results &results) {
    Location loc = named(spec.optimizer.name() + " of " + parameter.name);
    Term gradient(builder, loc, gradientOf(parameter).value);
    if (factor)
      gradient =
          gradient * gradient.with(factor).cast(gradient.element()).broadcast(gradient.shape(), {});
    BlockArgument old = parameter.master ? parameter.master : parameter.value;
    SmallVector<Value> slots(parameter.slots.begin(), parameter.slots.end());
    Update update = buildUpdate(builder, loc, spec.optimizer.kind, parameter.hyper, scalars, old,
                                gradient.value, slots);
    Value next = unlessSkipped(update.parameter, old);
    Value stored = Term(builder, loc, next).cast(parameter.type().getElementType()).value;
    results.add(stored, nn::kUpdatesAttr, parameter.name);
    if (parameter.master)
      results.add(next, nn::kUpdatesAttr, parameter.name + runtime::kMasterSuffix);
    for (auto [slot, value, name] :
         llvm::zip_equal(parameter.slots, update.slots, slotNames(spec.optimizer.kind)))
      results.add(unlessSkipped(value, slot), nn::kUpdatesAttr,
                  (parameter.name + "#" + name).str());
  }

  /// What the forward pass makes of running statistics.
  SmallVector<std::pair<Value, std::string>> statisticUpdates() {
    SmallVector<std::pair<Value, std::string>> found;
    for (auto [i, value] :
         llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      if (auto name = function.getResultAttrOfType<StringAttr>(i, nn::kUpdatesAttr))
        found.emplace_back(value, name.getValue().str());
    return found;
  }

  void updateScale(Results &results) {
    Term old(builder, scale.getLoc(), scale), good(builder, goodSteps.getLoc(), goodSteps);
    Term fine = old.with(finite), more = good + 1.0;
    Term grows = more.is(nn::CompareKind::Ge, double(kGrowthInterval));
    Term less = (old * kBackoff).binary<nn::MaxOp>(old.splat(kLeastScale));
    Term larger = (old * kGrowth).binary<nn::MinOp>(old.splat(kMostScale));
    Term next = fine.choose(grows.choose(larger, old), less);
    Term count = fine.choose(grows.choose(more.splat(0), more), more.splat(0));
    results.add(next.value, nn::kUpdatesAttr, runtime::kLossScaleState);
    results.add(count.value, nn::kUpdatesAttr, runtime::kLossScaleStepsState);
  }

  func::FuncOp function;
  const TrainingSpec &spec;
  RoleMarker marker;
  OpBuilder builder;
  SmallVector<Parameter> parameters;
  Loss loss;
  BlockArgument step, scale, goodSteps;
  Value norm, inverseScale, finite;
};

} // namespace

FailureOr<Loss> weft::step::makeStep(func::FuncOp function, const TrainingSpec &spec) {
  return StepMaker(function, spec).make();
}

LogicalResult weft::step::makeEval(func::FuncOp function, const TrainingSpec &spec) {
  FailureOr<Loss> loss = buildLoss(function, spec.loss);
  if (failed(loss))
    return failure();
  Results results;
  results.add(loss->value, nn::kNameAttr, "loss");
  results.returnFrom(function);
  return success();
}
