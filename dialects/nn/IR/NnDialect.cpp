// Registration of the `nn` dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"

#include "dialects/nn/IR/NnAssembly.h"
#include "dialects/nn/IR/NnElementwise.h"
#include "dialects/nn/IR/NnFold.h"
#include "dialects/nn/IR/NnWork.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::nn;

#include "dialects/nn/IR/NnDialect.cpp.inc"
#include "dialects/nn/IR/NnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/IR/NnAttrs.cpp.inc"

void NnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/IR/NnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/IR/NnOps.cpp.inc"
      >();
  addInterfaces<FoldInterface>();
  attachWork(*getContext());
}

Operation *NnDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements ? ConstantOp::create(builder, loc, type, elements) : nullptr;
}

#define GET_OP_CLASSES
#include "dialects/nn/IR/NnOps.cpp.inc"
