// The axis search arrives at the published tensor-parallel schemes by cost alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/AxisSearch.h"

#include "dialects/nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace weft;

namespace {

class AxisSearchTest : public ::testing::Test {
protected:
  AxisSearchResult search(StringRef text, int64_t axisSize, bool sequenceParallel = false,
                          bool replay = true) {
    AxisSearchOptions options(CostModel(Mesh{{{"tp", axisSize}}}), 0);
    options.sequenceParallel = sequenceParallel;
    options.replay = replay;
    return search(text, std::move(options));
  }

  AxisSearchResult search(StringRef text, AxisSearchOptions options) {
    context.loadDialect<nn::NnDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
    options.isState = [&](Value value) {
      return !isa<BlockArgument>(value) || value != function.getArgument(0);
    };
    return searchAxis(function.front(), options);
  }

  /// `R`, `P`, or `dim/outer` of an argument's split.
  std::string argument(const AxisSearchResult &result, unsigned index) {
    return text(result.splits.lookup(function.getArgument(index)));
  }

  /// All that a search found, in program order.
  std::string describe(const AxisSearchResult &result) {
    std::string found = std::to_string(result.numCollectives) + " " +
                        std::to_string(result.bytesMoved) + " " +
                        std::to_string(result.numStatesPruned);
    for (Value argument : function.getArguments())
      found += "\n" + text(result.splits.lookup(argument));
    for (Operation &op : function.front()) {
      found += "\n";
      for (const AxisSplit &use : result.uses.lookup(&op))
        found += text(use) + " ";
      for (Value value : op.getResults())
        found += "-> " + text(result.splits.lookup(value));
    }
    return found;
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

/// The text of a block: %xL to %xN, with weights of its own, which are arguments.
struct BlockText {
  std::string arguments, body;
};

BlockText blockText(int kind) {
  std::string norm = R"mlir(
  %nL = nn.rms_norm %xL, %sL dim = 2 epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>)mlir";
  std::string residual = R"mlir(
  %xN = nn.add %xL, %dL : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>)mlir";
  std::string up = R"mlir(
  %aL = nn.contract %nL, %upL lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %gL = nn.gelu %aL : (tensor<4x16x256xf32>) -> tensor<4x16x256xf32>)mlir";
  std::string down = R"mlir(
  %dL = nn.contract %IL, %downL lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>)mlir";
  std::string arguments =
      ", %sL: tensor<64xf32>, %upL: tensor<64x256xf32>, %downL: tensor<256x64xf32>";
  auto reading = [&](std::string name) {
    std::string text = down;
    return text.replace(text.find("%IL"), 2, "%" + name);
  };
  switch (kind) {
  case 0: // a feed-forward layer
    return {arguments, norm + up + reading("g") + residual};
  case 1: // gated by a second matrix
    return {arguments + ", %gateL: tensor<64x256xf32>", norm + up + R"mlir(
  %hL = nn.contract %nL, %gateL lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %mL = nn.mul %gL, %hL : (tensor<4x16x256xf32>, tensor<4x16x256xf32>) -> tensor<4x16x256xf32>)mlir" +
                                                            reading("m") + residual};
  case 2: // linear, as gradients are, with a sum of its own that something reads whole
    return {arguments, R"mlir(
  %bL = nn.broadcast %sL dims = [2] : tensor<64xf32> -> tensor<4x16x64xf32>
  %nL = nn.mul %xL, %bL : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %rL = nn.reduce sum %nL dims = [0, 1] : tensor<4x16x64xf32> -> tensor<64xf32>
  %tL = nn.tanh %rL : (tensor<64xf32>) -> tensor<64xf32>)mlir" +
                           up + reading("g") + residual};
  default: // without a residual
    return {arguments, norm + up + reading("g") + R"mlir(
  %xN = nn.tanh %dL : (tensor<4x16x64xf32>) -> tensor<4x16x64xf32>)mlir"};
  }
}

/// Blocks of these kinds on each other.
std::string stack(ArrayRef<int> kinds) {
  std::string arguments = "%x0: tensor<4x16x64xf32>", body;
  auto append = [](std::string &text, StringRef block, size_t layer) {
    for (size_t i = 0; i < block.size(); ++i) {
      bool ends = i + 1 == block.size() || !llvm::isAlpha(block[i + 1]);
      bool numbered = ends && i > 0 && llvm::isLower(block[i - 1]);
      if (numbered && (block[i] == 'L' || block[i] == 'N'))
        text += std::to_string(layer + (block[i] == 'N'));
      else
        text += block[i];
    }
  };
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    append(arguments, blockText(kind).arguments, layer);
    append(body, blockText(kind).body, layer);
  }
  return "func.func @forward(" + arguments + ") -> tensor<4x16x64xf32> {" + body + "\n  return %x" +
         std::to_string(kinds.size()) + " : tensor<4x16x64xf32>\n}";
}

