// Computes f32 values in another floating-point type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnTraining.h"
#include "passes/nn/step/Passes.h"
#include "passes/nn/step/Precision.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

namespace weft::step {
#define GEN_PASS_DEF_STEPSETPRECISION
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

struct SetPrecision : step::impl::StepSetPrecisionBase<SetPrecision> {
  using StepSetPrecisionBase::StepSetPrecisionBase;

  void runOnOperation() override {
    std::optional<Precision> precision = parsePrecision(type);
    if (!precision) {
      getOperation().emitError() << "unknown precision '" << type
                                 << "'; choose f32, bf16, f16 or f64";
      return signalPassFailure();
    }
    Type target = precisionType(*precision, &getContext());
    func::FuncOp function = getOperation();
    if (target.isF32() || function.isExternal())
      return;
    bool isOfModel =
        function.getName() == nn::kModelStep || function.getName() == nn::kModelEvaluation;
    // One pass may see several functions.
    exact.clear();
    narrowed.clear();
    bool isSmall = target.getIntOrFloatBitWidth() < 32;
    if (isSmall && isOfModel && failed(findExact(function)))
      return signalPassFailure();
    if (isSmall) {
      if (!isOfModel)
        findUpdates(function);
      findPlaces(function, target);
      findSums(function);
      keepConstants(function, isOfModel);
    }
    convertBody(function, target);
    convertBorder(function, target);
    widenOperands(target);
    narrowOperands(function, target);
  }

  static LogicalResult neededForLoss(Value value, StringRef name,
                                     const llvm::DenseSet<Operation *> &needed) {
    auto diagnostic = emitError(value.getLoc())
                      << "the new value of '" << name
                      << "' is needed for a loss, so it would be computed in a small type and lose "
                         "what is added to it; compile the model's training step with --precision "
                         "fp32";
    for (Operation *user : value.getUsers())
      if (needed.contains(user))
        diagnostic.attachNote(user->getLoc()) << "this reads it on the way to the loss";
    return diagnostic;
  }

