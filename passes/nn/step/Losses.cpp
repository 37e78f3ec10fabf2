// Builds losses and their gradients from elementwise ops and reductions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/Losses.h"

#include "dialects/nn/IR/NnGradient.h"
#include "weft/Support/Nearest.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::step;
using nn::Term;

/// PyTorch's label that does not count.
static constexpr int64_t kIgnored = -100;

BlockArgument weft::step::findArgument(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (nn::argumentName(function, i) == name)
      return function.getArgument(i);
  return {};
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether `value` is computed from `argument`.
static bool isComputedFrom(Value value, BlockArgument argument) {
  llvm::DenseSet<Value> reached{argument};
  for (Operation &op : *argument.getOwner())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); }))
      reached.insert(op.result_begin(), op.result_end());
  return reached.contains(value);
}

namespace {

class LossBuilder {
public:
  LossBuilder(func::FuncOp function, const LossSpec &spec)
      : function(function), spec(spec), builder(function.getBody().front().getTerminator()) {}

  FailureOr<Loss> build() {
    loss.output = findOutput();
    if (!loss.output)
      return failure();
    declared = typeOf(loss.output);
    loss.output = beforeRounding(loss.output);
    if (!isa<FloatType>(declared.getElementType()))
      return function.emitError() << "--loss: output '" << spec.value << "' has type "
                                  << loss.output.getType()
                                  << ", but a loss is computed from floats";
    switch (spec.kind) {
    case LossSpec::Kind::Output:
      if (typeOf(loss.output).getNumElements() != 1)
        return function.emitError()
               << "--loss: output '" << spec.value << "' has type " << loss.output.getType()
               << ", but a loss is one number; write mse:" << spec.value
               << ",TARGET or softmax_cross_entropy:" << spec.value << ",LABELS to compare it";
      loss.value = output().reshape({}).value;
      return loss;
    case LossSpec::Kind::MeanSquare:
      return buildMeanSquare();
    case LossSpec::Kind::SoftmaxCrossEntropy:
      return buildCrossEntropy();
    }
    llvm_unreachable("kind of loss");
  }

  Seed buildSeed(const Loss &built, Value scale) {
    loss = built;
    // The seed's ops are the first of the backward pass.
    Term one = output().splat(1, RankedTensorType::get({}, output().element()));
    Term factor = scale ? one.with(scale).cast(output().element()) : one;
    Term gradient = output();
    switch (spec.kind) {
    case LossSpec::Kind::Output:
      gradient = factor;
      break;
    case LossSpec::Kind::MeanSquare:
      gradient = term(loss.difference) *
                 repeated(factor * (2.0 / double(typeOf(loss.output).getNumElements())));
      break;
    case LossSpec::Kind::SoftmaxCrossEntropy:
      gradient = crossEntropyGradient(factor);
      break;
    }
    gradient =
        gradient.reshape(typeOf(loss.output).getShape()).cast(typeOf(loss.output).getElementType());
    return {loss.output, gradient.value};
  }

private:
  /// By a name of its own: the output's node is another op.
  Location loc() { return NameLoc::get(builder.getStringAttr("loss"), function.getLoc()); }
  /// The output in the type of the loss.
  Term output() { return Term(builder, loc(), loss.output).wide(); }
  Term term(Value value) { return Term(builder, loc(), value); }
  Term repeated(Term scalar) { return scalar.broadcast(typeOf(loss.output).getShape(), {}); }

  /// Programs in fp64 have results in the model's type; the loss is computed from
  /// what they were before.
  static Value beforeRounding(Value output) {
    auto cast = output.getDefiningOp<nn::CastOp>();
    auto from =
        cast ? dyn_cast<FloatType>(getElementTypeOrSelf(cast.getOperand().getType())) : FloatType();
    auto to = dyn_cast<FloatType>(getElementTypeOrSelf(output.getType()));
    return from && to && from.getWidth() > to.getWidth() ? cast.getOperand() : output;
  }

  Value findOutput() {
    Operation *end = function.getBody().front().getTerminator();
    std::vector<std::string> known;
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
      if (!name)
        continue;
      if (name.getValue() == spec.value)
        return value;
      known.push_back(name.getValue().str());
    }
    auto error = function.emitError() << "--loss: the model has no output '" << spec.value
                                      << "'; its outputs are " << listNames(known);
    if (spec.kind == LossSpec::Kind::Output)
      error << ", and the losses softmax_cross_entropy:LOGITS,LABELS and mse:PRED,TARGET";
    // With a colon it is a loss that is misspelt.
    if (!StringRef(spec.value).contains(':'))
      error << didYouMean(spec.value, known);
    return {};
  }