/// `layers` times x + down(gelu(up(norm x) + bias)), all with the same weights.
std::string mlp(int layers) {
  std::string text = R"mlir(
func.func @forward(%x0: tensor<4x16x64xf32>, %up: tensor<64x256xf32>, %bias: tensor<256xf32>,
                   %down: tensor<256x64xf32>, %scale: tensor<64xf32>) -> tensor<4x16x64xf32> {)mlir";
  for (int layer = 0; layer < layers; ++layer) {
    std::string body = R"mlir(
  %nL = nn.rms_norm %xL, %scale dim = 2 epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %aL = nn.contract %nL, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %bL = nn.broadcast %bias dims = [2] : tensor<256xf32> -> tensor<4x16x256xf32>
  %cL = nn.add %aL, %bL : (tensor<4x16x256xf32>, tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %gL = nn.gelu %cL : (tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %dL = nn.contract %gL, %down lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %xN = nn.add %xL, %dL : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>)mlir";
    for (char c : body)
      if (c == 'L')
        text += std::to_string(layer);
      else if (c == 'N')
        text += std::to_string(layer + 1);
      else
        text += c;
  }
  return text + "\n  return %x" + std::to_string(layers) + " : tensor<4x16x64xf32>\n}";
}

// Megatron-LM (Shoeybi et al., 2019): the first matrix is split by columns, the
// second by rows, one all_reduce.
TEST_F(AxisSearchTest, MlpIsColumnThenRow) {
  AxisSearchResult result = search(mlp(2), 4);
  EXPECT_EQ(argument(result, 1), "1/1");
  EXPECT_EQ(argument(result, 2), "0/1");
  EXPECT_EQ(argument(result, 3), "0/1");
  EXPECT_EQ(result.numCollectives, 2u);
  EXPECT_EQ(result.bytesMoved, 2 * 2.0 * 4 * 16 * 64 * 4 * 3 / 4);
  EXPECT_EQ(result.numStatesPruned, 0u);
}

/// The mesh dp=2,tp=4,mb=2, whose first axis, and, if asked, whose last one, splits the batch of
/// every activation.
AxisSearchOptions besideBatch(bool microbatches) {
  Mesh mesh{{{"dp", 2}, {"tp", 4}, {"mb", 2, AxisKind::Temporal}}};
  AxisSearchOptions options(CostModel(mesh), 1);
  options.placed = [mesh, microbatches](Value value) {
    Placement placement = Placement::replicated(cast<RankedTensorType>(value.getType()).getShape());
    if (placement.dims.size() == 3)
      placement.dims[0] = {{4, microbatches ? AxisList{0, 2} : AxisList{0}}};
    return placement;
  };
  return options;
}

// What another axis has split moves in parts: each replica of the batch sums its rows, and each
// microbatch its own, in as many collectives.
TEST_F(AxisSearchTest, BytesAreThoseOfOneDevice) {
  double whole = 2 * 2.0 * 4 * 16 * 64 * 4 * 3 / 4;
  AxisSearchResult split = search(mlp(2), besideBatch(/*microbatches=*/false));
  EXPECT_EQ(split.bytesMoved, whole / 2);
  EXPECT_EQ(split.numCollectives, 2u);
  AxisSearchResult inTurns = search(mlp(2), besideBatch(/*microbatches=*/true));
  EXPECT_EQ(inTurns.bytesMoved, whole / 2);
  EXPECT_EQ(inTurns.numCollectives, 4u);
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
  // The first norm reads a whole input and need not be split; from the first
  // sum on: reduce_scatter, all_gather, reduce_scatter.
  AxisSearchResult result = search(mlp(2), 4, true);
  EXPECT_EQ(result.numCollectives, 3u);
  EXPECT_EQ(result.bytesMoved, 3 * 1.0 * 4 * 16 * 64 * 4 * 3 / 4);
  Value residual = function.front().getTerminator()->getOperand(0);
  std::string split = text(result.splits.lookup(residual));
  EXPECT_TRUE(split == "0/1" || split == "1/1") << split;
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
})mlir",
                                   2);
  EXPECT_EQ(argument(result, 1), "0/1");
  EXPECT_EQ(text(result.splits.lookup(function.front().getTerminator()->getOperand(0))), "2/1");
  EXPECT_EQ(result.numCollectives, 1u);
}

