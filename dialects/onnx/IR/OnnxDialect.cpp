// Registration of the `onnx` dialect and look-ups over a whole model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/Onnx.h"

using namespace mlir;
using namespace weft::onnx;

#include "dialects/onnx/IR/OnnxDialect.cpp.inc"

void OnnxDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/IR/OnnxOps.cpp.inc"
      >();
}

LogicalResult OnnxDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kModelAttrName)
    return op->emitOpError() << "has unknown attribute '" << attribute.getName().getValue() << "'";
  if (!isa<ModuleOp>(op) || !isa<ModelAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << kModelAttrName
                             << "' belongs on a builtin.module and is an #onnx.model";
  return success();
}

ModelAttr weft::onnx::getModel(ModuleOp module) {
  return module->getAttrOfType<ModelAttr>(OnnxDialect::kModelAttrName);
}

GraphOp weft::onnx::getMainGraph(ModuleOp module) {
  auto graphs = module.getOps<GraphOp>();
  return graphs.empty() ? GraphOp() : *graphs.begin();
}
