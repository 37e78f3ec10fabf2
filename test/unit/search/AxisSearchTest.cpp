// The axis search arrives at the published tensor-parallel schemes by cost alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/AxisSearch.h"

#include "dialects/nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;

namespace {

class AxisSearchTest : public ::testing::Test {
protected:
  AxisSearchResult search(StringRef text, int64_t axisSize, bool sequenceParallel = false) {
    context.loadDialect<nn::NnDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
    AxisSearchOptions options;
    options.axisSize = axisSize;
    options.countReplicatedElements = sequenceParallel;
    return searchAxis(function.front(), options);
  }

  /// `R`, `P`, or `dim/outer` of an argument's split.
  std::string argument(const AxisSearchResult &result, unsigned index) {
    return text(result.splits.lookup(function.getArgument(index)));
  }

  static std::string text(const AxisSplit &split) {
    switch (split.kind) {
    case AxisSplit::Kind::Replicated:
      return "R";
    case AxisSplit::Kind::Partial:
      return "P";
    case AxisSplit::Kind::Sharded:
      return std::to_string(split.dim) + "/" + std::to_string(split.outer);
    }
    return "";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

constexpr StringLiteral kMlp = R"mlir(
func.func @forward(%x: tensor<4x16x64xf32>, %up: tensor<64x256xf32>, %b1: tensor<256xf32>,
                   %down: tensor<256x64xf32>, %scale: tensor<64xf32>) -> tensor<4x16x64xf32> {
  %n = nn.rms_norm %x, %scale dim = 2 epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %0 = nn.contract %n, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %1 = nn.broadcast %b1 dims = [2] : tensor<256xf32> -> tensor<4x16x256xf32>
  %2 = nn.add %0, %1 : (tensor<4x16x256xf32>, tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %3 = nn.gelu %2 : (tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %4 = nn.contract %3, %down lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %5 = nn.add %x, %4 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %6 = nn.rms_norm %5, %scale dim = 2 epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  return %6 : tensor<4x16x64xf32>
})mlir";

// Megatron-LM (Shoeybi et al., 2019): the first matrix is split by columns, the
// second by rows, one all_reduce.
TEST_F(AxisSearchTest, MlpIsColumnThenRow) {
  AxisSearchResult result = search(kMlp, 4);
  EXPECT_EQ(argument(result, 1), "1/1");
  EXPECT_EQ(argument(result, 2), "0/1");
  EXPECT_EQ(argument(result, 3), "0/1");
  EXPECT_EQ(result.numCollectives, 1u);
  EXPECT_EQ(result.bytesMoved, 2.0 * 4 * 16 * 64 * 4 * 3 / 4);
  EXPECT_EQ(result.numStatesPruned, 0u);
}

constexpr StringLiteral kFusedQkv = R"mlir(
func.func @forward(%x: tensor<2x8x24xf32>, %qkv: tensor<24x72xf32>, %b: tensor<72xf32>,
                   %out: tensor<24x24xf32>) -> tensor<2x8x24xf32> {
  %0 = nn.contract %x, %qkv lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<2x8x24xf32>, tensor<24x72xf32>) -> tensor<2x8x72xf32>
  %1 = nn.broadcast %b dims = [2] : tensor<72xf32> -> tensor<2x8x72xf32>
  %2 = nn.add %0, %1 : (tensor<2x8x72xf32>, tensor<2x8x72xf32>) -> tensor<2x8x72xf32>
  %q0 = nn.slice %2 starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x8x72xf32> -> tensor<2x8x24xf32>
  %k0 = nn.slice %2 starts = [0, 0, 24] strides = [1, 1, 1] : tensor<2x8x72xf32> -> tensor<2x8x24xf32>
  %v0 = nn.slice %2 starts = [0, 0, 48] strides = [1, 1, 1] : tensor<2x8x72xf32> -> tensor<2x8x24xf32>
  %q1 = nn.reshape %q0 : tensor<2x8x24xf32> -> tensor<2x8x4x6xf32>
  %k1 = nn.reshape %k0 : tensor<2x8x24xf32> -> tensor<2x8x4x6xf32>
  %v1 = nn.reshape %v0 : tensor<2x8x24xf32> -> tensor<2x8x4x6xf32>
  %q = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<2x8x4x6xf32> -> tensor<2x4x8x6xf32>
  %k = nn.transpose %k1 permutation = [0, 2, 1, 3] : tensor<2x8x4x6xf32> -> tensor<2x4x8x6xf32>
  %v = nn.transpose %v1 permutation = [0, 2, 1, 3] : tensor<2x8x4x6xf32> -> tensor<2x4x8x6xf32>
  %a = nn.attention %q, %k, %v scale = 4.0e-1 {causal}
      : (tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
  %3 = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<2x4x8x6xf32> -> tensor<2x8x4x6xf32>
  %4 = nn.reshape %3 : tensor<2x8x4x6xf32> -> tensor<2x8x24xf32>
  %5 = nn.contract %4, %out lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<2x8x24xf32>, tensor<24x24xf32>) -> tensor<2x8x24xf32>
  %6 = nn.add %x, %5 : (tensor<2x8x24xf32>, tensor<2x8x24xf32>) -> tensor<2x8x24xf32>
  return %6 : tensor<2x8x24xf32>
})mlir";

// GPT-2's fused projection is split on heads: (3)(24:tp), not on blocks of 72.
TEST_F(AxisSearchTest, FusedQkvIsSplitOnHeads) {
  AxisSearchResult result = search(kFusedQkv, 2);
  EXPECT_EQ(argument(result, 1), "1/3");
  EXPECT_EQ(argument(result, 2), "0/3");
  EXPECT_EQ(argument(result, 3), "0/1");
  EXPECT_EQ(result.numCollectives, 1u);
}

// Korthikanti et al., 2022: norms and residuals split along the sequence, an
// all_gather before and a reduce_scatter after each block, the same bytes.
TEST_F(AxisSearchTest, SequenceParallelNorms) {
  AxisSearchResult plain = search(kMlp, 4), split = search(kMlp, 4, true);
  EXPECT_EQ(split.numCollectives, 2u);
  EXPECT_EQ(split.bytesMoved, plain.bytesMoved);
  Value norm = *function.front().front().result_begin();
  EXPECT_EQ(text(split.splits.lookup(norm)).substr(1), "/1");
  EXPECT_NE(text(split.splits.lookup(norm))[0], '2');
}

// A table used for lookup and as output layer is split by vocabulary in both.
TEST_F(AxisSearchTest, TiedEmbeddingIsVocabularyParallel) {
  AxisSearchResult result = search(R"mlir(
func.func @forward(%ids: tensor<2x8x1xi64>, %table: tensor<50x16xf32>, %scale: tensor<16xf32>) -> tensor<2x8x50xf32> {
  %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<50x16xf32>, tensor<2x8x1xi64>) -> tensor<2x8x16xf32>
  %1 = nn.rms_norm %0, %scale dim = 2 epsilon = 1.0e-5 : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
  %2 = nn.contract %1, %table lhs = [0, 1, 2] rhs = [3, 2] result = [0, 1, 3] accumulate = f32
      : (tensor<2x8x16xf32>, tensor<50x16xf32>) -> tensor<2x8x50xf32>
  return %2 : tensor<2x8x50xf32>
})mlir", 2);
  EXPECT_EQ(argument(result, 1), "0/1");
  EXPECT_EQ(text(result.splits.lookup(function.front().getTerminator()->getOperand(0))), "2/1");
  EXPECT_EQ(result.numCollectives, 1u);
}

} // namespace