// A block that finds what an equal one found is not searched again.
TEST_F(AxisSearchTest, EqualBlocksAreSearchedOnce) {
  AxisSearchResult few = search(stack(SmallVector<int>(6, 1)), 4);
  AxisSearchResult many = search(stack(SmallVector<int>(60, 1)), 4);
  EXPECT_EQ(many.numOpsSearched, few.numOpsSearched);
  EXPECT_EQ(many.numCollectives, 10 * few.numCollectives);
  EXPECT_EQ(many.bytesMoved, 10 * few.bytesMoved);
}

// x + down(h) + other(h) is combined once, though x is whole.
TEST_F(AxisSearchTest, WholeValuesJoinSums) {
  AxisSearchResult result = search(R"mlir(
func.func @forward(%x: tensor<4x16x64xf32>, %up: tensor<64x256xf32>, %down: tensor<256x64xf32>,
                   %other: tensor<256x64xf32>) -> tensor<4x16x64xf32> {
  %0 = nn.contract %x, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %1 = nn.gelu %0 : (tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %2 = nn.contract %1, %down lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %3 = nn.contract %1, %other lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %4 = nn.add %x, %2 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %5 = nn.add %4, %3 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %6 = nn.tanh %5 : (tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %6 : tensor<4x16x64xf32>
})mlir",
                                   4);
  EXPECT_EQ(result.numCollectives, 1u);
  EXPECT_EQ(argument(result, 0), "R");
  Operation *add = function.front().getTerminator()->getPrevNode()->getPrevNode()->getPrevNode();
  EXPECT_EQ(text(result.uses.lookup(add)[0]), "P");
}

// Who has not paid for a sum yet is not the cheapest: rather gather 64 columns than combine 256.
TEST_F(AxisSearchTest, BeamCountsSumsThatAreDue) {
  for (unsigned beam : {1, 1024}) {
    AxisSearchOptions options(CostModel(Mesh{{{"tp", 4}}}), 0);
    options.beam = beam;
    options.fixed = [](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getArgNumber() == 0
                 ? std::optional(AxisSplit{AxisSplit::Kind::Sharded, 2, 1, 64})
                 : std::nullopt;
    };
    AxisSearchResult result = search(R"mlir(
func.func @forward(%x: tensor<4x16x64xf32>, %up: tensor<64x256xf32>) -> tensor<4x16xf32> {
  %0 = nn.contract %x, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %1 = nn.tanh %0 : (tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %2 = nn.reduce sum %1 dims = [2] : tensor<4x16x256xf32> -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
})mlir",
                                     std::move(options));
    EXPECT_EQ(argument(result, 1), "1/1") << beam;
    EXPECT_EQ(result.bytesMoved, 4 * 16 * 64 * 4 * 3.0 / 4 + 2 * 4 * 16 * 4 * 3.0 / 4) << beam;
  }
}

// The new value of state rests as it is made; another result has a reader, who would gather it. The
// one is not taken for the other.
TEST_F(AxisSearchTest, UpdatesAreNotGathered) {
  AxisSearchMemory memory;
  for (bool isUpdate : {false, true}) {
    AxisSearchOptions options(CostModel(Mesh{{{"tp", 4}}}), 0);
    options.memory = &memory;
    if (isUpdate)
      options.isUpdate = [](Value value) { return !isa<BlockArgument>(value); };
    AxisSearchResult result = search(R"mlir(
func.func @forward(%x: tensor<64xf32>, %mean: tensor<64xf32>) -> tensor<64xf32> {
  %0 = nn.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = nn.add %mean, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
})mlir",
                                     std::move(options));
    EXPECT_EQ(argument(result, 1), isUpdate ? "0/1" : "R");
    EXPECT_EQ(result.numCollectives, 0u);
  }
}

