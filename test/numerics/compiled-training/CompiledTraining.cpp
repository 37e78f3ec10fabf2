// Training steps, compiled and run on ranks, against the fp64 interpreter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-compiled-training [NAME-PART]: chosen models on chosen layouts. A step is
// followed by others on the same states, so stale or doubled updates show. Idioms
// are raised for the oracle too: the constants of exporters' GELU are fp32
// numbers, 1e-8 from what they stand for.
#include "TrainingTrial.h"

#include "python_free_frontend/builders/Builders.h"
#include "weft/Registration/Registration.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

struct Model {
  const char *name, *build, *bind, *loss, *optimizer;
  /// Normalises over the batch: statistics of each microbatch, where there are some.
  bool batchStatistics = false;
};
struct Layout {
  const char *mesh, *zero;
  int64_t microbatches;
};

const Model kModels[] = {
    {"mlp", "mlp:layers=2,inputs=12,hidden=16,classes=8,std=0.3", "batch=8", "mse:logits,target",
     "momentum:lr=0.1,momentum=0.9"},
    {"gpt", "gpt2:layers=2,hidden=16,heads=2,vocab=40,seq=8", "batch=4,seq=8",
     "softmax_cross_entropy:logits,labels",
     "adamw:lr=0.01,weight_decay=0.1,clip=1.0,schedule=cosine,warmup=2,total=10"},
    {"gpt-unclipped", "gpt2:layers=2,hidden=16,heads=2,vocab=40,seq=8", "batch=4,seq=8",
     "softmax_cross_entropy:logits,labels", "adamw:lr=0.01"},
    {"resnet", "resnet:layers=10,hidden=4,image=8,channels=2,classes=8,stem=cifar,init=varied",
     "batch=8", "softmax_cross_entropy:logits,labels", "nesterov:lr=0.05,momentum=0.9,clip=1.0",
     true},
};
const Layout kLayouts[] = {{"", "0", 1},     {"", "0", 2},          {"dp=2", "0", 1},
                           {"dp=4", "0", 1}, {"tp=2", "0", 1},      {"dp=2,tp=2", "0", 1},
                           {"dp=2", "1", 1}, {"dp=2", "2", 2},      {"dp=2", "3", 1},
                           {"dp=2", "3", 2}, {"dp=2,tp=2", "1", 2}, {"dp=4", "3", 1}};

bool runCase(const Model &model, const Layout &layout, const std::string &path,
             const std::string &folder) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  TrainingTrial trial;
  trial.flags.bind = model.bind;
  trial.flags.loss = model.loss;
  trial.flags.optimizer = model.optimizer;
  trial.flags.mesh = layout.mesh;
  trial.flags.zero = layout.zero;
  trial.flags.microbatches = layout.microbatches;
  bool inParts = model.batchStatistics && layout.microbatches > 1;
  if (inParts)
    trial.flags.batchStats = "per-microbatch";
  trial.graph = [&, inParts](MLIRContext &context) {
    return importGraph(context, path, model.bind, inParts ? layout.microbatches : 1);
  };
  trial.folder = folder;
  trial.steps = 4;
  trial.optLevel = 3;
  TrialOutcome outcome = trial.run(context);
  llvm::outs() << (outcome.good() ? "ok   " : "FAIL ") << model.name << ' ' << trial.flags.text()
               << ": distance " << outcome.distance * trial.tolerance << ' ' << outcome.message
               << '\n';
  llvm::outs().flush();
  return outcome.good();
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
      // On one rank, on four, and in microbatches: sharded over dp, over all.
      if (!isFull && model.batchStatistics && i != 1 && i != 5 && i != 7 && i != 10)
        continue;
      ++cases;
      failures += !runCase(model, layout, path, folder.str().str());
    }
  }
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << cases << " cases, " << failures << " failed\n";
  return failures != 0 || cases == 0;
}
