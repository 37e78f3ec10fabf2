// One case of the ONNX backend test data: a model, inputs, recorded outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_CASE_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_CASE_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace weft::conformance {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// One recorded run of the case's model.
struct DataSet {
  std::vector<NamedTensor> inputs, outputs;
};

struct Case {
  std::string name, folder;
  mlir::OwningOpRef<mlir::ModuleOp> model;
  std::vector<DataSet> dataSets;
};

/// Imports the model and reads all its data sets; why not, or "".
std::string loadCase(Case &test, mlir::MLIRContext *context);

/// The suite records bfloat16 as its bits in uint16; gives such a tensor the
/// type that the program has.
HostTensor asElementType(const HostTensor &recorded, mlir::Type element);

/// What differs beyond the suite's tolerance (relative 1e-3 and absolute 1e-7
/// an element, integers and infinities exactly), or ""; floats of 16 bits may be
/// `units` in the last place off instead.
std::string compare(const HostTensor &found, const HostTensor &expected, unsigned units = 0);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_CASE_H
