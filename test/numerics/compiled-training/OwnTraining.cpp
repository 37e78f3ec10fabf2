// Models that bring their training step along (TrainingInfo), on ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each optimizer of the standard trains a small classifier: compiled on several
// layouts against the interpreter, and, where PyTorch's definition agrees with the
// standard's, the interpreter against the same model trained by flags.
#include "TrainingTrial.h"

#include "dialects/nn/IR/Nn.h"
#include "python_free_frontend/importer/Importer.h"
#include "python_free_frontend/text/TextReader.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Registration/Registration.h"
#include "weft/Testing/Interpreter/StatefulRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

/// Numbers of all attributes are exact in f32, so that flags can say the same.
struct Optimizer {
  const char *name, *node, *slots;
  /// What --optimizer says for the same; null if PyTorch defines it otherwise.
  const char *flag;
};
const Optimizer kOptimizers[] = {
    {"adam", "Adam<alpha = 0.5, beta = 0.75, epsilon = 0.0>", "vh",
     "adam:lr=0.125,beta1=0.5,beta2=0.75,eps=0"},
    {"adam-regularised", "Adam<norm_coefficient = 0.25, norm_coefficient_post = 0.125>", "vh",
     nullptr},
    {"adagrad", "Adagrad<epsilon = 0.0009765625>", "h", "adagrad:lr=0.125,eps=0.0009765625"},
    {"adagrad-decayed", "Adagrad<decay_factor = 0.5, norm_coefficient = 0.25>", "h", nullptr},
    {"momentum", "Momentum<alpha = 0.5, beta = 1.0, norm_coefficient = 0.0, mode = \"standard\">",
     "v", "momentum:lr=0.125,momentum=0.5"},
    {"momentum-damped",
     "Momentum<alpha = 0.5, beta = 0.25, norm_coefficient = 0.125, mode = \"standard\">", "v",
     nullptr},
    {"nesterov", "Momentum<alpha = 0.5, beta = 1.0, norm_coefficient = 0.0, mode = \"nesterov\">",
     "v", "nesterov:lr=0.125,momentum=0.5"},
};

struct Layout {
  const char *mesh, *zero;
  int64_t microbatches = 1;
};
const Layout kLayouts[] = {{"", "0"},    {"dp=2", "1"},      {"tp=2", "0"},   {"dp=2", "3"},
                           {"", "0", 2}, {"dp=2,tp=2", "1"}, {"dp=2", "2", 2}};

/// Two infos: what the first one assigns, the second one reads. As one info the
/// same is written with the forward pass once more.
const char kTwoInfos[] = R"(<ir_version: 8, opset_import: ["": 17, "ai.onnx.preview.training": 1]>
two (float[4, 4] x) => (float[4, 4] logits)
<float[4, 4] w1 = {1, 0.5, -0.5, 0.25, 0, -1, 0.5, 1, 0.25, 0.75, -0.25, 0, 1, 1, -1, 0.5}, float[4] b1 = {0.5, -0.5, 0, 1}>
{
  ["first"] logits = Gemm(x, w1, b1)
}
@training_info <update_binding: ["w1": "w_new"]>
@algorithm weights (int64[4] labels) => (float[4, 4] w_new)
<float r = {0.125}, int64 t = {0}, float[4, 4] v = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}>
{
  cost = SoftmaxCrossEntropyLoss(logits, labels)
  ["slope"] g = ai.onnx.preview.training.Gradient<xs = ["w1"], y = "cost">(w1)
  w_new, "" = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 1.0, norm_coefficient = 0.0, mode = "standard">(r, t, w1, g, v)
}
@training_info <update_binding: ["b1": "b_new"]>
@algorithm biases () => (float[4] b_new) <float q = {0.25}>
{
  square = Mul(logits, logits)
  size = ReduceMean<keepdims = 0>(square)
  ["slope"] g = ai.onnx.preview.training.Gradient<xs = ["b1"], y = "size">(b1)
  s = Mul(q, g)
  b_new = Sub(b1, s)
}
)";
const char kOneInfo[] = R"(<ir_version: 8, opset_import: ["": 17, "ai.onnx.preview.training": 1]>
two (float[4, 4] x) => (float[4, 4] logits)
<float[4, 4] w1 = {1, 0.5, -0.5, 0.25, 0, -1, 0.5, 1, 0.25, 0.75, -0.25, 0, 1, 1, -1, 0.5}, float[4] b1 = {0.5, -0.5, 0, 1}>
{
  ["first"] logits = Gemm(x, w1, b1)
}
@training_info <update_binding: ["w1": "w_new", "b1": "b_new"]>
@algorithm both (int64[4] labels) => (float[4, 4] w_new, float[4] b_new)
<float r = {0.125}, float q = {0.25}, int64 t = {0}, float[4, 4] v = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}>
{
  cost = SoftmaxCrossEntropyLoss(logits, labels)
  ["slope"] g = ai.onnx.preview.training.Gradient<xs = ["w1"], y = "cost">(w1)
  w_new, "" = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 1.0, norm_coefficient = 0.0, mode = "standard">(r, t, w1, g, v)
  ["again"] later = Gemm(x, w_new, b1)
  square = Mul(later, later)
  size = ReduceMean<keepdims = 0>(square)
  ["incline"] g2 = ai.onnx.preview.training.Gradient<xs = ["b1"], y = "size">(b1)
  s2 = Mul(q, g2)
  b_new = Sub(b1, s2)
}
)";

