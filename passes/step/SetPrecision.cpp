// Computes f32 values in another floating-point type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnTraining.h"
#include "passes/step/Passes.h"

#include "mlir/IR/Diagnostics.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPSETPRECISION
#include "passes/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

struct SetPrecision : step::impl::StepSetPrecisionBase<SetPrecision> {
  using StepSetPrecisionBase::StepSetPrecisionBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    Type target = llvm::StringSwitch<Type>(type)
                      .Case("f32", Float32Type::get(context))
                      .Case("bf16", BFloat16Type::get(context))
                      .Case("f16", Float16Type::get(context))
                      .Case("f64", Float64Type::get(context))
                      .Default(Type());
    if (!target) {
      getOperation().emitError() << "unknown precision '" << type << "'; choose f32, bf16, f16 or f64";
      return signalPassFailure();
    }
    func::FuncOp function = getOperation();
    if (target.isF32() || function.isExternal())
      return;
    convertBody(function, target);
    convertBorder(function, target);
  }

  static bool isF32(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getElementType().isF32();
  }
  static Type inTarget(Type type, Type target) { return cast<RankedTensorType>(type).clone(target); }

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

  /// Attributes that hold numbers of the op's own element type.
  Attribute inTarget(Location loc, Attribute attr, Type target) {
    bool isOutOfRange = false;
    Attribute result = convertNumbers(attr, target, isOutOfRange);
    if (isOutOfRange)
      emitRemark(loc) << "constants out of the range of " << target << " become its largest number or zero";
    return result;
  }
  static Attribute convertNumbers(Attribute attr, Type target, bool &isOutOfRange) {
    if (auto number = dyn_cast<FloatAttr>(attr); number && number.getType().isF32())
      return FloatAttr::get(target, inTarget(number.getValue(), target, isOutOfRange));
    if (auto dense = dyn_cast<DenseFPElementsAttr>(attr); dense && dense.getElementType().isF32())
      return dense.mapValues(target, [&](const APFloat &element) {
        return inTarget(element, target, isOutOfRange).bitcastToAPInt();
      });
    if (auto typeAttr = dyn_cast<TypeAttr>(attr); typeAttr && typeAttr.getValue().isF32() && target.isF64())
      return TypeAttr::get(target);
    return attr;
  }

  void convertBody(func::FuncOp function, Type target) {
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      for (NamedAttribute attr : llvm::to_vector(op->getAttrs()))
        op->setAttr(attr.getName(), inTarget(op->getLoc(), attr.getValue(), target));
      for (Value result : op->getResults())
        if (isF32(result.getType()))
          result.setType(inTarget(result.getType(), target));
    });
  }

  static Value updatedState(func::FuncOp function, unsigned result) {
    Attribute name = function.getResultAttr(result, nn::kUpdatesAttr);
    for (BlockArgument arg : function.getArguments())
      if (name && function.getArgAttr(arg.getArgNumber(), nn::kNameAttr) == name)
        return arg;
    return {};
  }

  void convertBorder(func::FuncOp function, Type target) {
    Block &body = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (BlockArgument arg : body.getArguments()) {
      Type old = arg.getType();
      if (!isF32(old))
        continue;
      // Running statistics change by less than a small type can tell.
      bool isState = function.getArgAttr(arg.getArgNumber(), nn::kSourceAttr) ||
                     function.getArgAttr(arg.getArgNumber(), nn::kInitialAttr) ||
                     function.getArgAttr(arg.getArgNumber(), nn::kGradientAttr);
      bool isKept = getElementTypeOrSelf(inTarget(old, target)).getIntOrFloatBitWidth() < 32 &&
                    function.getArgAttr(arg.getArgNumber(), nn::kStatisticAttr);
      if (isState && !isKept) {
        // The loader converts from the type of the source or of the initial value.
        if (function.getArgAttr(arg.getArgNumber(), nn::kSourceAttr))
          function.setArgAttr(arg.getArgNumber(), nn::kSourceTypeAttr, TypeAttr::get(Float32Type::get(&getContext())));
        arg.setType(inTarget(old, target));
        continue;
      }
      auto cast = nn::CastOp::create(builder, arg.getLoc(), inTarget(old, target), arg);
      arg.replaceAllUsesExcept(cast, cast);
    }
    Operation *end = body.getTerminator();
    builder.setInsertionPoint(end);
    SmallVector<Type> results(function.getResultTypes());
    for (auto [i, operand, wanted] : llvm::enumerate(end->getOpOperands(), results)) {
      if (function.getResultAttr(i, nn::kInnerAttr))
        wanted = operand.get().getType();
      // What a state becomes has the type of the state.
      if (Value state = updatedState(function, i))
        wanted = state.getType();
      if (operand.get().getType() != wanted)
        operand.set(nn::CastOp::create(builder, end->getLoc(), wanted, operand.get()));
    }
    function.setType(builder.getFunctionType(body.getArgumentTypes(), results));
  }
};

} // namespace
