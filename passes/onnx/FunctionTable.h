// The model's own functions by name, and what inlining them comes to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_FUNCTIONTABLE_H
#define WEFT_PASSES_ONNX_FUNCTIONTABLE_H

#include "dialects/onnx/IR/Onnx.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace weft::onnx {

class FunctionTable {
public:
  /// Nodes after inlining; a small file of nested calls can mean any number.
  static constexpr uint64_t kMaxNodes = 1'000'000;

  explicit FunctionTable(mlir::ModuleOp module);

  /// The function that a node calls, or null.
  FunctionOp lookup(NodeOp node) const;

  /// Why the nodes of `block` with all calls inlined are no program: a function
  /// that calls itself, or too many nodes; "" if they are one. Takes time in the
  /// size of the file, whatever the number of nodes is.
  std::string checkInlined(mlir::Block &block);

private:
  /// What inlining makes of one call.
  struct Extent {
    uint64_t nodes = 0;
    unsigned depth = 0; // of calls
  };
  /// Nothing, with the problem set, if it is too much.
  std::optional<Extent> measure(mlir::Block &block, unsigned depth);

  llvm::StringMap<FunctionOp> functions;
  llvm::DenseMap<mlir::Operation *, Extent> measured;
  std::string problem;
};

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_FUNCTIONTABLE_H