  /// The argument that the output is compared with; null after an error.
  BlockArgument findTarget(RankedTensorType type) {
    if (BlockArgument found = findArgument(function, spec.target)) {
      if (!nn::isState(function, found.getArgNumber()))
        return found;
      function.emitError() << "--loss: '" << spec.target
                           << "' is a weight of the model, not an input";
      return {};
    }
    unsigned at = 0;
    while (at < function.getNumArguments() && !nn::isState(function, at))
      ++at;
    NamedAttrList attributes;
    attributes.set(nn::kNameAttr, builder.getStringAttr(spec.target));
    if (ArrayAttr dims = dimNames(type))
      attributes.set(nn::kDimsAttr, dims);
    Location place = NameLoc::get(builder.getStringAttr(spec.target), function.getLoc());
    (void)function.insertArgument(at, type, attributes.getDictionary(builder.getContext()), place);
    loss.isTargetMade = true;
    return function.getArgument(at);
  }

  /// What an input of equal leading extents calls its dims: which is the batch
  /// is known by name.
  ArrayAttr dimNames(RankedTensorType type) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto names = function.getArgAttrOfType<ArrayAttr>(i, nn::kDimsAttr);
      auto other = typeOf(function.getArgument(i));
      if (!names || type.getRank() == 0 || other.getRank() == 0 ||
          other.getDimSize(0) != type.getDimSize(0))
        continue;
      SmallVector<Attribute> own;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        own.push_back(dim < other.getRank() && other.getDimSize(dim) == type.getDimSize(dim)
                          ? names[dim]
                          : builder.getStringAttr(""));
      return builder.getArrayAttr(own);
    }
    return {};
  }

  //===--- mse ------------------------------------------------------------===//

  FailureOr<Loss> buildMeanSquare() {
    loss.target = findTarget(declared);
    if (!loss.target)
      return failure();
    if (auto type = typeOf(loss.target);
        type.getShape() != declared.getShape() || !isa<FloatType>(type.getElementType()))
      return function.emitError() << "--loss: '" << spec.value << "' has type " << declared
                                  << ", but '" << spec.target << "' has " << loss.target.getType();
    Term x = output();
    Term error = x - term(loss.target).cast(x.element());
    loss.difference = error.value;
    Term sum = (error * error).sum(nn::dimRange(0, error.rank()));
    loss.value = (sum * (1.0 / double(typeOf(loss.output).getNumElements()))).value;
    return loss;
  }

  //===--- softmax_cross_entropy ------------------------------------------===//

  /// The dim of the classes that was named, from 0.
  std::optional<int64_t> namedDim() {
    std::optional<int64_t> dim = spec.classDim;
    return dim && *dim < 0 ? *dim + typeOf(loss.output).getRank() : dim;
  }
  /// The dim of the classes: the one that labels lack.
  std::optional<int64_t> classDim(RankedTensorType labels) {
    auto logits = typeOf(loss.output);
    for (int64_t dim = logits.getRank() - 1; dim >= 0; --dim)
      if (namedDim().value_or(dim) == dim && labels.getShape() == ArrayRef<int64_t>(without(dim)))
        return dim;
    return std::nullopt;
  }
  SmallVector<int64_t> without(int64_t dim) {
    SmallVector<int64_t> shape(typeOf(loss.output).getShape());
    shape.erase(shape.begin() + dim);
    return shape;
  }

  FailureOr<Loss> buildCrossEntropy() {
    auto logits = typeOf(loss.output);
    if (logits.getRank() < 1)
      return function.emitError() << "--loss: logits '" << spec.value << "' have no dim of classes";
    int64_t expected = namedDim().value_or(logits.getRank() - 1);
    if (expected < 0 || expected >= logits.getRank())
      return function.emitError() << "--loss: logits '" << spec.value << "', " << logits
                                  << ", have no dim " << *spec.classDim;
    loss.target = findTarget(RankedTensorType::get(without(expected), builder.getI64Type()));
    if (!loss.target)
      return failure();
    RankedTensorType labels = typeOf(loss.target);
    std::optional<int64_t> dim = classDim(labels);
    if (!dim || !labels.getElementType().isInteger() || labels.getElementType().isInteger(1))
      return function.emitError() << "--loss: labels '" << spec.target << "' have type " << labels
                                  << ", but logits " << logits
                                  << " need integers of their shape without "
                                  << (spec.classDim ? "dim " + std::to_string(expected)
                                                    : "the dim of classes");
    loss.numClasses = logits.getDimSize(*dim);
    Term x = output(), sums = logSum(x), counts = counted();
    Term picked = ofLabels();
    if (spec.smoothing != 0)
      picked = picked * (1 - spec.smoothing) +
               x.sum({*dim}) * (spec.smoothing / double(loss.numClasses));
    Term kept = counts.choose(sums - picked, 0.0);
    Term number = count(counts);
    loss.value = (kept.sum(nn::dimRange(0, kept.rank())) / number).value;
    loss.logSum = sums.value;
    loss.counted = counts.value;
    loss.count = number.value;
    return loss;
  }

  int64_t dim() { return *classDim(typeOf(loss.target)); }
  Term labels() { return term(loss.target).cast(builder.getI64Type()); }
  /// A value of the labels' shape, repeated over classes.
  Term overClasses(Term x) {
    return x.broadcast(typeOf(loss.output).getShape(),
                       nn::otherDims(typeOf(loss.output).getRank(), {dim()}));
  }
  /// Each label's logit: zero for a label that is no class, and where classes are split, for one of
  /// another part.
  Term ofLabels() {
    int64_t rank = typeOf(loss.target).getRank();
    SmallVector<int64_t> each = llvm::to_vector(typeOf(loss.target).getShape());
    each.push_back(1);
    Value indices = labels().reshape(each).value;
    return term(loss.output)
        .make<nn::GatherOp>(loss.output, indices, ArrayRef<int64_t>{dim()},
                            nn::otherDims(rank + 1, {dim()}), nn::dimRange(0, rank))
        .wide();
  }
  Term counted() {
    Term result = labels().is(nn::CompareKind::Ne, double(kIgnored));
    if (spec.ignore && *spec.ignore != kIgnored)
      result = result.binary<nn::AndOp>(labels().is(nn::CompareKind::Ne, double(*spec.ignore)));
    return result;
  }
  /// At least 1, so that a batch in which nothing counts has loss 0.
  Term count(Term counts) {
    Term each = counts.cast(output().element());
    Term sum = each.sum(nn::dimRange(0, each.rank()));
    return sum.binary<nn::MaxOp>(sum.splat(1));
  }
  Term isLabel(Term x) { return x.iotaAlong(dim()).is(nn::CompareKind::Eq, overClasses(labels())); }
  Term logSum(Term x) {
    Term greatest = x.reduce(ReduceKind::Max, {dim()});
    Term sum = (x - overClasses(greatest)).unary<nn::ExpOp>().sum({dim()});
    return sum.unary<nn::LogOp>() + greatest;
  }
  Term crossEntropyGradient(Term factor) {
    Term x = output();
    Term probability = (x - overClasses(term(loss.logSum))).unary<nn::ExpOp>();
    Term share = factor / term(loss.count);
    Term weight =
        term(loss.counted).choose(share.broadcast(typeOf(loss.target).getShape(), {}), 0.0);
    Term expected = isLabel(x).cast(x.element());
    if (spec.smoothing != 0)
      expected = expected * (1 - spec.smoothing) +
                 spec.smoothing / double(typeOf(loss.output).getDimSize(dim()));
    return (probability - expected) * overClasses(weight);
  }

  func::FuncOp function;
  const LossSpec &spec;
  OpBuilder builder;
  Loss loss;
  /// The output's type at the border.
  RankedTensorType declared;
};

} // namespace

