// Training steps that call routines, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalledStep.h"

#include "../../passes/dist/RandomModel.h"

#include "passes/rt/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <regex>

using namespace mlir;
using namespace weft;

namespace {

/// Three microbatches through two layers. Layers share a routine, which communicates inside; a
/// routine adds gradients in place to what the microbatches before made. The first one's are set,
/// by a routine of its own or as sums to which nothing was added; their sums over devices and the
/// updates are routines too.
const char *const kStep = R"(
#mesh = #dist.mesh<["dp"=RANKS]>
!x = tensor<12x4xf64, #dist.local<#mesh, [ROWS{"dp"}, 4]>>
!b = tensor<4x4xf64, #dist.local<#mesh, [BATCH{"dp"}, 4]>>
!w = tensor<4x4xf64, #dist.local<#mesh, [4, 4]>>
!g = tensor<4x4xf64, #dist.local<#mesh, [4, 4], partial = sum["dp"]>>
!n = tensor<4xf64, #dist.local<#mesh, [4], partial = sum["dp"]>>
!m = tensor<4xf64, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh} {
func.func private @block(%x: !b, %w: !w) -> !b attributes {rt.routine} {
  %0 = nn.reduce sum %x dims = [0] : !b -> !n loc("/h.{}/sums")
  %1 = dist.all_reduce %0 ["dp"] accumulate f64 : !n -> !m loc("/h.{}/sums")
  %2 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64 : (!b, !w) -> !b loc("/h.{}/product")
  %3 = nn.exp %2 : (!b) -> !b loc("/h.{}/exp")
  %c = nn.constant dense<[[0.5, 0.25, 0.125, 0.5], [0.5, 0.75, 0.125, 0.5], [0.5, 0.25, 0.375, 0.5], [0.5, 0.25, 0.125, 0.25]]> : tensor<4x4xf64> : !b
  %4 = nn.mul %3, %c : (!b, !b) -> !b loc("/h.{}/scaled")
  %5 = nn.broadcast %1 dims = [1] : !m -> !b loc("/h.{}/result")
  %6 = nn.sub %4, %5 : (!b, !b) -> !b loc("/h.{}/result")
  return %6 : !b
}
func.func private @first(%x: !b, %y: !b) -> !g attributes {rt.routine} {
  %0 = nn.contract %x, %y lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f64 {nn.role = "weight_gradient"} : (!b, !b) -> !g
  return %0 : !g
}
func.func private @next(%x: !b, %y: !b, %g: !g) -> !g attributes {rt.routine, rt.in_place = array<i64: 2>} {
  %0 = nn.contract %x, %y lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f64 {nn.role = "weight_gradient"} : (!b, !b) -> !g
  %1 = nn.add %g, %0 {nn.role = "weight_gradient"} : (!g, !g) -> !g
  return %1 : !g
}
func.func private @reduce(%g: !g, %h: !g) -> (!w, !w) attributes {rt.routine} {
  %0 = dist.all_reduce %g ["dp"] accumulate f64 : !g -> !w
  %1 = dist.all_reduce %h ["dp"] accumulate f64 : !g -> !w
  return %0, %1 : !w, !w
}
func.func private @update(%w: !w, %g: !w) -> !w attributes {rt.routine, rt.in_place = array<i64: 0>} {
  %c = nn.constant dense<0.0625> : tensor<4x4xf64> : !w
  %0 = nn.mul %g, %c {nn.role = "optimizer"} : (!w, !w) -> !w
  %1 = nn.sub %w, %0 {nn.role = "optimizer"} : (!w, !w) -> !w
  return %1 : !w
}
func.func @step(%x: !x {nn.name = "x"},
    %w: !w {nn.name = "w", nn.initial = dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, -0.1, -0.2, -0.3], [-0.4, -0.5, -0.6, -0.7]]> : tensor<4x4xf64>},
    %v: !w {nn.name = "v", nn.initial = dense<[[0.3, -0.2, 0.1, 0.4], [0.15, 0.6, -0.7, 0.2], [0.9, 0.1, -0.2, 0.35], [0.4, -0.5, 0.6, -0.7]]> : tensor<4x4xf64>})
    -> (!b {nn.name = "y"}, !w {nn.updates = "w"}, !w {nn.updates = "v"}) {
  %x0 = nn.slice %x starts = [0, 0] strides = [1, 1] : !x -> !b
  %x1 = nn.slice %x starts = [4, 0] strides = [1, 1] : !x -> !b
  %x2 = nn.slice %x starts = [8, 0] strides = [1, 1] : !x -> !b
  %h0 = rt.call @block(%x0, %w) {label = "0", microbatch = 0 : i64} : (!b, !w) -> !b
  %k0 = rt.call @block(%h0, %v) {label = "1", microbatch = 0 : i64} : (!b, !w) -> !b
  %a0 = rt.call @first(%x0, %k0) {label = "0", microbatch = 0 : i64} : (!b, !b) -> !g
  %n0 = rt.nothing {rt.roles = ["weight_gradient"]} : !g
  %b0 = rt.call @next(%h0, %k0, %n0) {label = "1", microbatch = 0 : i64} : (!b, !b, !g) -> !g
  %h1 = rt.call @block(%x1, %w) {label = "0", microbatch = 1 : i64} : (!b, !w) -> !b
  %k1 = rt.call @block(%h1, %v) {label = "1", microbatch = 1 : i64} : (!b, !w) -> !b
  %a1 = rt.call @next(%x1, %k1, %a0) {label = "0", microbatch = 1 : i64} : (!b, !b, !g) -> !g
  %b1 = rt.call @next(%h1, %k1, %b0) {label = "1", microbatch = 1 : i64} : (!b, !b, !g) -> !g
  %h2 = rt.call @block(%x2, %w) {label = "0", microbatch = 2 : i64} : (!b, !w) -> !b
  %k2 = rt.call @block(%h2, %v) {label = "1", microbatch = 2 : i64} : (!b, !w) -> !b
  %a2 = rt.call @next(%x2, %k2, %a1) {label = "0", microbatch = 2 : i64} : (!b, !b, !g) -> !g
  %b2 = rt.call @next(%h2, %k2, %b1) {label = "1", microbatch = 2 : i64} : (!b, !b, !g) -> !g
  %r:2 = rt.call @reduce(%a2, %b2) : (!g, !g) -> (!w, !w)
  %w1 = rt.call @update(%w, %r#0) {label = "0"} : (!w, !w) -> !w
  %v1 = rt.call @update(%v, %r#1) {label = "1"} : (!w, !w) -> !w
  return %k2, %w1, %v1 : !b, !w, !w
}
}
)";

