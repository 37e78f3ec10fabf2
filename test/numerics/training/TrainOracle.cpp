// Trains a model on the fp64 interpreter and prints what a log would have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-train-oracle MODEL.onnx --bind batch=8 --loss L --optimizer O --steps N
//     --data NAME=FILE.npy... [--precision f64] [--param-group G]... [--freeze R]...
//     [--batch-parts N] [--raise] [--write DIR]
// Step k takes rows [k*B, (k+1)*B) of every array. `--write` puts the state after the
// last step into DIR as raw fp64 numbers, one file a state. Without loss and
// optimizer the model is trained as its TrainingInfo says.
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/TrainingSpec.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/Npy.h"
#include "weft/Testing/Interpreter/StatefulRun.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
namespace cl = llvm::cl;

static cl::opt<std::string> model(cl::Positional, cl::Required, cl::desc("MODEL.onnx"));
static cl::opt<std::string> bind("bind"), loss("loss"), optimizer("optimizer"), writeTo("write"),
    precision("precision", cl::init("f64"));
static cl::list<std::string> data("data"), groups("param-group"), freeze("freeze");
static cl::opt<int64_t> steps("steps", cl::init(10)),
    batchParts("batch-parts", cl::init(1),
               cl::desc("Equal parts of the batch with statistics of their own"));
static cl::opt<bool> raise("raise", cl::desc("Raise idioms to single ops, as the compiler does"));

static HostTensor rows(const HostTensor &from, int64_t first, RankedTensorType type) {
  HostTensor part(type);
  int64_t row = from.shape.empty() || from.shape[0] == 0 ? 0 : from.size() / from.shape[0];
  for (int64_t i = 0, e = part.size(); i < e; ++i)
    part.set(i, from.at((first * row + i) % from.size()));
  return part;
}

static int write(const StatefulRun::Tensors &states) {
  if (auto code = llvm::sys::fs::create_directories(writeTo)) {
    llvm::errs() << writeTo << ": " << code.message() << '\n';
    return 1;
  }
  for (const auto &state : states) {
    if (state.getValue().reals.empty())
      continue;
    llvm::SmallString<256> path(writeTo);
    std::string name = state.getKey().str();
    std::replace(name.begin(), name.end(), '/', '_');
    llvm::sys::path::append(path, name + ".f64");
    std::error_code code;
    llvm::raw_fd_ostream out(path, code);
    out.write(reinterpret_cast<const char *>(state.getValue().reals.data()),
              state.getValue().reals.size() * sizeof(double));
  }
  return 0;
}

static int train(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  MLIRContext *context = module.getContext();
  llvm::StringMap<HostTensor> arrays;
  for (StringRef item : data) {
    auto [name, path] = item.split('=');
    llvm::Expected<HostTensor> array = readNpy(path, context);
    if (!array) {
      llvm::errs() << path << ": " << llvm::toString(array.takeError()) << '\n';
      return 1;
    }
    arrays[name] = std::move(*array);
  }
  StatefulRun run;
  if (failed(run.start(step, llvm::sys::path::parent_path(model))))
    return 1;
  for (int64_t k = 0; k < steps; ++k) {
    StatefulRun::Tensors inputs;
    for (BlockArgument arg : step.getArguments()) {
      StringRef name =
          step.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr).getValue();
      auto type = cast<RankedTensorType>(arg.getType());
      if (auto found = arrays.find(name); found != arrays.end())
        inputs[name] = rows(found->second, type.getRank() ? k * type.getDimSize(0) : 0, type);
    }
    auto results = run.run(step, inputs);
    if (failed(results))
      return 1;
    llvm::outs() << "step " << k;
    for (const char *name : {"loss", "grad_norm", "lr"})
      llvm::outs() << ' ' << name << ' ' << llvm::format("%.17g", results->lookup(name).reals[0]);
    llvm::outs() << '\n';
    llvm::outs().flush();
  }
  return writeTo.empty() ? 0 : write(run.states);
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Train a model on the fp64 interpreter\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = onnx::importModel(model, &context);
  if (!module)
    return 1;
  PhaseOptions options;
  options.train = true;
  std::string error = options.bindings.add(bind);
  llvm::ExitOnError orExit;
  if (!loss.empty())
    options.loss = orExit(step::parseLoss(loss));
  if (!optimizer.empty())
    options.optimizer = orExit(step::parseOptimizer(optimizer));
  for (const std::string &group : groups)
    options.paramGroups.push_back(orExit(step::parseGroup(group)));
  for (const std::string &pattern : freeze)
    options.freeze.push_back(pattern);
  options.raise = raise;
  options.microbatches = batchParts;
  options.batchStats = BatchStats::PerMicrobatch;
  std::optional<Precision> type = parsePrecision(precision);
  if (!error.empty() || !type) {
    llvm::errs() << (type ? error : "there is no precision '" + precision + "'") << '\n';
    return 1;
  }
  // Idioms are raised as of a program in f32.
  if (failed(lowerToGraph(*module, options)))
    return 1;
  options.precision = *type;
  PassManager passes(&context);
  buildPhase(passes, Phase::Step, options);
  return failed(passes.run(*module)) ? 1 : train(*module);
}
