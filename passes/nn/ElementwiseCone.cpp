// Evaluation of small elementwise expressions at single points.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/ElementwiseCone.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace weft;

/// Idioms are small; what needs more ops than this is not one.
static constexpr unsigned kMaxOps = 24;

std::optional<double> weft::splatOf(Value value) {
  while (auto broadcast = value.getDefiningOp<nn::BroadcastOp>())
    value = broadcast.getOperand();
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || !constant.getValue().isSplat())
    return std::nullopt;
  auto type = cast<RankedTensorType>(constant.getType());
  if (type.getNumElements() == 0)
    return std::nullopt;
  auto one = DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()),
                                    constant.getValue().getSplatValue<Attribute>());
  HostTensor tensor = toHostTensor(one);
  return tensor.isFloat() ? tensor.reals[0] : static_cast<double>(tensor.integers[0]);
}

namespace {
struct Evaluator {
  Evaluator(Value leaf, double x, FloatCasts casts) : leaf(leaf), x(x), casts(casts) {}

  Value leaf;
  double x;
  FloatCasts casts;
  unsigned budget = kMaxOps;
  llvm::SmallDenseMap<Value, Scalar> known;

  std::optional<Scalar> operator()(Value value) {
    if (value == leaf) {
      Scalar scalar;
      scalar.real = x;
      return scalar;
    }
    if (auto found = known.find(value); found != known.end())
      return found->second;
    if (std::optional<double> splat = splatOf(value)) {
      Scalar scalar;
      scalar.real = *splat;
      scalar.integer = static_cast<int64_t>(*splat);
      return scalar;
    }
    auto op = value.getDefiningOp<ElementwiseOpInterface>();
    if (!op || budget-- == 0)
      return std::nullopt;
    SmallVector<Scalar> operands;
    for (Value operand : op->getOperands()) {
      std::optional<Scalar> scalar = (*this)(operand);
      if (!scalar)
        return std::nullopt;
      operands.push_back(*scalar);
    }
    Scalar result = passes(op) ? operands.front() : op.evaluateScalar(operands);
    known[value] = result;
    return result;
  }

  bool passes(Operation *op) const {
    auto isFloat = [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); };
    return casts == FloatCasts::Pass && isa<nn::CastOp>(op) &&
           isFloat(op->getOperand(0).getType()) && isFloat(op->getResult(0).getType());
  }
};
} // namespace

std::optional<double> weft::evaluateCone(Value root, Value leaf, double x, FloatCasts casts) {
  Evaluator evaluate(leaf, x, casts);
  std::optional<Scalar> value = evaluate(root);
  if (!value)
    return std::nullopt;
  return value->real;
}

double weft::idiomTolerance(Value value, bool exact) {
  return exact || getElementTypeOrSelf(value.getType()).isF64() ? kExactTolerance : kLooseTolerance;
}

bool weft::computes(Value root, Value leaf, llvm::ArrayRef<double> points,
                    llvm::function_ref<double(double)> function, double tolerance,
                    FloatCasts casts) {
  for (double x : points) {
    std::optional<double> value = evaluateCone(root, leaf, x, casts);
    double expected = function(x);
    if (!value ||
        !(std::fabs(*value - expected) <= tolerance * std::max(1e-3, std::fabs(expected))))
      return false;
  }
  return true;
}

SmallVector<Value> weft::leavesOf(Value root) {
  SmallVector<Value> leaves, queue{root};
  llvm::SmallDenseSet<Value> seen{root};
  unsigned expanded = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    auto op = queue[next].getDefiningOp<ElementwiseOpInterface>();
    if (!op || ++expanded > kMaxOps)
      continue;
    for (Value operand : op->getOperands())
      if (!splatOf(operand) && seen.insert(operand).second) {
        queue.push_back(operand);
        leaves.push_back(operand);
      }
  }
  return leaves;
}

Location weft::placeOfIdiom(Operation *root, ValueRange kept) {
  SmallVector<Location> places{root->getLoc()};
  llvm::SetVector<Operation *> gone;
  gone.insert(root);
  auto isGone = [&](Operation *op) { return gone.contains(op); };
  // An op is met again from its last reader, when all others are known to go.
  for (size_t i = 0; i < gone.size(); ++i)
    for (Value operand : gone[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (!op || op->getNumOperands() == 0 || llvm::is_contained(kept, operand) || isGone(op) ||
          !isPure(op) || !llvm::all_of(op->getUsers(), isGone))
        continue;
      gone.insert(op);
      places.push_back(op->getLoc());
    }
  return FusedLoc::get(root->getContext(), places);
}
