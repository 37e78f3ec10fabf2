// Notices adaptors of nested passes that started no nested pipeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IdlePasses.h"

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "weft/runtime/Terminal.h"
#include "llvm/ADT/DenseSet.h"

#include <mutex>

using namespace mlir;

namespace {
struct IdlePasses : PassInstrumentation {
  void runBeforePipeline(std::optional<OperationName>, const PipelineParentInfo &parent) override {
    std::lock_guard<std::mutex> lock(mutex);
    busy.insert(parent.parentPass);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    std::lock_guard<std::mutex> lock(mutex);
    bool wasBusy = busy.erase(pass);
    // What runs nested passes is a pass itself, of a class that MLIR keeps to
    // itself.
    if (wasBusy || !pass->getName().ends_with("OpToOpPassAdaptor"))
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    pass->printAsTextualPipeline(stream);
    weft::runtime::tellWarning(
        "weft-opt", "'" + text +
                        "' ran on nothing: the program has no such operation; a model as in the "
                        "file gets functions by --weft-graph-pipeline");
  }

  std::mutex mutex;
  llvm::DenseSet<Pass *> busy;
};
} // namespace

std::unique_ptr<PassInstrumentation> weft::tellOfIdlePasses() {
  return std::make_unique<IdlePasses>();
}
