// Random instances of every nn op, with random operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_DIALECTS_NN_RANDOMOPS_H
#define WEFT_TEST_UNIT_DIALECTS_NN_RANDOMOPS_H

#include "dialects/nn/IR/Nn.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace weft::nn::test {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine); }
  double real() { return std::uniform_real_distribution<double>(-2, 2)(engine); }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, choices.size() - 1)];
  }
  /// Mostly composite sizes, which can be split in several ways.
  int64_t size() { return pick<int64_t>({1, 2, 3, 4, 6, 8}); }
  llvm::SmallVector<int64_t> shape(int64_t lowRank, int64_t highRank) {
    llvm::SmallVector<int64_t> dims(integer(lowRank, highRank));
    for (int64_t &dim : dims)
      dim = size();
    return dims;
  }
  llvm::SmallVector<int64_t> permutation(int64_t count) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, count));
    std::shuffle(order.begin(), order.end(), engine);
    return order;
  }
  /// An increasing subset of [0, count).
  llvm::SmallVector<int64_t> subset(int64_t count) {
    llvm::SmallVector<int64_t> members;
    for (int64_t i = 0; i < count; ++i)
      if (chance(0.5))
        members.push_back(i);
    return members;
  }

private:
  std::mt19937_64 engine;
};

/// A tensor of random values: integers small, or of the whole range now and
/// then.
HostTensor randomTensor(Random &random, mlir::RankedTensorType type);

/// Builds one op; operands are block arguments or constants.
class OpFactory {
public:
  OpFactory(mlir::MLIRContext *context, Random &random)
      : random(random), builder(context), module(mlir::ModuleOp::create(builder.getUnknownLoc())) {
    builder.setInsertionPointToEnd(module->getBody());
  }

  mlir::Value argument(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// Integers in [low, high].
  mlir::Value indices(llvm::ArrayRef<int64_t> shape, int64_t low, int64_t high);
  mlir::Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  template <typename Op, typename... Args> mlir::Operation *make(Args &&...args) {
    return Op::create(builder, builder.getUnknownLoc(), std::forward<Args>(args)...);
  }
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Type number() {
    return random.chance(0.7)   ? mlir::Type(builder.getF64Type())
           : random.chance(0.5) ? mlir::Type(builder.getI64Type())
                                : mlir::Type(builder.getIntegerType(8, /*isSigned=*/false));
  }
  mlir::Type real() { return builder.getF64Type(); }

  Random &random;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Limits of index operands.
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges;
};

/// Makes an op of one mnemonic, or null if the random choices do not fit.
using Generator = std::function<mlir::Operation *(OpFactory &)>;

/// One for each op of the dialect but the elementwise ones.
const std::map<std::string, Generator> &structuredGenerators();

/// One for each combination of element types that an elementwise op's verifier
/// admits, named `nn.add(f32, f32) -> f32`.
std::map<std::string, Generator> elementwiseGenerators(mlir::MLIRContext *context);

/// Random values of the op's operands; of constants, their own.
llvm::SmallVector<HostTensor> randomOperands(OpFactory &factory, mlir::Operation *op);

/// The number of cases: reduced, or full with WEFT_TEST_FULL=1.
int64_t volume(int64_t reduced, int64_t full);

/// Expects equal integers, and floats within `tolerance` of the greatest value;
/// NaN equals NaN.
::testing::AssertionResult areClose(const HostTensor &expected, const HostTensor &found,
                                    double tolerance);

} // namespace weft::nn::test

#endif // WEFT_TEST_UNIT_DIALECTS_NN_RANDOMOPS_H