  /// All ops that these values are computed by.
  static llvm::DenseSet<Operation *> opsBehind(SmallVector<Value> values) {
    llvm::DenseSet<Operation *> ops;
    while (!values.empty())
      if (Operation *op = values.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
        llvm::append_range(values, op->getOperands());
    return ops;
  }

  /// Ops of the model's step that its losses do not need update state, which
  /// small types are too narrow for. They stay as they are.
  LogicalResult findExact(func::FuncOp function) {
    Operation *end = function.getBody().front().getTerminator();
    SmallVector<Value> work;
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr) ==
          StringAttr::get(&getContext(), "loss"))
        work.push_back(value);
    for (BlockArgument arg : function.getArguments())
      if (auto y =
              function.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(), nn::kGradientAttr))
        work.push_back(end->getOperand(y[0]));
    llvm::DenseSet<Operation *> needed = opsBehind(work);
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (auto name = function.getResultAttrOfType<StringAttr>(i, nn::kUpdatesAttr);
          name && value.getDefiningOp() && needed.contains(value.getDefiningOp()) &&
          isF32(value.getType()))
        return neededForLoss(value, name.getValue(), needed);
    // What leads to products is computed in the small type; losses behind the last ones are not, as
    // with losses that flags name.
    llvm::DenseSet<Operation *> narrow;
    for (Operation &op : llvm::reverse(function.getBody().front().without_terminator()))
      if (needed.contains(&op) &&
          (isArithmeticBound(&op) || llvm::any_of(op.getUsers(), [&](Operation *user) {
             return narrow.contains(user) && needed.contains(user);
           })))
        narrow.insert(&op);
    for (Operation &op : function.getBody().front().without_terminator())
      if (!narrow.contains(&op) && !op.hasTrait<OpTrait::ConstantLike>())
        exact.insert(&op);
    return success();
  }

  /// Ops that only new values of state need, such as running statistics: each step changes them by
  /// less than a small type can tell.
  void findUpdates(func::FuncOp function) {
    SmallVector<Value> others;
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (!function.getResultAttr(i, nn::kUpdatesAttr))
        others.push_back(value);
    llvm::DenseSet<Operation *> needed = opsBehind(others);
    for (Operation &op : function.getBody().front().without_terminator())
      if (!needed.contains(&op) && !op.hasTrait<OpTrait::ConstantLike>() && !op.use_empty())
        exact.insert(&op);
  }

  /// Places, counts and coordinates: what is computed from integers and constants alone. A small
  /// type has too few digits for them: 257 is no bf16, and angles of rotary embeddings behind it
  /// would mean nothing. Constants that the type does not hold are no part of it: those are masks.
  void findPlaces(func::FuncOp function, Type target) {
    llvm::DenseSet<Value> places;
    auto starts = [](Operation *op) {
      auto cast = dyn_cast<nn::CastOp>(op);
      return isa<nn::IotaOp>(op) ||
             (cast && isa<IntegerType>(getElementTypeOrSelf(cast.getOperand().getType())));
    };
    auto isAllowed = [&](Value value) {
      Operation *maker = value.getDefiningOp();
      return !isF32(value.getType()) || places.contains(value) ||
             (maker && maker->hasTrait<OpTrait::ConstantLike>() && !isOutOf(maker, target));
    };
    for (Operation &op : function.getBody().front().without_terminator()) {
      bool follows = llvm::any_of(op.getOperands(), [&](Value v) { return places.contains(v); }) &&
                     llvm::all_of(op.getOperands(), isAllowed);
      if (!starts(&op) && !follows)
        continue;
      if (follows)
        exact.insert(&op);
      for (Value result : op.getResults())
        if (isF32(result.getType()))
          places.insert(result);
    }
    // Where an integer becomes a number that goes on in the small type it becomes one of that.
    for (Operation &op : function.getBody().front().without_terminator())
      if (starts(&op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
            return exact.contains(user) || user->hasTrait<OpTrait::IsTerminator>();
          }))
        exact.insert(&op);
  }

  /// Sums over dims or windows, means, and roots of sums: f16 holds neither a large sum nor a large
  /// count.
  void findSums(func::FuncOp function) {
    auto isConstant = [](Value value) {
      Operation *maker = value.getDefiningOp();
      return maker && maker->hasTrait<OpTrait::ConstantLike>();
    };
    auto keep = [&](auto sum) {
      if (!isF32(sum.getType()) ||
          (sum.getKind() != ReduceKind::Sum && sum.getKind() != ReduceKind::Prod))
        return;
      exact.insert(sum);
      // Squares, of which nobody else knows.
      if (auto square = sum.getOperand().template getDefiningOp<nn::MulOp>();
          square && square.getLhs() == square.getRhs() && square.getResult().hasOneUse())
        exact.insert(square);
      auto isKept = [&](Value value) {
        return isConstant(value) || exact.contains(value.getDefiningOp());
      };
      // A root comes with comparisons, as its gradient at zero is a case of its own.
      SmallVector<Value> sums = {sum.getResult()};
      while (!sums.empty())
        for (Operation *user : sums.pop_back_val().getUsers()) {
          bool scales = isa<nn::DivOp, nn::MulOp>(user);
          if ((scales || isa<nn::ReshapeOp, nn::SqrtOp, nn::CompareOp, nn::SelectOp>(user)) &&
              llvm::all_of(user->getOperands(), isKept) && exact.insert(user) && !scales)
            sums.push_back(user->getResult(0));
        }
    };
    function.walk([&](Operation *op) {
      if (auto sum = dyn_cast<nn::ReduceOp>(op))
        keep(sum);
      else if (auto window = dyn_cast<nn::ReduceWindowOp>(op))
        keep(window);
    });
  }

  /// What ops that stay in f32 read of constants is not rounded for others.
  void keepConstants(func::FuncOp function, bool isOfModel) {
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front().without_terminator())) {
      if (!op.hasTrait<OpTrait::ConstantLike>())
        continue;
      auto isOfExact = [&](OpOperand &use) {
        return exact.contains(use.getOwner()) ||
               (isOfModel && use.getOwner()->hasTrait<OpTrait::IsTerminator>());
      };
      if (llvm::none_of(op.getUses(), isOfExact))
        continue;
      if (llvm::all_of(op.getUses(), isOfExact)) {
        exact.insert(&op);
        continue;
      }
      Operation *copy = OpBuilder(&op).clone(op);
      op.getResult(0).replaceUsesWithIf(copy->getResult(0), isOfExact);
      exact.insert(copy);
    }
  }

  /// What ops of the small type read of those that stay in f32.
  void narrowOperands(func::FuncOp function, Type target) {
    Block &body = function.getBody().front();
    for (Operation *op : exact.getArrayRef())
      for (Value result : op->getResults()) {
        if (!isF32(result.getType()))
          continue;
        auto isNarrow = [&](OpOperand &use) {
          return use.getOwner() != body.getTerminator() && !exact.contains(use.getOwner()) &&
                 !isa<nn::CastOp>(use.getOwner());
        };
        if (llvm::none_of(result.getUses(), isNarrow))
          continue;
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfterValue(result);
        auto cast =
            nn::CastOp::create(builder, op->getLoc(), inTarget(result.getType(), target), result);
        result.replaceUsesWithIf(cast.getResult(), isNarrow);
      }
  }

  /// Whether a finite number of a constant is too large for the type.
  static bool isOutOf(Operation *constant, Type target) {
    DenseFPElementsAttr numbers;
    if (!matchPattern(constant, m_Constant(&numbers)))
      return false;
    const llvm::fltSemantics &semantics = cast<FloatType>(target).getFloatSemantics();
    // Of those above it, some are rounded down to it.
    double largest = APFloat::getLargest(semantics).convertToDouble();
    auto isTooLarge = [&](APFloat number) {
      bool lost;
      bool isFinite = number.isFinite();
      number.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
      return isFinite && number.isInfinity();
    };
    if (numbers.isSplat())
      return isTooLarge(numbers.getSplatValue<APFloat>());
    if (numbers.getElementType().isF32())
      return llvm::any_of(numbers.getValues<float>(), [&](float number) {
        return std::abs(number) > largest && isTooLarge(APFloat(number));
      });
    return llvm::any_of(numbers.getValues<APFloat>(), isTooLarge);
  }

  /// What they read was f32.
  void widenOperands(Type target) {
    for (Operation *op : exact) {
      OpBuilder builder(op);
      for (OpOperand &operand : op->getOpOperands())
        if (narrowed.contains(operand.get()))
          operand.set(nn::CastOp::create(
              builder, op->getLoc(),
              inTarget(operand.get().getType(), Float32Type::get(&getContext())), operand.get()));
    }
  }

  static bool isF32(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getElementType().isF32();
  }
  static Type inTarget(Type type, Type target) {
    return cast<RankedTensorType>(type).clone(target);
  }

  /// A constant of the model. A finite one stays finite: exporters hide positions
  /// by adding the lowest f32 times zero or one, which infinity would make NaN.
  static APFloat inTarget(APFloat value, Type target, bool &isOutOfRange) {
    const llvm::fltSemantics &semantics = cast<FloatType>(target).getFloatSemantics();
    APFloat converted = value;
    bool lost;
    converted.convert(semantics, APFloat::rmNearestTiesToEven, &lost);
    bool overflows = converted.isInfinity() && value.isFinite();
    if (overflows)
      converted = APFloat::getLargest(semantics, value.isNegative());
    isOutOfRange |= overflows || (converted.isZero() && !value.isZero());
    return converted;
  }

  /// The same of a table for bf16, by its bits: a table has millions.
  static DenseElementsAttr inBFloat16(DenseFPElementsAttr table, bool &isOutOfRange) {
    Type target = BFloat16Type::get(table.getContext());
    std::vector<uint16_t> halves;
    halves.reserve(size_t(table.getNumElements()));
    for (float number : table.getValues<float>()) {
      auto bits = llvm::bit_cast<uint32_t>(number);
      // To nearest, of two as near the even one: the upper half of f32 is bf16.
      auto half = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      bool isZero = (half & 0x7fff) == 0, isInfinite = (half & 0x7fff) == 0x7f80;
      if (!std::isfinite(number) || isInfinite || (isZero && number != 0))
        half = uint16_t(
            inTarget(APFloat(number), target, isOutOfRange).bitcastToAPInt().getZExtValue());
      halves.push_back(half);
    }
    return DenseElementsAttr::getFromRawBuffer(
        table.getType().clone(target),
        {reinterpret_cast<const char *>(halves.data()), halves.size() * sizeof(uint16_t)});
  }

  /// Attributes that hold numbers of the op's own element type.
  Attribute inTarget(Location loc, Attribute attr, Type target) {
    bool isOutOfRange = false;
    Attribute result = convertNumbers(attr, target, isOutOfRange);
    if (isOutOfRange)
      remark::missed(loc, remark::RemarkOpts::name("rounded").category("step-set-precision"))
          << "constants out of the range of " + type.getValue() +
                 " become its largest number or zero";
    return result;
  }
  static Attribute convertNumbers(Attribute attr, Type target, bool &isOutOfRange) {
    if (auto number = dyn_cast<FloatAttr>(attr); number && number.getType().isF32())
      return FloatAttr::get(target, inTarget(number.getValue(), target, isOutOfRange));
    if (auto dense = dyn_cast<DenseFPElementsAttr>(attr); dense && dense.getElementType().isF32()) {
      if (target.isBF16() && !dense.isSplat())
        return inBFloat16(dense, isOutOfRange);
      return dense.mapValues(target, [&](const APFloat &element) {
        return inTarget(element, target, isOutOfRange).bitcastToAPInt();
      });
    }
    if (auto typeAttr = dyn_cast<TypeAttr>(attr);
        typeAttr && typeAttr.getValue().isF32() && target.isF64())
      return TypeAttr::get(target);
    return attr;
  }

  void convertBody(func::FuncOp function, Type target) {
    function.walk([&](Operation *op) {
      if (op == function || exact.contains(op))
        return;
      for (NamedAttribute attr : llvm::to_vector(op->getAttrs()))
        op->setAttr(attr.getName(), inTarget(op->getLoc(), attr.getValue(), target));
      for (Value result : op->getResults())
        if (isF32(result.getType())) {
          result.setType(inTarget(result.getType(), target));
          narrowed.insert(result);
        }
    });
  }

  static Value updatedArgument(func::FuncOp function, unsigned result) {
    Attribute name = function.getResultAttr(result, nn::kUpdatesAttr);
    for (BlockArgument arg : function.getArguments())
      if (name && function.getArgAttr(arg.getArgNumber(), nn::kNameAttr) == name)
        return arg;
    return {};
  }

  /// Ops of the model's step that stay in f32, and values that do not.
  llvm::SetVector<Operation *> exact;
  llvm::DenseSet<Value> narrowed;

  void convertBorder(func::FuncOp function, Type target) {
    Block &body = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (BlockArgument arg : body.getArguments()) {
      Type old = arg.getType();
      if (!isF32(old))
        continue;
      // Running statistics change by less than a small type can tell.
      bool isState = nn::isState(function, arg.getArgNumber()) ||
                     function.getArgAttr(arg.getArgNumber(), nn::kGradientAttr);
      bool isKept = getElementTypeOrSelf(inTarget(old, target)).getIntOrFloatBitWidth() < 32 &&
                    (function.getArgAttr(arg.getArgNumber(), nn::kStatisticAttr) ||
                     function.getArgAttr(arg.getArgNumber(), nn::kKeptAttr));
      if (isState && !isKept) {
        // The loader converts from the type of the source or of the initial value.
        if (function.getArgAttr(arg.getArgNumber(), nn::kSourceAttr))
          function.setArgAttr(arg.getArgNumber(), nn::kSourceTypeAttr,
                              TypeAttr::get(Float32Type::get(&getContext())));
        arg.setType(inTarget(old, target));
        narrowed.insert(arg);
        continue;
      }
      auto cast = nn::CastOp::create(builder, arg.getLoc(), inTarget(old, target), arg);
      arg.replaceUsesWithIf(cast.getResult(), [&](OpOperand &use) {
        // By what the model differentiates: the state itself, not what is computed with.
        bool isInner = use.getOwner() == body.getTerminator() &&
                       function.getResultAttr(use.getOperandNumber(), nn::kInnerAttr);
        // A cast reads what there is: ids that are rounded are others.
        return !isa<nn::CastOp>(use.getOwner()) && !exact.contains(use.getOwner()) &&
               !(isInner && isKept);
      });
    }
    // A gradient has the type of what it is of.
    Operation *end = body.getTerminator();
    for (BlockArgument arg : body.getArguments())
      if (auto of =
              function.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(), nn::kGradientAttr))
        if (Type type = end->getOperand(of[1]).getType(); type != arg.getType()) {
          arg.setType(type);
          narrowed.erase(arg);
        }
    builder.setInsertionPoint(end);
    SmallVector<Type> results(function.getResultTypes());
    for (auto [i, operand, wanted] : llvm::enumerate(end->getOpOperands(), results)) {
      if (function.getResultAttr(i, nn::kInnerAttr))
        wanted = operand.get().getType();
      // What a state becomes has the type of the state.
      if (Value state = updatedArgument(function, i))
        wanted = state.getType();
      if (operand.get().getType() != wanted)
        operand.set(nn::CastOp::create(builder, operand.get().getLoc(), wanted, operand.get()));
    }
    function.setType(builder.getFunctionType(body.getArgumentTypes(), results));
  }
};

} // namespace