const std::pair<const char *, int64_t> kWeights[] = {
    {"w1", 4 * 6}, {"b1", 6}, {"w2", 6 * 4}, {"b2", 4}};
const char *const kShapes[] = {"[4, 6]", "[6]", "[6, 4]", "[4]"};

/// Running statistics are outputs of the main graph, which a binding assigns, and
/// weights start at random numbers.
const char kStatistics[] = R"(<ir_version: 8, opset_import: ["": 17, "ai.onnx.preview.training": 1]>
norm (float[4, 4] x) => (float[4, 4] logits, float[4] mean_new, float[4] var_new)
<float[4, 4] w1 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, float[4] b1 = {0, 0.25, 0, -1}, float[4] scale = {1, 0.5, 2, 1}, float[4] mean = {0, 0, 0, 0}, float[4] var = {1, 1, 1, 1}>
{
  ["mix"] h = MatMul(x, w1)
  ["norm"] logits, mean_new, var_new = BatchNormalization<training_mode = 1, momentum = 0.5>(h, scale, b1, mean, var)
}
@training_info <initialization_binding: ["w1": "drawn"], update_binding: ["w1": "w_new", "mean": "mean_new", "var": "var_new"]>
@initialization start () => (float[4, 4] drawn)
{
  ["draw"] drawn = RandomNormal<shape = [4, 4], scale = 0.5, seed = 3.0>()
}
@algorithm weights (int64[4] labels) => (float[4, 4] w_new)
<float r = {0.125}, int64 t = {0}, float[4, 4] h0 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}>
{
  cost = SoftmaxCrossEntropyLoss(logits, labels)
  ["slope"] g = ai.onnx.preview.training.Gradient<xs = ["w1"], y = "cost">(w1)
  w_new, "" = ai.onnx.preview.training.Adagrad(r, t, w1, g, h0)
}
)";

