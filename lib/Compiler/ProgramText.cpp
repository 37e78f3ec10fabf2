// Programs as text, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"

#include "dialects/onnx/IR/Onnx.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Phases.h"
#include "weft/Cost/CostModel.h"
#include "weft/Interfaces/TensorSize.h"
#include "weft/Target/Target.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace weft;

void weft::printProgram(ModuleOp module, llvm::raw_ostream &out) {
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  OwningOpRef<ModuleOp> copy;
  if (onnx::getModel(module)) {
    // A model as in the file names files as they were found from here.
    copy = module.clone();
    auto absolute = [&](StringAttr file) {
      SmallString<256> path(file.getValue());
      if (llvm::sys::fs::make_absolute(path))
        return file; // nobody knows where here is
      return StringAttr::get(module.getContext(), path);
    };
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](onnx::DataAttr data) -> std::optional<Attribute> {
      return onnx::DataAttr::get(module.getContext(), data.getField(), absolute(data.getFile()),
                                 data.getOffset(), data.getLength());
    });
    replacer.addReplacement([&](FileLineColLoc loc) -> std::optional<Attribute> {
      return FileLineColLoc::get(absolute(loc.getFilename()), loc.getLine(), loc.getColumn());
    });
    replacer.recursivelyReplaceElementsIn(*copy, /*replaceAttrs=*/true, /*replaceLocs=*/true,
                                          /*replaceTypes=*/false);
    module = *copy;
  }
  module->print(out, flags);
  out << '\n';
}

/// What a model file holds is checked where it is imported; a text of a later phase holds what its
/// writer put there: no value may be larger than any tensor may be.
static LogicalResult checkSizes(ModuleOp module) {
  auto isBounded = [](Value value) {
    if (hasBoundedSize(value.getType()))
      return true;
    emitError(value.getLoc()) << "a value "
                              << describeExcess(cast<ShapedType>(value.getType()).getShape());
    return false;
  };
  WalkResult result = module.walk([&](Operation *op) {
    bool bounded = llvm::all_of(op->getResults(), isBounded);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        bounded = bounded && llvm::all_of(block.getArguments(), isBounded);
    return bounded ? WalkResult::advance() : WalkResult::interrupt();
  });
  return mlir::failure(result.wasInterrupted());
}

static InFlightDiagnostic errorAt(MLIRContext &context) {
  return emitError(UnknownLoc::get(&context));
}

/// A program in text form says itself where it stands.
static FailureOr<Phase> phaseOfText(ModuleOp module, StringRef path) {
  std::optional<Phase> at = phaseOf(module);
  if (!at && (!onnx::getMainGraph(module) || module->hasAttr(kPhaseAttr)))
    return errorAt(*module.getContext())
           << "'" << path
           << "' does not say at which phase its program is; write it at the module: module "
              "attributes {weft.phase = \"graph\"}, or step, sharded, staged, local, scheduled";
  if (at == Phase::Executable)
    return errorAt(*module.getContext()) << "'" << path << "': 'executable' is no phase of a text";
  return at.value_or(Phase::Import);
}

static FailureOr<Compilation> loadModel(StringRef path, MLIRContext &context,
                                        bool allowMissingData) {
  onnx::ImportOptions options;
  options.allowMissingData = allowMissingData;
  options.hintAtMissingData = "; --dry-run plans without weights";
  OwningOpRef<ModuleOp> module = onnx::importModel(path, &context, options);
  if (!module)
    return failure();
  return Compilation(std::move(module), Phase::Import);
}

static FailureOr<Compilation> loadText(StringRef path, MLIRContext &context) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module && !path.ends_with(".mlir"))
    return errorAt(context)
           << "'" << path
           << "' is neither a model (.onnx) nor a program as --compile-to prints it (.mlir)";
  if (!module || failed(checkSizes(*module)) || !targetOf(*module) ||
      failed(costModelOf(*module, Mesh())))
    return failure();
  FailureOr<Phase> phase = phaseOfText(*module, path);
  if (failed(phase))
    return failure();
  return Compilation(std::move(module), *phase);
}

bool weft::isModelFile(StringRef path) { return path.ends_with(".onnx"); }

FailureOr<Compilation> Compilation::load(StringRef path, MLIRContext &context,
                                         bool allowMissingData) {
  FailureOr<Compilation> loaded =
      isModelFile(path) ? loadModel(path, context, allowMissingData) : loadText(path, context);
  if (failed(loaded))
    return failure();
  if (loaded->modelPath.empty())
    loaded->modelPath = path.str();
  (*loaded->module)->setAttr(kPhaseAttr, StringAttr::get(&context, phaseName(loaded->phase)));
  return loaded;
}
