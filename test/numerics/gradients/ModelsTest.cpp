// Gradients of whole models with respect to all parameters, along random directions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "python_free_frontend/builders/Builders.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Testing/Interpreter/StateSource.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

struct Model {
  const char *spec;
  std::map<std::string, int64_t> dims;
};
const Model kModels[] = {
    {"mlp:inputs=6,hidden=10,classes=5,layers=3,activation=gelu", {}},
    {"mlp:inputs=6,hidden=10,classes=5,layers=2,activation=tanh", {}},
    {"gpt2:layers=2,hidden=16,heads=2,vocab=23,seq=8", {{"seq", 6}}},
    {"gpt2:layers=1,hidden=16,heads=4,vocab=23,seq=8,style=compact", {{"seq", 6}}},
    {"llama:layers=2,hidden=16,heads=4,kv_heads=2,ffn=24,vocab=23,seq=8", {{"seq", 5}}},
    {"bert:layers=2,hidden=16,heads=2,ffn=24,vocab=23,seq=8", {{"seq", 6}}},
    {"vit:layers=1,hidden=16,heads=2,ffn=24,image=8,patch=4,channels=2,classes="
     "5",
     {}},
};

struct ModelGradients : ::testing::TestWithParam<std::tuple<Model, bool>> {};

TEST_P(ModelGradients, EqualDifferences) {
  auto [model, raise] = GetParam();
  SCOPED_TRACE(model.spec);
  DialectRegistry registry;
  registry.insert<onnx::OnnxDialect, nn::NnDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("weft-gradients", folder));
  std::string path = (folder + "/m.onnx").str();
  builders::BuildOptions options;
  options.output = path;
  std::string spec = std::string(model.spec) + ",dtype=fp64,init=varied,std=0.3,seed=7";
  auto built = builders::build(spec, options);
  ASSERT_TRUE(static_cast<bool>(built)) << llvm::toString(built.takeError());
  auto module = onnx::importModel(path, &context);
  ASSERT_TRUE(module);
  PhaseOptions graph;
  graph.raise = raise;
  graph.train = true; // All initializers are state.
  graph.loss = llvm::cantFail(step::parseLoss("loss"));
  graph.bindings.dims["batch"] = 2;
  for (const auto &[name, extent] : model.dims)
    graph.bindings.dims[name] = extent;
  ASSERT_TRUE(succeeded(lowerToGraph(*module, graph)));
  auto program = module->lookupSymbol<func::FuncOp>("forward");

  std::mt19937_64 engine(20261121);
  std::normal_distribution<double> normal;
  Tensors inputs;
  std::vector<unsigned> parameters;
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(program.getArgumentTypes()[i]);
    if (auto source = program.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr)) {
      auto weights = readSource(source, type, folder, [&] { return program.emitError(); });
      ASSERT_TRUE(succeeded(weights));
      inputs.push_back(std::move(*weights));
      if (inputs.back().isFloat())
        parameters.push_back(i);
      continue;
    }
    if (auto values = program.getArgAttrOfType<ElementsAttr>(i, nn::kInitialAttr)) {
      inputs.push_back(toHostTensor(values));
      parameters.push_back(i);
      continue;
    }
    HostTensor tensor(type);
    for (double &value : tensor.reals)
      value = normal(engine);
    for (int64_t &value : tensor.integers)
      value = engine() % 2; // Token ids, types and masks alike.
    inputs.push_back(std::move(tensor));
  }
  llvm::sys::fs::remove_directories(folder);
  ASSERT_GE(parameters.size(), 4u);

  Differentiated gradient(program, parameters);
  ASSERT_TRUE(gradient.isValid());
  auto outputs = interpret(program, inputs);
  ASSERT_TRUE(succeeded(outputs));
  HostTensor target = outputs->front();
  Tensors weights;
  for (double &value : target.reals)
    value = normal(engine);
  for (const HostTensor &output : *outputs) {
    weights.push_back(output);
    for (double &value : weights.back().reals)
      value = normal(engine);
  }
  int64_t checked = 0;
  for (const Loss &loss : {meanSquare(0, target), weightedSum(weights)}) {
    Tensors gradients = gradient.gradients(inputs, loss);
    auto along = [&](auto isMoved) {
      Tensors direction(parameters.size());
      for (size_t i = 0; i < parameters.size(); ++i)
        if (isMoved(i)) {
          direction[i] = gradients[i];
          for (double &value : direction[i].reals)
            value = normal(engine);
        }
      return direction;
    };
    auto check = [&](const Tensors &direction, const std::string &what) {
      Comparison found = compare(gradient, inputs, loss, gradients, direction, 1e-6);
      EXPECT_EQ(found.verdict, Comparison::Agree) << what << found.text();
      ++checked;
    };
    // All parameters together, then each by itself.
    for (int i = 0; i < 8; ++i)
      check(along([](size_t) { return true; }), "all: ");
    for (size_t which = 0; which < parameters.size(); ++which) {
      auto name = program.getArgAttrOfType<StringAttr>(parameters[which], nn::kNameAttr);
      check(along([&](size_t i) { return i == which; }), name.str() + ": ");
    }
  }
  std::printf("%s%s: %zu parameters, %lld directions\n", model.spec, raise ? " raised" : "",
              parameters.size(), (long long)checked);
}

INSTANTIATE_TEST_SUITE_P(All, ModelGradients,
                         ::testing::Combine(::testing::ValuesIn(kModels), ::testing::Bool()));

} // namespace
