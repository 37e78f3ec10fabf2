// Compiled gradients of random ops against the oracle, in fp64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "../../support/Distance.h"
#include "../../unit/dialects/nn/RandomOps.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Registration/Registration.h"
#include "weft/Testing/InProcess/InProcess.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn::test;
using namespace weft::test;

namespace {

constexpr uint64_t kSeed = 20261122;
constexpr int kMinimumCases = 180;

bool isFloatType(Type type) {
  return isa<FloatType>(cast<RankedTensorType>(type).getElementType());
}

/// Many gradients side by side in one program, as compiling is what costs.
struct Bundle {
  explicit Bundle(MLIRContext &context)
      : builder(&context), module(ModuleOp::create(builder.getUnknownLoc())) {
    builder.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(builder, builder.getUnknownLoc(), "forward",
                                    builder.getFunctionType({}, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    end = func::ReturnOp::create(builder, builder.getUnknownLoc());
    builder.setInsertionPoint(end);
  }

  void add(func::FuncOp gradient, ArrayRef<HostTensor> values) {
    IRMapping map;
    for (auto [argument, value] : llvm::zip_equal(gradient.getArguments(), values)) {
      unsigned last = function.getNumArguments();
      auto name = builder.getStringAttr("x" + std::to_string(last));
      (void)function.insertArgument(
          last, argument.getType(),
          builder.getDictionaryAttr(builder.getNamedAttr("nn.name", name)),
          builder.getUnknownLoc());
      map.map(argument, function.getArgument(last));
      inputs.push_back(value);
    }
    for (Operation &op : gradient.getBody().front().without_terminator())
      builder.clone(op, map);
    for (Value result : gradient.getBody().front().getTerminator()->getOperands()) {
      unsigned last = function.getNumResults();
      auto name = builder.getStringAttr("y" + std::to_string(last));
      (void)function.insertResult(last, result.getType(),
                                  builder.getDictionaryAttr(builder.getNamedAttr("nn.name", name)));
      end->insertOperands(last, map.lookup(result));
    }
  }

  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Operation *end;
  std::vector<HostTensor> inputs;
};

double errorOf(const HostTensor &found, const HostTensor &exact) {
  // Where terms of size 1 cancel (attention to a single key), only their
  // rounding is left to compare.
  // Both may be undefined, as the root of a negative number.
  Distance distance(Specials::MayAgree, 1e-3);
  for (auto [a, b] : llvm::zip_equal(found.reals, exact.reals))
    distance.add(a, b);
  return distance.relative();
}

struct CompiledGradients : ::testing::Test {
  CompiledGradients() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    context.loadAllAvailableDialects();
  }

  /// Adds a case if the random op has a gradient.
  bool addCase(Bundle &bundle, const Generator &generator, uint64_t seed) {
    Random random(seed);
    OpFactory factory(&context, random);
    Operation *op = generator(factory);
    if (!op || isa<nn::AttentionGradOp>(op) || !llvm::any_of(op->getResultTypes(), isFloatType))
      return false;
    std::vector<unsigned> wanted;
    for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
      if (isFloatType(type))
        wanted.push_back(index);
    if (wanted.empty())
      return false;
    auto function = func::FuncOp::create(
        factory.builder, factory.builder.getUnknownLoc(), "f",
        factory.builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
    Block *body = function.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    Operation *clone = inside.clone(*op);
    clone->setOperands(body->getArguments());
    func::ReturnOp::create(inside, inside.getUnknownLoc(), clone->getResults());
    Differentiated program(function, wanted);
    EXPECT_TRUE(program.isValid());
    SmallVector<HostTensor> values = randomOperands(factory, op);
    for (Type type : op->getResultTypes())
      if (isFloatType(type))
        values.push_back(randomTensor(random, cast<RankedTensorType>(type)));
    bundle.add(program.backward, values);
    return true;
  }

  void check(Bundle &bundle, const std::string &what) {
    auto exact = interpret(bundle.function, bundle.inputs);
    ASSERT_TRUE(succeeded(exact)) << what;
    SmallVector<RankedTensorType> types =
        llvm::map_to_vector(bundle.function.getResultTypes(), llvm::CastTo<RankedTensorType>);
    PhaseOptions phases;
    PassManager passes(&context);
    for (Phase phase : {Phase::Step, Phase::Sharded, Phase::Local, Phase::Scheduled})
      buildPhase(passes, phase, phases);
    ASSERT_TRUE(succeeded(passes.run(*bundle.module))) << what;
    KernelOptions kernels;
    kernels.optLevel = 1;
    emit::BlobOptions blob;
    blob.threadsPerRank = 1;
    auto artifact = emit::emitArtifact(*bundle.module, kernels, blob);
    ASSERT_TRUE(succeeded(artifact)) << what;
    std::string error;
    auto session = emit::InProcessProgram::open(std::move(*artifact), error);
    ASSERT_TRUE(session) << error;
    std::vector<HostTensor> found;
    ASSERT_TRUE(session->run(bundle.inputs, types, found, error)) << error;
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_LE(errorOf(found[i], (*exact)[i]), 1e-11)
          << what << ", gradient " << i << " of "
          << (found[i].reals.empty() ? 0 : found[i].reals[0]) << ", expected "
          << (found[i].reals.empty() ? 0 : (*exact)[i].reals[0]);
  }

  MLIRContext context;
};

TEST_F(CompiledGradients, EqualTheOracle) {
  int cases = 0;
  for (auto &[name, generator] : structuredGenerators()) {
    Bundle bundle(context);
    int added = 0;
    for (uint64_t i = 0; added < volume(10, 40) && i < 400; ++i)
      added += addCase(bundle, generator, kSeed + i);
    if (added == 0)
      continue;
    cases += added;
    check(bundle, name);
    if (HasFatalFailure())
      return;
  }
  std::printf("%d cases, seed %llu\n", cases, (unsigned long long)kSeed);
  EXPECT_GE(cases, kMinimumCases);
}

TEST_F(CompiledGradients, OfElementwiseOpsEqualTheOracle) {
  Bundle bundle(context);
  int cases = 0;
  for (auto &[name, generator] : elementwiseGenerators(&context))
    if (llvm::StringRef(name).ends_with("f64") && !llvm::StringRef(name).contains("f32") &&
        !llvm::StringRef(name).contains("bf16") && !llvm::StringRef(name).contains("nn.pow"))
      cases += addCase(bundle, generator, kSeed);
  EXPECT_GE(cases, 35);
  check(bundle, "elementwise");
}

} // namespace