/// The classifier; with `optimizer` the training step behind it.
std::string modelText(const Optimizer *optimizer) {
  std::mt19937 random(11);
  std::string initial,
      text = "<ir_version: 8, opset_import: [\"\": 17, \"ai.onnx.preview.training\": 1]>\n"
             "mlp (float[4, 4] x) => (float[4, 4] logits)\n<";
  for (auto [i, weight] : llvm::enumerate(kWeights)) {
    text += std::string(i ? ", " : "") + "float" + kShapes[i] + " " + weight.first + " = {";
    for (int64_t k = 0; k < weight.second; ++k)
      text += (k ? ", " : "") + std::to_string((int(random() % 129) - 64) / 64.0);
    text += "}";
  }
  text += ">\n{\n  [\"first\"] h = Gemm(x, w1, b1)\n  [\"bend\"] a = Tanh(h)\n  [\"last\"] logits "
          "= Gemm(a, w2, b2)\n}\n";
  if (!optimizer)
    return text;
  // Every tensor of a group in the order of the weights: w1, b1, w2, b2, then what belongs to them.
  auto group = [&](const std::string &prefix, const std::string &suffix) {
    std::string names;
    for (auto weight : kWeights)
      names += ", " + prefix + weight.first + suffix;
    return names;
  };
  std::string state = "float r = {0.125}, int64 t = {-1}, int64 one = {1}",
              made = group("", "_new"), outputs;
  std::string operands = group("", "") + group("g_", ""), binding = "\"t\": \"t_new\"",
              start = "\"t\": \"zero\"";
  for (const char *slot = optimizer->slots; *slot; ++slot) {
    operands += group(std::string(1, *slot) + "_", "");
    made += group(std::string(1, *slot) + "_", "_new");
    for (auto [i, weight] : llvm::enumerate(kWeights)) {
      state += std::string(", float") + kShapes[i] + " " + *slot + "_" + weight.first + " = {";
      for (int64_t k = 0; k < weight.second; ++k)
        state += k ? ", 0" : "0";
      state += "}";
    }
  }
  SmallVector<StringRef> names;
  StringRef(made).split(names, ", ", -1, false);
  for (StringRef name : names)
    binding += (", \"" + name.drop_back(4) + "\": \"" + name + "\"").str();
  outputs = "int64 t_new" + made;
  // Adam counts from 1, momentum and Adagrad from 0.
  bool fromOne = StringRef(optimizer->node).starts_with("Adam<");
  return text + "@training_info <initialization_binding: [" + start + "], update_binding: [" +
         binding +
         "]>\n@initialization start () => (int64 zero) {\n  zero = Constant<value_int = "
         "0>()\n}\n@algorithm step (int64[4] labels) => (" +
         outputs + ")\n<" + state +
         ">\n{\n  t_new = Add(t, one)\n  [\"cost\"] cost = SoftmaxCrossEntropyLoss(logits, "
         "labels)\n  [\"gradient\"]" +
         group("g_", "").substr(1) +
         " = ai.onnx.preview.training.Gradient<xs = [\"w1\", \"b1\", \"w2\", \"b2\"], zs = [\"x\", "
         "\"labels\"], y = "
         "\"cost\">(w1, b1, w2, b2, x, labels)\n  [\"update\"]" +
         made.substr(1) + " = ai.onnx.preview.training." + optimizer->node + "(r, " +
         (fromOne ? "t_new" : "t") + operands + ")\n}\n";
}

bool writeModel(const std::string &text, const std::string &path) {
  llvm::Expected<onnx::Model> model = weft::text::readText(text, path);
  if (!model) {
    llvm::errs() << llvm::toString(model.takeError()) << '\n' << text;
    return false;
  }
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << model->SerializeAsString();
  return !code;
}

OwningOpRef<ModuleOp> toGraph(MLIRContext &context, const std::string &path) {
  OwningOpRef<ModuleOp> module = onnx::importModel(path, &context);
  PhaseOptions graph;
  graph.train = true;
  return module && succeeded(lowerToGraph(*module, graph)) ? std::move(module)
                                                           : OwningOpRef<ModuleOp>();
}

/// Losses, norms and rates of some steps on the interpreter, and the weights after them.
bool interpret(MLIRContext &context, const std::string &path, const char *flag,
               std::vector<double> &found) {
  OwningOpRef<ModuleOp> module = flag ? importGraph(context, path, "") : toGraph(context, path);
  if (!module)
    return false;
  PhaseOptions options;
  options.train = true;
  options.precision = Precision::F64;
  if (flag) {
    options.loss = llvm::cantFail(step::parseLoss("softmax_cross_entropy:logits,labels"));
    options.optimizer = llvm::cantFail(step::parseOptimizer(flag));
  }
  PassManager passes(&context);
  buildPhase(passes, Phase::Step, options);
  StatefulRun run;
  if (failed(passes.run(*module)))
    return false;
  auto step = module->lookupSymbol<func::FuncOp>("step");
  if (failed(run.start(step, "")))
    return false;
  std::mt19937 random(5);
  for (int k = 0; k < 5; ++k) {
    StatefulRun::Tensors inputs;
    HostTensor x(RankedTensorType::get({4, 4}, Float32Type::get(&context)));
    HostTensor labels(RankedTensorType::get({4}, IntegerType::get(&context, 64)));
    for (double &value : x.reals)
      value = (int(random() % 129) - 64) / 64.0;
    for (int64_t &label : labels.integers)
      label = random() % 4;
    inputs["x"] = x;
    inputs["labels"] = labels;
    auto results = run.run(step, inputs);
    if (failed(results))
      return false;
    for (const char *name : {"loss", "grad_norm", "lr"})
      found.push_back(results->lookup(name).reals.at(0));
  }
  for (auto weight : kWeights)
    llvm::append_range(found, run.states.lookup(weight.first).reals);
  return true;
}

