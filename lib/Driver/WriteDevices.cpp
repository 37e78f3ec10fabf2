// Writes the placements of a program into its model as device configurations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/NodeStages.h"
#include "dialects/onnx/IR/Onnx.h"
#include "passes/dist/Passes.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "weft/Support/OutputFile.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;

static SmallString<256> folderOf(StringRef path) {
  SmallString<256> folder(path);
  llvm::sys::fs::make_absolute(folder);
  llvm::sys::path::remove_filename(folder);
  return folder;
}

/// The name of a tensor whose bytes are in another file, or nothing.
static std::optional<std::string> someExternalTensor(ModuleOp model) {
  std::optional<std::string> found;
  model.walk([&](onnx::InitializerOp weight) {
    StringAttr location = weight.getValue().getLocation();
    if (!location || location.getValue() != "EXTERNAL")
      return WalkResult::advance();
    StringAttr name = weight.getValue().getName();
    found = name ? name.getValue().str() : "";
    return WalkResult::interrupt();
  });
  return found;
}

/// The executable refers to weights in `modelPath`, and external data is found
/// beside the file that names it.
static llvm::Error checkPath(ModuleOp model, StringRef modelPath, StringRef path) {
  if (llvm::sys::fs::equivalent(modelPath, path))
    return llvm::createStringError("--write-devices '" + path +
                                   "' is the model itself; name another file");
  std::optional<std::string> external = someExternalTensor(model);
  if (external && !llvm::sys::fs::equivalent(folderOf(modelPath), folderOf(path)))
    return llvm::createStringError("--write-devices '" + path + "': tensor '" + *external +
                                   "' is in a file beside '" + modelPath +
                                   "'; write into that folder");
  return llvm::Error::success();
}

llvm::Error weft::driver::writeDevices(ModuleOp model, ModuleOp sharded, StringRef modelPath,
                                       StringRef path) {
  if (llvm::Error wrong = checkPath(model, modelPath, path))
    return wrong;
  model->setAttr(dist::kMeshAttr, dist::getMesh(sharded));
  // Out of the program, which has no use for it.
  for (StringRef name : {dist::kRecordedAttr, dist::kRecordedStagesAttr})
    if (Attribute recorded = sharded->removeAttr(name))
      model->setAttr(name, recorded);
  PassManager pm(model.getContext());
  pm.addPass(dist::createDistWriteDevices());
  OutputFile file;
  if (llvm::Error wrong = file.open(path))
    return wrong;
  if (succeeded(pm.run(model)) && succeeded(onnx::exportModel(model, file.os())))
    return file.commit();
  return llvm::createStringError("cannot write '" + path + "'");
}
