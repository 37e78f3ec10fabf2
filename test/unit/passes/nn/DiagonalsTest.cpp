// Matrices made by random ops: what is told of their diagonals is what the oracle computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/Diagonals.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace weft;

namespace {

/// A function that returns one matrix, of few ops and of dims of extent 1 besides.
class RandomMatrix {
public:
  RandomMatrix(MLIRContext &context, unsigned seed)
      : random(seed), builder(&context), loc(builder.getUnknownLoc()) {
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    int64_t rows = from(1, 7), columns = from(1, 7);
    function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    matrix = condition(rows, columns);
    for (int steps = from(0, 3); steps > 0; --steps)
      matrix = change(matrix);
    func::ReturnOp::create(builder, loc, matrix);
    function.setType(builder.getFunctionType({}, matrix.getType()));
  }

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Value matrix;

private:
  int64_t from(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  Type elementType() {
    Type types[] = {builder.getI64Type(),      builder.getI32Type(),
                    builder.getIntegerType(8), builder.getIntegerType(8, /*isSigned=*/false),
                    builder.getF32Type(),      builder.getF16Type(),
                    builder.getBF16Type()};
    return types[from(0, std::size(types) - 1)];
  }

  Value splat(RankedTensorType type, int64_t number) {
    Type element = type.getElementType();
    Attribute value = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, number))
                                              : Attribute(builder.getIntegerAttr(element, number));
    return nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
  }

  /// Numbers of rows or columns as a matrix: a range, whole or a part of a longer one, by an op or
  /// as a constant whose last number may be out of step.
  Value numbers(int64_t rows, int64_t columns, Type element) {
    int64_t dim = from(0, 1), extent = dim == 0 ? rows : columns;
    int64_t start = from(0, 2), stride = from(1, 2), all = start + (extent - 1) * stride + 1;
    Value range;
    if (from(0, 1)) {
      Value whole = nn::IotaOp::create(builder, loc, RankedTensorType::get({all}, element));
      range = nn::SliceOp::create(builder, loc, RankedTensorType::get({extent}, element), whole,
                                  ArrayRef<int64_t>{start}, ArrayRef<int64_t>{stride});
    } else {
      HostTensor tensor(RankedTensorType::get({extent}, element));
      for (int64_t i = 0; i < extent; ++i) {
        int64_t number = start + i * stride + (i == extent - 1 && from(0, 9) == 0);
        tensor.set(i, {static_cast<double>(number), number});
      }
      range = nn::ConstantOp::create(builder, loc, toElementsAttr(tensor));
    }
    return nn::BroadcastOp::create(builder, loc, RankedTensorType::get({rows, columns}, element),
                                   range, ArrayRef<int64_t>{dim});
  }

  /// Which of the two operands is greater, or the like.
  Value condition(int64_t rows, int64_t columns) {
    Type element = elementType();
    auto side = [&]() -> Value {
      Value value = numbers(rows, columns, element);
      for (int steps = from(0, 2); steps > 0; --steps) {
        Value other =
            from(0, 2) ? splat(typeOf(value), from(0, 3)) : numbers(rows, columns, element);
        switch (from(0, 3)) {
        case 0:
          value = nn::AddOp::create(builder, loc, value, other);
          break;
        case 1:
          value = nn::SubOp::create(builder, loc, value, other);
          break;
        case 2:
          value = nn::MulOp::create(builder, loc, value, other);
          break;
        default:
          value = nn::CastOp::create(builder, loc, value, element);
        }
      }
      return value;
    };
    Value lhs = side(), rhs = side();
    auto kind = nn::CompareKind(from(0, nn::getMaxEnumValForCompareKind()));
    return nn::CompareOp::create(builder, loc, kind, lhs, rhs);
  }

  Value change(Value value) {
    RankedTensorType type = typeOf(value);
    int64_t rank = type.getRank(), rows = type.getDimSize(rank - 2),
            columns = type.getShape().back();
    bool isCondition = type.getElementType().isInteger(1);
    switch (from(0, 4)) {
    case 0: {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin() + from(0, rank), 1);
      return nn::ReshapeOp::create(builder, loc, type.clone(shape), value);
    }
    case 1: {
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
      std::swap(order[rank - 1], order[rank - 2]);
      return nn::TransposeOp::create(builder, loc, value, order);
    }
    case 2: {
      SmallVector<int64_t> starts(rank), strides(rank, 1), shape(type.getShape());
      for (int64_t dim : {rank - 2, rank - 1}) {
        starts[dim] = from(0, shape[dim] - 1);
        strides[dim] = from(0, 4) == 0 ? 2 : 1;
        shape[dim] = (shape[dim] - starts[dim] - 1) / strides[dim] + 1;
      }
      return nn::SliceOp::create(builder, loc, type.clone(shape), value, starts, strides);
    }
    case 3: {
      if (!isCondition || rank != 2)
        return value;
      Value other = condition(rows, columns);
      return from(0, 1) ? nn::AndOp::create(builder, loc, value, other).getResult()
                        : nn::OrOp::create(builder, loc, value, other).getResult();
    }
    default: {
      if (!isCondition)
        return value;
      auto result = type.clone(elementType());
      return nn::SelectOp::create(builder, loc, value, splat(result, from(0, 3)),
                                  splat(result, from(0, 3)));
    }
    }
  }

  std::mt19937 random;
  OpBuilder builder;
  Location loc;
};

TEST(Diagonals, AreWhatTheOracleComputes) {
  MLIRContext context;
  context.loadDialect<nn::NnDialect, func::FuncDialect>();
  int seen = 0, changing = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    RandomMatrix program(context, seed);
    std::optional<Diagonals> known = diagonalsOf(program.matrix);
    if (!known)
      continue;
    InterpreterOptions options;
    options.rounding = InterpreterOptions::Rounding::EveryResult;
    auto results = interpret(program.function, {}, options);
    ASSERT_TRUE(succeeded(results));
    const HostTensor &matrix = results->front();
    int64_t columns = matrix.shape.back(), rows = matrix.size() / columns;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Scalar told = known->at(j - i), is = matrix.at(i * columns + j);
        ASSERT_TRUE(matrix.isFloat() ? told.real == is.real : told.integer == is.integer)
            << "[" << i << ", " << j << "] of " << rows << " x " << columns;
      }
    ++seen;
    changing += known->stretches.size() > 1;
  }
  EXPECT_GE(seen, 1000);
  EXPECT_GE(changing, 500);
}

} // namespace
