// Look-up of functions, and the count of nodes before any is inlined.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/FunctionTable.h"

using namespace mlir;
using namespace weft::onnx;

/// Calls of functions inside functions; the standard forbids recursion, a
/// hostile file may still have it.
static constexpr unsigned kMaxCallDepth = 64;

static std::string keyOf(StringRef domain, StringRef name, StringRef overload) {
  return (canonicalDomain(domain) + Twine('\0') + name + Twine('\0') + overload).str();
}

FunctionTable::FunctionTable(ModuleOp module) {
  for (FunctionOp function : module.getOps<FunctionOp>())
    functions.try_emplace(keyOf(function.getDomain().value_or(""),
                                function.getFunctionName().value_or(""),
                                function.getOverload().value_or("")),
                          function);
}

FunctionOp FunctionTable::lookup(NodeOp node) const {
  if (functions.empty())
    return FunctionOp();
  return functions.lookup(
      keyOf(node.getDomain().value_or(""), node.getOpType(), node.getOverload().value_or("")));
}

std::optional<FunctionTable::Extent> FunctionTable::measure(Block &block, unsigned depth) {
  Extent total;
  auto add = [&](const Extent &extent) {
    total.nodes += extent.nodes;
    total.depth = std::max(total.depth, extent.depth);
    if (total.nodes > kMaxNodes)
      problem = "the model has more than " + std::to_string(kMaxNodes) +
                " nodes once its functions are inlined";
    return problem.empty();
  };
  for (auto node : block.getOps<NodeOp>()) {
    if (!add({1, 0}))
      return std::nullopt;
    for (Region &region : node.getGraphs())
      for (Block &inner : region) {
        auto extent = measure(inner, depth);
        if (!extent || !add(*extent))
          return std::nullopt;
      }
    FunctionOp callee = lookup(node);
    if (!callee)
      continue;
    auto known = measured.find(callee);
    bool tooDeep = depth >= kMaxCallDepth;
    if (known == measured.end() && !tooDeep) {
      auto extent = measure(callee.getBody().front(), depth + 1);
      if (!extent)
        return std::nullopt;
      ++extent->depth;
      known = measured.try_emplace(callee, *extent).first;
    }
    if (tooDeep || depth + known->second.depth > kMaxCallDepth) {
      problem = "function '" + node.getOpType().str() + "' is called through more than " +
                std::to_string(kMaxCallDepth) + " other calls; recursion is not allowed";
      return std::nullopt;
    }
    if (!add(known->second))
      return std::nullopt;
  }
  return total;
}

std::string FunctionTable::checkInlined(Block &block) {
  problem.clear();
  measure(block, 0);
  return problem;
}