FailureOr<Loss> weft::step::buildLoss(func::FuncOp function, const LossSpec &spec) {
  return LossBuilder(function, spec).build();
}

void weft::step::warnOfSeenLabels(func::FuncOp function, const LossSpec &spec, const Loss &loss) {
  if (spec.kind != LossSpec::Kind::SoftmaxCrossEntropy || !isComputedFrom(loss.output, loss.target))
    return;
  function.emitWarning() << "--loss: '" << spec.value << "' is computed from the labels '"
                         << spec.target
                         << "' themselves, which a network learns to copy; name an input of its "
                            "own, which is made where the model has none, as in "
                            "softmax_cross_entropy:"
                         << spec.value << ",labels";
}

void weft::step::warnOfOtherClasses(func::FuncOp function, const LossSpec &spec, const Loss &loss) {
  if (spec.kind != LossSpec::Kind::SoftmaxCrossEntropy || loss.isTargetMade || spec.classDim)
    return;
  auto logits = cast<RankedTensorType>(loss.output.getType());
  auto labels = cast<RankedTensorType>(loss.target.getType());
  SmallVector<int64_t> dims;
  for (int64_t dim = 1; dim < logits.getRank(); ++dim) {
    SmallVector<int64_t> others(logits.getShape());
    others.erase(others.begin() + dim);
    if (labels.getShape() == ArrayRef<int64_t>(others))
      dims.push_back(dim);
  }
  if (dims.size() > 1)
    function.emitWarning() << "--loss: of '" << spec.value << "', " << logits << ", each of dims "
                           << dims << " may be that of the classes, as labels '" << spec.target
                           << "' are " << labels << "; dim " << dims.back()
                           << " is taken; ',dim=" << dims.front()
                           << "' behind the labels takes dim " << dims.front();
}

Seed weft::step::buildSeed(func::FuncOp function, const LossSpec &spec, const Loss &loss,
                           Value scale) {
  Block &body = function.getBody().front();
  Operation *last = body.getTerminator()->getPrevNode();
  Seed seed = LossBuilder(function, spec).buildSeed(loss, scale);
  auto role = StringAttr::get(function.getContext(), nn::kRoleInputGradient);
  for (Operation *op = last ? last->getNextNode() : &body.front(); op != body.getTerminator();
       op = op->getNextNode())
    op->setAttr(nn::kRoleAttr, role);
  return seed;
}