/// On one rank nothing is partial, and something else is computed in place of sums over ranks.
std::string stepText(int64_t ranks) {
  std::string text = std::regex_replace(kStep, std::regex("RANKS"), std::to_string(ranks));
  text = std::regex_replace(text, std::regex("ROWS"), std::to_string(12 * ranks));
  text = std::regex_replace(text, std::regex("BATCH"), std::to_string(4 * ranks));
  std::regex sum(R"(dist\.all_reduce (%\w+) \["dp"\] accumulate f64 : (!\w) -> (!\w))");
  return ranks > 1 ? text : std::regex_replace(text, sum, "nn.tanh $1 : ($2) -> $3");
}

/// Two steps.
bool run(emit::InProcessProgram &program, int64_t ranks, test::CalledStep &step) {
  std::string error;
  Type f64 = Float64Type::get(&test::context());
  auto weight = RankedTensorType::get({4, 4}, f64);
  HostTensor x(RankedTensorType::get({12 * ranks, 4}, f64));
  for (auto [i, value] : llvm::enumerate(x.reals))
    value = double(int(i * 37 % 101) - 50) / 128;
  auto output = RankedTensorType::get({4 * ranks, 4}, f64);
  for (unsigned i = 0; i < 2; ++i)
    if (!program.run("step", {x}, {output}, step.outputs, error))
      return false;
  return program.getState("w", weight, step.w, error) &&
         program.getState("v", weight, step.v, error);
}

} // namespace

OwningOpRef<ModuleOp> test::scheduleCalledStep(int64_t ranks, bool isFlat) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(stepText(ranks), &context());
  if (!module)
    return nullptr;
  PhaseOptions options;
  // The routines are there.
  options.routines = Routines::Unrolled;
  PassManager pm(&context());
  if (isFlat)
    pm.addPass(rt::createRtInlineRoutines());
  buildOutline(pm, options);
  buildPhase(pm, Phase::Scheduled, options);
  return succeeded(pm.run(*module)) ? std::move(module) : nullptr;
}

OwningOpRef<ModuleOp> test::scheduleRandomCalls(unsigned seed) {
  Random random(seed);
  TrainingCase drawn = randomTrainingCase(context(), random);
  if (!drawn.module || drawn.layout.microbatches == 1)
    return nullptr;
  PhaseOptions options;
  options.train = true;
  options.precision = Precision::F64;
  options.mesh = *Mesh::parse(drawn.layout.mesh);
  options.microbatches = drawn.layout.microbatches;
  bool hasData = !options.mesh.resolve("dp").empty();
  options.zero = {unsigned(drawn.layout.zero), hasData ? drawn.layout.zeroAxis : ""};
  options.sequenceParallel = drawn.layout.sequenceParallel;
  options.allowIdleAxes = true;
  options.routines = Routines::Called;
  PassManager pm(&context());
  for (Phase phase : {Phase::Sharded, Phase::Local, Phase::Scheduled})
    buildPhase(pm, phase, options);
  return succeeded(pm.run(*drawn.module)) ? std::move(drawn.module) : nullptr;
}

bool test::isEqual(const CalledStep &a, const CalledStep &b) {
  return a.outputs[0].reals == b.outputs[0].reals && a.w.reals == b.w.reals &&
         a.v.reals == b.v.reals;
}

bool test::runCalledStep(ModuleOp module, const emit::Artifact &like, int64_t ranks,
                         CalledStep &step) {
  llvm::StringMap<LaunchShape> shapes;
  for (const KernelImage &kernel : like.images.kernels)
    shapes[kernel.symbol] = kernel.shape;
  auto blob = emit::emitBlob(module, shapes, {});
  std::string error;
  if (failed(blob))
    return false;
  auto program = emit::InProcessProgram::open({like.target, std::move(*blob), like.images}, error);
  return program && run(*program, ranks, step);
}

bool test::isAccepted(ModuleOp module) {
  PassManager pm(&context());
  pm.enableVerifier(false);
  pm.addPass(rt::createRtVerifyCommands());
  return succeeded(pm.run(module));
}
