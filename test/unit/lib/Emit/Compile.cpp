// Helpers of the tests that compile and run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"

#include "../../../support/Distance.h"
#include "weft/Registration/Registration.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <random>

using namespace mlir;
using namespace weft;

const char *const test::kBlock = R"(
func.func @forward(%x: tensor<2x8x32xf32> {nn.name = "x"}, %w: tensor<32x96xf32> {nn.name = "w"}, %b: tensor<96xf32> {nn.name = "b"},
    %wo: tensor<32x32xf32> {nn.name = "wo"}, %g: tensor<32xf32> {nn.name = "g"}) -> (tensor<2x8x32xf32> {nn.name = "y"}) {
  %n = nn.rms_norm %x, %g dim = 2 epsilon = 1.0e-5 : (tensor<2x8x32xf32>, tensor<32xf32>) -> tensor<2x8x32xf32>
  %p = nn.contract %n, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x8x32xf32>, tensor<32x96xf32>) -> tensor<2x8x96xf32>
  %bb = nn.broadcast %b dims = [2] : tensor<96xf32> -> tensor<2x8x96xf32>
  %q0 = nn.add %p, %bb : (tensor<2x8x96xf32>, tensor<2x8x96xf32>) -> tensor<2x8x96xf32>
  %r0 = nn.reshape %q0 : tensor<2x8x96xf32> -> tensor<2x8x3x4x8xf32>
  %qs = nn.slice %r0 starts = [0, 0, 0, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x8x3x4x8xf32> -> tensor<2x8x1x4x8xf32>
  %ks = nn.slice %r0 starts = [0, 0, 1, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x8x3x4x8xf32> -> tensor<2x8x1x4x8xf32>
  %vs = nn.slice %r0 starts = [0, 0, 2, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x8x3x4x8xf32> -> tensor<2x8x1x4x8xf32>
  %q1 = nn.reshape %qs : tensor<2x8x1x4x8xf32> -> tensor<2x8x4x8xf32>
  %k1 = nn.reshape %ks : tensor<2x8x1x4x8xf32> -> tensor<2x8x4x8xf32>
  %v1 = nn.reshape %vs : tensor<2x8x1x4x8xf32> -> tensor<2x8x4x8xf32>
  %q = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<2x8x4x8xf32> -> tensor<2x4x8x8xf32>
  %k = nn.transpose %k1 permutation = [0, 2, 1, 3] : tensor<2x8x4x8xf32> -> tensor<2x4x8x8xf32>
  %v = nn.transpose %v1 permutation = [0, 2, 1, 3] : tensor<2x8x4x8xf32> -> tensor<2x4x8x8xf32>
  %a = nn.attention %q, %k, %v scale = 0.25 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %at = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<2x4x8x8xf32> -> tensor<2x8x4x8xf32>
  %ar = nn.reshape %at : tensor<2x8x4x8xf32> -> tensor<2x8x32xf32>
  %o = nn.contract %ar, %wo lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x8x32xf32>, tensor<32x32xf32>) -> tensor<2x8x32xf32>
  %r = nn.add %o, %x : (tensor<2x8x32xf32>, tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  %s = nn.softmax %r dim = 2 : (tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
  return %s : tensor<2x8x32xf32>
}
)";

const char *const test::kMlp = R"(
func.func @forward(%x: tensor<6x8xf32> {nn.name = "x"}, %w1: tensor<8x16xf32> {nn.name = "w1"}, %w2: tensor<16x8xf32> {nn.name = "w2"})
    -> (tensor<6x8xf32> {nn.name = "y"}, tensor<8x6xf32> {nn.name = "t"}) {
  %h = nn.contract %x, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<6x8xf32>, tensor<8x16xf32>) -> tensor<6x16xf32>
  %g = nn.gelu %h : (tensor<6x16xf32>) -> tensor<6x16xf32>
  %o = nn.contract %g, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %e = nn.exp %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = nn.add %o, %e : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %t = nn.transpose %x permutation = [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  return %y, %t : tensor<6x8xf32>, tensor<8x6xf32>
}
)";

const char *const test::kImage = R"(
func.func @forward(%x: tensor<2x3x8x8xf32> {nn.name = "x"}, %w: tensor<4x3x3x3xf32> {nn.name = "w"})
    -> (tensor<2x4xf32> {nn.name = "y"}) {
  %c = nn.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>,
    input_dilation = array<i64: 1, 1>, filter_dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %s = nn.silu %c : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %r = nn.reduce sum %s dims = [2, 3] : tensor<2x4x8x8xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
)";

// Rows added to zeros, to a value that is read for the last time, and to one that is read again; of
// doubles, too.
const char *const test::kRows = R"(
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x"}, %u: tensor<6x4xf32> {nn.name = "u"})
    -> (tensor<8x4xf32> {nn.name = "zeros"}, tensor<8x4xf32> {nn.name = "last"}, tensor<8x4xf32> {nn.name = "again"}, tensor<8x4xf32> {nn.name = "wide"}) {
  %i = nn.constant dense<[[3], [0], [3], [-1], [8], [3]]> : tensor<6x1xi64> : tensor<6x1xi64>
  %z = nn.constant dense<0.0> : tensor<8x4xf32> : tensor<8x4xf32>
  %0 = nn.scatter add %z, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<8x4xf32>, tensor<6x1xi64>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %e = nn.softmax %x dim = 1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.scatter add %e, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<8x4xf32>, tensor<6x1xi64>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %a = nn.exp %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %f = nn.softmax %x dim = 0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = nn.scatter add %f, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<8x4xf32>, tensor<6x1xi64>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %b = nn.mul %2, %f : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = nn.cast %x : (tensor<8x4xf32>) -> tensor<8x4xf64>
  %v = nn.cast %u : (tensor<6x4xf32>) -> tensor<6x4xf64>
  %3 = nn.scatter add %h, %i, %v indexed = [0] operand_batch = [] indices_batch = [] : (tensor<8x4xf64>, tensor<6x1xi64>, tensor<6x4xf64>) -> tensor<8x4xf64>
  %c = nn.cast %3 : (tensor<8x4xf64>) -> tensor<8x4xf32>
  return %0, %a, %b, %c : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
)";

MLIRContext &test::context() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

test::Sample test::makeSample(llvm::StringRef text, unsigned seed) {
  Sample sample;
  sample.module = parseSourceString<ModuleOp>(text, &context());
  assert(sample.module && "the sample parses");
  auto function = sample.module->lookupSymbol<func::FuncOp>("forward");
  std::mt19937 random(seed);
  for (Type type : function.getArgumentTypes()) {
    HostTensor tensor(cast<RankedTensorType>(type));
    for (double &value : tensor.reals)
      value = double(int(random() % 2001) - 1000) / 1000;
    roundToOwnType(tensor);
    sample.inputs.push_back(std::move(tensor));
  }
  for (Type type : function.getResultTypes())
    sample.types.push_back(cast<RankedTensorType>(type));
  auto outputs = interpret(function, sample.inputs);
  assert(succeeded(outputs) && "the oracle runs the sample");
  sample.expected.assign(outputs->begin(), outputs->end());
  return sample;
}

OwningOpRef<ModuleOp> test::schedule(const Sample &sample, const std::string &mesh) {
  PhaseOptions options;
  options.mesh = *Mesh::parse(mesh);
  return schedule(sample.module.get(), options);
}

OwningOpRef<ModuleOp> test::schedule(ModuleOp graph, const PhaseOptions &options) {
  OwningOpRef<ModuleOp> module = graph.clone();
  PassManager pm(&context());
  for (Phase phase : {Phase::Step, Phase::Sharded, Phase::Local, Phase::Scheduled})
    buildPhase(pm, phase, options);
  return succeeded(pm.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

double test::distance(llvm::ArrayRef<HostTensor> found, llvm::ArrayRef<HostTensor> expected) {
  if (found.size() != expected.size())
    return INFINITY;
  double worst = 0;
  for (auto [y, o] : llvm::zip(found, expected)) {
    if (y.reals.size() != o.reals.size())
      return INFINITY;
    Distance distance(Specials::AreWrong);
    for (auto [a, b] : llvm::zip(y.reals, o.reals))
      distance.add(a, b);
    worst = std::max(worst, distance.relative());
  }
  return worst;
}
