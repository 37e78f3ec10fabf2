// An order in which the nodes of a graph can be computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_IMPORTER_NODEORDER_H
#define WEFT_PYTHON_FREE_FRONTEND_IMPORTER_NODEORDER_H

#include "onnx.pb.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace weft::onnx {

struct NodeOrder {
  /// Every node once, each after those whose outputs it reads; that of the file
  /// wherever that will do.
  llvm::SmallVector<unsigned> indices;
  /// The first node in the file's order that reads an output of a later one.
  std::optional<unsigned> firstMoved;
  /// If there is no such order: nodes each of which reads an output of the next,
  /// the last one of the first. `indices` is incomplete then.
  llvm::SmallVector<unsigned> cycle;
};

/// The standard wants nodes sorted; not every writer of files does it. Graphs
/// inside a node count as read by it.
NodeOrder orderNodes(const google::protobuf::RepeatedPtrField<Node> &nodes);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_IMPORTER_NODEORDER_H
