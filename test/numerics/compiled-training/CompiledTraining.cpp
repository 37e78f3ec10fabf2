// Training steps, compiled and run on ranks, against the fp64 interpreter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-compiled-training [NAME-PART]: each case builds a model, makes its
// training programs, runs them for several steps in fp64 on ranks in process,
// and compares losses, norms and the final state with the oracle, which runs
// the same step on one device. A step is followed by others on the same states,
// so stale or doubled updates show. Idioms are raised for the oracle too: the
// constants of exporters' GELU are fp32 numbers, 1e-8 from what they stand for.
#include "dialects/nn/IR/Nn.h"
#include "passes/pipelines/ImportToGraph.h"
#include "passes/pipelines/Pipelines.h"
#include "python_free_frontend/builders/Builders.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Emit/InProcess.h"
#include "weft/Interpreter/StatefulRun.h"
#include "weft/Registration/Registration.h"
#include "weft/Target/Cpu/KernelCompiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <random>

using namespace mlir;
using namespace weft;

namespace {

constexpr unsigned kSteps = 4;
constexpr double kTolerance = 1e-9;

struct Model {
  const char *name, *build, *bind, *loss, *optimizer;
};
struct Layout {
  const char *mesh, *zero;
  int64_t microbatches;
};

const Model kModels[] = {
    {"mlp", "mlp:layers=2,inputs=12,hidden=16,classes=8,std=0.3", "batch=8", "mse:logits,target", "momentum:lr=0.1,momentum=0.9"},
    {"gpt", "gpt2:layers=2,hidden=16,heads=2,vocab=40,seq=8", "batch=4,seq=8", "softmax_cross_entropy:logits,labels",
     "adamw:lr=0.01,weight_decay=0.1,clip=1.0,schedule=cosine,warmup=2,total=10"},
    {"gpt-unclipped", "gpt2:layers=2,hidden=16,heads=2,vocab=40,seq=8", "batch=4,seq=8",
     "softmax_cross_entropy:logits,labels", "adamw:lr=0.01"},
};
const Layout kLayouts[] = {{"", "0", 1},     {"", "0", 2},          {"dp=2", "0", 1},      {"dp=4", "0", 1},
                           {"tp=2", "0", 1}, {"dp=2,tp=2", "0", 1}, {"dp=2", "1", 1},      {"dp=2", "2", 2},
                           {"dp=2", "3", 1}, {"dp=2", "3", 2},      {"dp=2,tp=2", "1", 2}, {"dp=4", "3", 1}};

DialectRegistry allDialects() {
  DialectRegistry registry;
  registerAllDialects(registry);
  cpu::registerKernelDialects(registry);
  return registry;
}

OwningOpRef<ModuleOp> toGraph(MLIRContext &context, const std::string &path, const Model &model) {
  OwningOpRef<ModuleOp> module = onnx::importModel(path, &context);
  if (!module)
    return {};
  GraphOptions graph;
  graph.training = true;
  auto bindings = onnx::parseBindings(model.bind, &context, [&] { return module->emitError(); });
  if (failed(bindings))
    return {};
  graph.bindings = std::move(*bindings);
  return succeeded(lowerToGraph(*module, graph)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

void setOptions(PhaseOptions &options, const Model &model, const Layout &layout) {
  options.train = true;
  options.bind = model.bind;
  options.precision = "f64";
  options.loss = model.loss;
  options.optimizer = model.optimizer;
  options.mesh = layout.mesh;
  options.zero = layout.zero;
  options.microbatches = layout.microbatches;
}

HostTensor randomInput(RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor(type);
  for (double &value : tensor.reals)
    value = double(int(random() % 2001) - 1000) / 1000;
  // Tokens and labels of the smallest vocabulary used here.
  for (int64_t &value : tensor.integers)
    value = random() % 8;
  roundToOwnType(tensor);
  return tensor;
}

double distance(const HostTensor &found, const HostTensor &expected) {
  if (found.integers != expected.integers || found.reals.size() != expected.reals.size())
    return INFINITY;
  double largest = 1, difference = 0;
  for (auto [a, b] : llvm::zip(found.reals, expected.reals)) {
    if (!(std::abs(a - b) >= 0))
      return INFINITY;
    difference = std::max(difference, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return difference / largest;
}

/// Inputs of each step by name, and what the oracle computes of them.
struct Expected {
  std::vector<StatefulRun::Tensors> inputs, results;
  StatefulRun::Tensors states;
};

bool runOracle(func::FuncOp step, const std::string &folder, Expected &expected) {
  StatefulRun run;
  if (failed(run.start(step, folder)))
    return false;
  std::mt19937 random(3);
  for (unsigned k = 0; k < kSteps; ++k) {
    expected.inputs.emplace_back();
    for (BlockArgument arg : step.getArguments()) {
      StringRef name = step.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr).getValue();
      if (!run.states.contains(name))
        expected.inputs.back()[name] = randomInput(cast<RankedTensorType>(arg.getType()), random);
    }
    auto results = run.run(step, expected.inputs.back());
    if (failed(results))
      return false;
    expected.results.push_back(std::move(*results));
  }
  expected.states = std::move(run.states);
  return true;
}

/// The largest distance of any result and state, or infinity and a message.
double runCompiled(emit::InProcessProgram &program, func::FuncOp step, const Expected &expected, std::string &error) {
  SmallVector<StringRef> inputs, outputs;
  SmallVector<RankedTensorType> types;
  for (unsigned a = 0; a < step.getNumArguments(); ++a)
    if (StringRef name = step.getArgAttrOfType<StringAttr>(a, nn::kNameAttr).getValue(); !expected.states.contains(name))
      inputs.push_back(name);
  for (unsigned r = 0; r < step.getNumResults(); ++r)
    if (!step.getResultAttr(r, nn::kUpdatesAttr)) {
      outputs.push_back(step.getResultAttrOfType<StringAttr>(r, nn::kNameAttr).getValue());
      types.push_back(cast<RankedTensorType>(step.getResultTypes()[r]));
    }
  double worst = 0;
  std::string where;
  auto note = [&](double distance, const llvm::Twine &name) {
    if (!(distance <= worst)) {
      worst = distance;
      where = name.str();
    }
  };
  for (unsigned k = 0; k < kSteps; ++k) {
    std::vector<HostTensor> values, found;
    for (StringRef name : inputs)
      values.push_back(expected.inputs[k].lookup(name));
    if (!program.run("step", values, types, found, error))
      return INFINITY;
    for (auto [name, value] : llvm::zip_equal(outputs, found))
      note(distance(value, expected.results[k].lookup(name)), name + " of step " + llvm::Twine(k));
  }
  for (unsigned a = 0; a < step.getNumArguments(); ++a) {
    StringRef name = step.getArgAttrOfType<StringAttr>(a, nn::kNameAttr).getValue();
    if (!expected.states.contains(name))
      continue;
    HostTensor value;
    if (!program.getState(name, cast<RankedTensorType>(step.getArgumentTypes()[a]), value, error))
      return INFINITY;
    note(distance(value, expected.states.lookup(name)), "state " + name);
  }
  if (worst > kTolerance)
    error = "in " + where;
  return worst;
}

bool runCase(const Model &model, const Layout &layout, const std::string &path, const std::string &folder) {
  MLIRContext context(allDialects(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  PhaseOptions options, alone;
  setOptions(options, model, layout);
  setOptions(alone, model, {"", "0", 1});
  OwningOpRef<ModuleOp> plain = toGraph(context, path, model);
  OwningOpRef<ModuleOp> module = toGraph(context, path, model);
  if (!plain || !module)
    return false;
  PassManager toStep(&context), toScheduled(&context);
  buildPhase(toStep, Phase::Step, alone);
  for (Phase phase : {Phase::Step, Phase::Sharded, Phase::Local, Phase::Scheduled})
    buildPhase(toScheduled, phase, options);
  Expected expected;
  if (failed(toStep.run(*plain)) || failed(toScheduled.run(*module)) ||
      !runOracle(plain->lookupSymbol<func::FuncOp>("step"), folder, expected))
    return false;
  emit::BlobOptions blob;
  blob.modelDirectory = folder;
  auto artifact = emit::emitArtifact(*module, {}, blob);
  std::string error;
  auto program = succeeded(artifact) ? emit::InProcessProgram::open(std::move(*artifact), error) : nullptr;
  double found = program ? runCompiled(*program, plain->lookupSymbol<func::FuncOp>("step"), expected, error) : INFINITY;
  bool good = found <= kTolerance;
  llvm::outs() << (good ? "ok   " : "FAIL ") << model.name << " mesh '" << layout.mesh << "' zero " << layout.zero
               << " microbatches " << layout.microbatches << ": distance " << found << ' ' << error << '\n';
  llvm::outs().flush();
  return good;
}

} // namespace

int main(int argc, char **argv) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("weft-training", folder))
    return 1;
  const char *full = std::getenv("WEFT_TEST_FULL");
  bool isFull = full && *full == '1';
  unsigned cases = 0, failures = 0;
  for (const Model &model : kModels) {
    if (argc > 1 && !StringRef(model.name).contains(argv[1]))
      continue;
    std::string path = (folder + "/" + model.name + ".onnx").str();
    auto built = builders::build(model.build, {path, true});
    if (!built) {
      llvm::errs() << llvm::toString(built.takeError()) << '\n';
      return 1;
    }
    for (const auto &[i, layout] : llvm::enumerate(kLayouts)) {
      if (!isFull && &model == &kModels[2] && i % 2)
        continue;
      ++cases;
      failures += !runCase(model, layout, path, folder.str().str());
    }
  }
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << cases << " cases of " << kSteps << " steps, " << failures << " failed\n";
  return failures != 0 || cases == 0;
}