/// Two ways to write one step; `flag` if the other one is that of flags.
bool agree(MLIRContext &context, const std::string &name, const std::string &own,
           const std::string &other, const char *flag, size_t numbers) {
  std::vector<double> ours, expected;
  double worst = INFINITY;
  if (interpret(context, own, nullptr, ours) && interpret(context, other, flag, expected) &&
      ours.size() == expected.size() && expected.size() == numbers) {
    worst = 0;
    for (auto [a, b] : llvm::zip(ours, expected))
      worst = std::abs(a - b) >= 0 ? std::max(worst, std::abs(a - b) / std::max(1.0, std::abs(b)))
                                   : INFINITY;
  }
  bool good = worst <= 1e-12;
  llvm::outs() << (good ? "ok   " : "FAIL ") << name << ": " << expected.size()
               << " numbers, distance " << worst << '\n';
  return good;
}

} // namespace

int main() {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("weft-own-training", folder))
    return 1;
  DialectRegistry registry;
  registerAllDialects(registry);
  std::string plain = (folder + "/plain.onnx").str();
  if (!writeModel(modelText(nullptr), plain))
    return 1;
  unsigned cases = 0, failures = 0;
  auto tryLayouts = [&](MLIRContext &context, const char *name, const std::string &path,
                        int64_t elements, bool inParts = true) {
    for (const Layout &layout : kLayouts) {
      if (!inParts && layout.microbatches > 1)
        continue;
      TrainingTrial trial;
      trial.model = name;
      trial.flags.mesh = layout.mesh;
      trial.flags.zero = layout.zero;
      trial.flags.microbatches = layout.microbatches;
      trial.graph = [&](MLIRContext &context) { return toGraph(context, path); };
      trial.folder = folder.str().str();
      trial.classes = 4;
      TrialOutcome outcome = trial.run(context);
      bool good = outcome.good() && outcome.elements >= elements;
      llvm::outs() << (good ? "ok   " : "FAIL ") << name << " mesh '" << layout.mesh << "' zero "
                   << layout.zero << " microbatches " << layout.microbatches << ": "
                   << outcome.elements << " elements, distance "
                   << outcome.distance * trial.tolerance << ' ' << outcome.message << '\n';
      ++cases;
      failures += !good;
    }
  };
  for (const Optimizer &optimizer : kOptimizers) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    std::string path = (folder + "/" + optimizer.name + ".onnx").str();
    if (!writeModel(modelText(&optimizer), path))
      return 1;
    if (optimizer.flag) {
      ++cases;
      failures += !agree(context, std::string(optimizer.name) + " as --optimizer " + optimizer.flag,
                         path, plain, optimizer.flag, 15 + 58);
    }
    tryLayouts(context, optimizer.name, path, 58 * (1 + StringRef(optimizer.slots).size()));
  }
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string two = (folder + "/two.onnx").str(), one = (folder + "/one.onnx").str();
  std::string statistics = (folder + "/statistics.onnx").str();
  if (!writeModel(kTwoInfos, two) || !writeModel(kOneInfo, one) ||
      !writeModel(kStatistics, statistics))
    return 1;
  ++cases;
  failures += !agree(context, "two infos as one", two, one, nullptr, 15 + 20);
  // The second info reads what the first one makes of the whole batch.
  tryLayouts(context, "two infos", two, 20, /*inParts=*/false);
  // Those of the whole batch.
  tryLayouts(context, "statistics", statistics, 16 + 3 * 4, /*inParts=*/false);
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << cases << " cases, " << failures << " failed\n";
  return failures != 0 || cases < 64;
}
