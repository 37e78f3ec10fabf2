// Small mistakes in kernels are seen: by the emulator or by other results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mutants.h"
#include "TwinRunner.h"

#include "weft/Target/Twin/KernelCompiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

/// A kernel's code and what it is run on.
class Subject {
public:
  Subject(func::FuncOp function, uint64_t seed)
      : name(function.getName().str()), results(resultsOf(function)) {
    std::mt19937_64 random(seed);
    for (Type type : function.getArgumentTypes())
      arguments.push_back(toBytes(randomTensor(cast<RankedTensorType>(type), {-2, 2}, random)));
  }

  /// In all turns, until one has an error. Nothing, if it does not compile.
  std::vector<Outcome> run(ModuleOp gpu) const {
    auto kernels = twin::compileGpuKernels(gpu, {"native", 1});
    cpu::KernelLoader loader;
    std::string why;
    if (failed(kernels) || failed(loader.add(*kernels, why)))
      return {};
    std::vector<Outcome> outcomes;
    for (const Turn &turn : turns(7)) {
      emulator::setOrder(turn.order, turn.seed);
      outcomes.push_back(launch(loader.find(name), kernels->front().shape, arguments, results));
      if (!outcomes.back().error.empty())
        break;
    }
    return outcomes;
  }

private:
  std::string name;
  Buffers arguments;
  std::vector<ResultBuffer> results;
};

} // namespace

static constexpr llvm::StringLiteral kKernels[] = {
    // Flat, with a tail; and in 16 bits.
    R"(func.func @flat(%x: tensor<1003xf32>, %y: tensor<1003xf32>) -> tensor<1003xf32> {
  %0 = nn.add %x, %y : (tensor<1003xf32>, tensor<1003xf32>) -> tensor<1003xf32>
  return %0 : tensor<1003xf32>
})",
    R"(func.func @half(%x: tensor<517xbf16>, %y: tensor<517xbf16>) -> tensor<517xbf16> {
  %0 = nn.mul %x, %y : (tensor<517xbf16>, tensor<517xbf16>) -> tensor<517xbf16>
  return %0 : tensor<517xbf16>
})",
    // Rows, by warps and by blocks.
    R"(func.func @softmax(%x: tensor<6x250xf32>) -> tensor<6x250xf32> {
  %0 = nn.softmax %x dim = 1 : (tensor<6x250xf32>) -> tensor<6x250xf32>
  return %0 : tensor<6x250xf32>
})",
    R"(func.func @norm(%x: tensor<4x1025xbf16>, %s: tensor<1025xbf16>, %t: tensor<1025xbf16>) -> tensor<4x1025xbf16> {
  %0 = nn.layer_norm %x, %s, %t dim = 1 epsilon = 1.0e-5 : (tensor<4x1025xbf16>, tensor<1025xbf16>, tensor<1025xbf16>) -> tensor<4x1025xbf16>
  return %0 : tensor<4x1025xbf16>
})",
    R"(func.func @residual(%a: tensor<7x96xf32>, %b: tensor<7x96xf32>, %s: tensor<96xf32>) -> (tensor<7x96xf32>, tensor<7x96xf32>) {
  %c = nn.add %a, %b : (tensor<7x96xf32>, tensor<7x96xf32>) -> tensor<7x96xf32>
  %r = nn.rms_norm %c, %s dim = 1 epsilon = 1.0e-1 : (tensor<7x96xf32>, tensor<96xf32>) -> tensor<7x96xf32>
  return %c, %r : tensor<7x96xf32>, tensor<7x96xf32>
})",
    // Numbers of two words.
    R"(func.func @wide(%x: tensor<3x700xf64>) -> tensor<3xf64> {
  %0 = nn.reduce sum %x dims = [1] : tensor<3x700xf64> -> tensor<3xf64>
  return %0 : tensor<3xf64>
})",
    // Columns, everything, and a transpose.
    R"(func.func @columns(%g: tensor<70x60xf32>, %x: tensor<70x60xf32>) -> (tensor<60xf32>, tensor<60xf32>) {
  %p = nn.mul %g, %x : (tensor<70x60xf32>, tensor<70x60xf32>) -> tensor<70x60xf32>
  %a = nn.reduce sum %p dims = [0] : tensor<70x60xf32> -> tensor<60xf32>
  %b = nn.reduce max %g dims = [0] : tensor<70x60xf32> -> tensor<60xf32>
  return %a, %b : tensor<60xf32>, tensor<60xf32>
})",
    R"(func.func @everything(%x: tensor<3000xf32>) -> tensor<f32> {
  %0 = nn.mul %x, %x : (tensor<3000xf32>, tensor<3000xf32>) -> tensor<3000xf32>
  %1 = nn.reduce sum %0 dims = [0] : tensor<3000xf32> -> tensor<f32>
  return %1 : tensor<f32>
})",
    R"(func.func @transpose(%x: tensor<35x50xf32>) -> tensor<50x35xf32> {
  %0 = nn.tanh %x : (tensor<35x50xf32>) -> tensor<35x50xf32>
  %1 = nn.transpose %0 permutation = [1, 0] : tensor<35x50xf32> -> tensor<50x35xf32>
  return %1 : tensor<50x35xf32>
})",
    R"(func.func @loss(%x: tensor<9x100xf32>) -> (tensor<9xf32>, tensor<9x100xf32>) {
  %m = nn.reduce max %x dims = [1] : tensor<9x100xf32> -> tensor<9xf32>
  %mm = nn.broadcast %m dims = [0] : tensor<9xf32> -> tensor<9x100xf32>
  %d = nn.sub %x, %mm : (tensor<9x100xf32>, tensor<9x100xf32>) -> tensor<9x100xf32>
  %e = nn.exp %d : (tensor<9x100xf32>) -> tensor<9x100xf32>
  %s = nn.reduce sum %e dims = [1] : tensor<9x100xf32> -> tensor<9xf32>
  %l = nn.log %s : (tensor<9xf32>) -> tensor<9xf32>
  %ss = nn.broadcast %s dims = [0] : tensor<9xf32> -> tensor<9x100xf32>
  %p = nn.div %e, %ss : (tensor<9x100xf32>, tensor<9x100xf32>) -> tensor<9x100xf32>
  return %l, %p : tensor<9xf32>, tensor<9x100xf32>
})",
    R"(func.func @scan(%x: tensor<5x40xf32>) -> tensor<5x40xf32> {
  %0 = nn.scan sum %x dim = 1 : tensor<5x40xf32> -> tensor<5x40xf32>
  return %0 : tensor<5x40xf32>
})",
    // Passes over a row in one warp, of which a row and a number overwrite what lanes have read.
    R"(func.func @in_place(%n: tensor<1x16xf32>, %x: tensor<1x16x256xf32>, %y: tensor<1x16x256xbf16>) -> (tensor<1x16xf32>, tensor<1x16x256xf32>, tensor<1x256xf32>) attributes {rt.in_place = array<i64: 0, 1, -1>} {
  %m = nn.reduce max %x dims = [2] : tensor<1x16x256xf32> -> tensor<1x16xf32>
  %o = nn.add %n, %m : tensor<1x16xf32>
  %s = nn.broadcast %o dims = [0, 1] : tensor<1x16xf32> -> tensor<1x16x256xf32>
  %d = nn.sub %x, %s : tensor<1x16x256xf32>
  %b = nn.cast %y : (tensor<1x16x256xbf16>) -> tensor<1x16x256xf32>
  %z = nn.add %d, %b : tensor<1x16x256xf32>
  %c = nn.reduce max %z dims = [1] : tensor<1x16x256xf32> -> tensor<1x256xf32>
  return %o, %z, %c : tensor<1x16xf32>, tensor<1x16x256xf32>, tensor<1x256xf32>
})",
    // Rows that a block fills, and of which it finds its changes.
    R"(func.func @changes(%x: tensor<3x8xf32>, %i: tensor<90x1xi64>, %u: tensor<90x8xf32>) -> tensor<3x8xf32> {
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<3x8xf32>, tensor<90x1xi64>, tensor<90x8xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
})",
};

