// Tells in remarks how each op may be split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/Passes.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace weft::nn {
#define GEN_PASS_DEF_PRINTFACTORRULES
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

static std::string textOf(const FactorRule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  rule.print(os);
  return text;
}

static std::string textOf(ArrayRef<PartialRule> rules) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const PartialRule &rule : rules) {
    os << " {";
    llvm::interleaveComma(rule, os);
    os << "}";
  }
  return text;
}

static void remarkPartialRules(ShardableOpInterface op) {
  // Kinds with equal rules share a remark, in the order of the enum.
  llvm::MapVector<StringRef, std::string> kindsOf;
  std::vector<std::string> texts;
  unsigned count = getMaxEnumValForReduceKind() + 1;
  for (unsigned kind = 0; kind < count; ++kind)
    texts.push_back(textOf(op.getPartialRules(static_cast<ReduceKind>(kind))));
  for (unsigned kind = 0; kind < count; ++kind)
    if (!texts[kind].empty())
      kindsOf[texts[kind]] += " " + stringifyReduceKind(static_cast<ReduceKind>(kind)).str();
  for (const auto &[rules, kinds] : kindsOf)
    op->emitRemark() << "partial" << kinds << ":" << rules;
}

namespace {
struct PrintFactorRules : nn::impl::PrintFactorRulesBase<PrintFactorRules> {
  void runOnOperation() override {
    getOperation()->walk([](ShardableOpInterface op) {
      op->emitRemark() << textOf(op.getOwnFactorRule()) << ", "
                       << stringifyComputeClass(op.getComputeClass());
      remarkPartialRules(op);
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