// What is made of constants alone is split as its searched readers are; without any it is whole.
TEST_F(AxisSearchTest, WhatIsMadeOfConstantsIsSplitAsRead) {
  AxisSearchResult result = search(R"mlir(
func.func @forward(%x: tensor<4x16x64xf32>, %up: tensor<64x256xf32>, %down: tensor<256x64xf32>)
    -> (tensor<4x16x64xf32>, tensor<4x16x256xf32>) {
  %c = nn.constant dense<2.0> : tensor<256xf32> : tensor<256xf32>
  %0 = nn.broadcast %c dims = [2] : tensor<256xf32> -> tensor<4x16x256xf32>
  %1 = nn.broadcast %c dims = [2] : tensor<256xf32> -> tensor<4x16x256xf32>
  %2 = nn.contract %x, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %3 = nn.mul %2, %0 : (tensor<4x16x256xf32>, tensor<4x16x256xf32>) -> tensor<4x16x256xf32>
  %4 = nn.contract %3, %down lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %5 = nn.tanh %4 : (tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %5, %1 : tensor<4x16x64xf32>, tensor<4x16x256xf32>
})mlir",
                                   4);
  auto made = llvm::to_vector(function.getOps<nn::BroadcastOp>());
  EXPECT_EQ(text(result.splits.lookup(made[0].getResult())), "2/1");
  EXPECT_EQ(text(result.uses.lookup(made[0])[0]), "0/1");
  EXPECT_EQ(text(result.splits.lookup(made[1].getResult())), "R");
  EXPECT_EQ(result.numCollectives, 1u);
}

// What is replayed is what a search finds, whatever blocks follow each other.
TEST_F(AxisSearchTest, ReplayFindsWhatSearchFinds) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 12; ++trial) {
    // Runs of equal blocks, so that some are replayed.
    SmallVector<int> kinds;
    while (kinds.size() < 16)
      kinds.append(1 + random() % 5, random() % 4);
    std::string text = stack(kinds);
    bool sequenceParallel = trial % 2;
    AxisSearchResult searched = search(text, 4, sequenceParallel, /*replay=*/false);
    std::string expected = describe(searched);
    AxisSearchResult replayed = search(text, 4, sequenceParallel);
    EXPECT_EQ(describe(replayed), expected) << "trial " << trial;
    EXPECT_LT(replayed.numOpsSearched, searched.numOpsSearched) << "trial " << trial;
  }
}

// However few frontiers it remembers, it finds the same.
TEST_F(AxisSearchTest, ForgettingFindsTheSame) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 8; ++trial) {
    SmallVector<int> kinds;
    while (kinds.size() < 16)
      kinds.append(1 + random() % 5, random() % 4);
    std::string text = stack(kinds);
    AxisSearchResult all = search(text, 4, /*sequenceParallel=*/trial % 2);
    std::string expected = describe(all);
    for (size_t remembered : {0, 4096}) {
      AxisSearchOptions options(CostModel(Mesh{{{"tp", 4}}}), 0);
      options.sequenceParallel = trial % 2;
      options.rememberedBytes = remembered;
      AxisSearchResult few = search(text, std::move(options));
      EXPECT_EQ(describe(few), expected) << "trial " << trial << ", " << remembered;
      EXPECT_GT(few.numOpsSearched, all.numOpsSearched) << "trial " << trial << ", " << remembered;
      EXPECT_LT(few.rememberedBytes, all.rememberedBytes)
          << "trial " << trial << ", " << remembered;
    }
  }
}

// What searches of other programs, axes and ways to move have found before changes nothing but how
// much is searched: of a program with one more of the same blocks less.
TEST_F(AxisSearchTest, MemoryFindsTheSame) {
  std::mt19937 random(13);
  AxisSearchMemory memory;
  for (int trial = 0; trial < 12; ++trial) {
    SmallVector<int> kinds(2, trial % 3);
    kinds.append(1 + random() % 3, random() % 4);
    for (bool sequenceParallel : {false, true}) {
      for (int more : {0, 1, 2}) {
        kinds.append(more != 0, kinds.back());
        std::string text = stack(kinds);
        int64_t axisSize = trial % 2 ? 2 : 4;
        AxisSearchResult alone = search(text, axisSize, sequenceParallel);
        std::string expected = describe(alone);
        AxisSearchOptions options(CostModel(Mesh{{{"tp", axisSize}}}), 0);
        options.sequenceParallel = sequenceParallel;
        options.memory = &memory;
        AxisSearchResult found = search(text, std::move(options));
        EXPECT_EQ(describe(found), expected) << "trial " << trial << ", " << more << " more";
        EXPECT_LE(found.numOpsSearched, alone.numOpsSearched - (more > 0)) << "trial " << trial;
      }
    }
  }
}

} // namespace