TEST(TwinMutants, AreCaught) {
  MLIRContext context(twinRegistry());
  std::map<std::string, std::pair<unsigned, unsigned>> caughtOf;
  std::vector<std::string> unseen;
  unsigned total = 0, byEmulator = 0;
  for (StringRef text : kKernels) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    OwningOpRef<ModuleOp> gpu = toGpu(*module);
    ASSERT_TRUE(gpu);
    Subject subject(function, 5);
    std::vector<Outcome> right = subject.run(*gpu);
    ASSERT_EQ(right.size(), turns(0).size());
    for (const Outcome &outcome : right)
      ASSERT_TRUE(outcome == right.front() && outcome.error.empty()) << outcome.error;
    for (Mutant &mutant : mutantsOf(*gpu)) {
      std::vector<Outcome> outcomes = subject.run(*mutant.module);
      ASSERT_FALSE(outcomes.empty()) << mutant.name << " does not compile";
      bool isCaught = !(outcomes == right);
      auto &[caught, all] = caughtOf[mutant.kind];
      caught += isCaught;
      ++all;
      ++total;
      byEmulator += !outcomes.back().error.empty();
      if (!isCaught)
        unseen.push_back(function.getName().str() + ": " + mutant.kind);
    }
  }
  for (auto &[kind, counts] : caughtOf)
    std::printf("%-28s %u of %u\n", kind.c_str(), counts.first, counts.second);
  std::printf("%u mutants, of which the emulator names %u\n", total, byEmulator);
  EXPECT_GE(total, 200u);
  // Behind that barrier each thread reads the four sums that it has stored itself, and no others:
  // `tid * 4` in a loop that begins with `tid` and ends after one turn.
  EXPECT_EQ(unseen, std::vector<std::string>({"residual: barrier dropped"}));
  EXPECT_EQ(caughtOf.size(), 10u);
}
