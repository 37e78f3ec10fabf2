// The phases behind placements, and the emission.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Compiler/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft;

conformance::Messages::Messages(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          joined += (joined.empty() ? "" : "; ") + diagnostic.str();
        return success();
      }) {}

void conformance::takeWeightsAsInputs(ModuleOp program) {
  auto function = program.lookupSymbol<func::FuncOp>("forward");
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.removeArgAttr(i, nn::kSourceAttr);
}

std::optional<emit::Artifact> conformance::compile(ModuleOp program, StringRef target,
                                                   std::string &why) {
  Messages messages(program.getContext());
  PhaseOptions phases;
  phases.target = target.str();
  PassManager local(program.getContext());
  buildPhase(local, Phase::Local, phases);
  buildPhase(local, Phase::Scheduled, phases);
  if (failed(local.run(program))) {
    why = "does not compile: " + messages.text();
    return {};
  }
  KernelOptions kernels;
  kernels.optLevel = 1;
  auto artifact = emit::emitArtifact(program, kernels, {});
  if (failed(artifact)) {
    why = "no code: " + messages.text();
    return {};
  }
  return std::move(*artifact);
}
