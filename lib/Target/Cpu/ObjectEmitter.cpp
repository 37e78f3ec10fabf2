// LLVM's pass pipeline and code generator for the processor asked for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ObjectEmitter.h"

#include "weft/Target/Cpu/Processor.h"
#include "weft/Target/NativeCode.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace weft::cpu;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeMachine(const weft::KernelOptions &options) {
  llvm::Expected<weft::NativeCode> native = weft::nativeCode();
  if (!native)
    return native.takeError();
  Processor processor = resolveProcessor(options.processor);
  llvm::TargetOptions targetOptions;
  // Products and sums fuse only where a body allows it for itself.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(native->target->createTargetMachine(
      native->triple, processor.name, processor.features, targetOptions, llvm::Reloc::PIC_,
      std::nullopt,
      options.optLevel >= 2 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
}

LogicalResult ObjectEmitter::check(const KernelOptions &options, Location loc) {
  llvm::Error wrong = checkProcessor(options.processor);
  if (!wrong)
    wrong = makeMachine(options).takeError();
  if (wrong)
    return emitError(loc) << llvm::toString(std::move(wrong));
  return success();
}

LogicalResult ObjectEmitter::emit(llvm::Module &module, llvm::SmallVectorImpl<char> &object,
                                  Location loc) {
  auto made = makeMachine(options);
  if (!made)
    return emitError(loc) << llvm::toString(made.takeError());
  llvm::TargetMachine *machine = made->get();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());

  // The whole width of vectors pays: kernels are loops, and nothing else runs
  // on a thread while they do.
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", "512");

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.optLevel >= 2;
  tuning.SLPVectorization = false; // loops are where the time goes
  tuning.LoopInterleaving = options.optLevel >= 2;
  llvm::PassBuilder passes(machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::OptimizationLevel level = options.optLevel >= 3   ? llvm::OptimizationLevel::O3
                                  : options.optLevel == 2 ? llvm::OptimizationLevel::O2
                                                          : llvm::OptimizationLevel::O1;
  passes.buildPerModuleDefaultPipeline(level).run(module, modules);

  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  bool cannot =
      machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  assert(!cannot && "LLVM writes objects for every machine that it runs on");
  (void)cannot;
  codegen.run(module);
  return success();
}
