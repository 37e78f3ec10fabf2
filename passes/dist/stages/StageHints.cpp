// Stages by name of a node, as stages of ops on a line, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageHints.h"

#include "weft/Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include <map>

using namespace mlir;

namespace weft::dist {

static constexpr int64_t kNotAsked = -1;

std::vector<int64_t> stagesAsked(ArrayRef<Operation *> line) {
  std::vector<int64_t> asked;
  if (line.empty())
    return asked;
  auto stages =
      line.front()->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(kNodeStagesAttr);
  if (!stages)
    return asked;
  for (Operation *op : line) {
    auto stage = stages.getAs<IntegerAttr>(nodeName(op));
    asked.push_back(stage ? stage.getInt() : kNotAsked);
  }
  return asked;
}

int64_t chunksAsked(ArrayRef<int64_t> asked) {
  int64_t chunks = 0, last = kNotAsked;
  for (int64_t stage : asked)
    if (stage != kNotAsked && stage != last) {
      ++chunks;
      last = stage;
    }
  return chunks;
}

std::optional<size_t> firstNotAsAsked(ArrayRef<int64_t> asked, ArrayRef<int64_t> stages) {
  for (auto [i, stage] : llvm::enumerate(asked))
    if (stage != kNotAsked && stage != stages[i])
      return i;
  return std::nullopt;
}

/// The first op that cannot be on the stage that is asked for whatever chunks those before it are
/// of, if there is one: each is of the first chunk that it can be of.
static std::optional<size_t> firstImpossible(ArrayRef<int64_t> asked, ArrayRef<int32_t> place) {
  const int32_t *chunk = place.begin();
  for (auto [i, stage] : llvm::enumerate(asked))
    if (stage != kNotAsked) {
      chunk = std::find(chunk, place.end(), int32_t(stage));
      if (chunk == place.end())
        return i;
    }
  return std::nullopt;
}

void tellNotAsAsked(ArrayRef<Operation *> line, ArrayRef<int64_t> asked, ArrayRef<int64_t> stages,
                    ArrayRef<int32_t> place, StringRef said) {
  std::optional<size_t> first = firstNotAsAsked(asked, stages);
  if (!first)
    return;
  if (!said.empty()) {
    line[*first]->emitWarning() << "--stages '" << said << "' puts it on stage " << stages[*first]
                                << " and overrules the model's device configuration, which asks "
                                << "for stage " << asked[*first];
    return;
  }
  std::optional<size_t> wrong = firstImpossible(asked, place);
  InFlightDiagnostic warning = line[wrong.value_or(*first)]->emitWarning();
  warning << "the model's device configuration asks for stage " << asked[wrong.value_or(*first)]
          << " here";
  if (wrong) {
    size_t before = *wrong;
    while (before > 0 && (asked[before - 1] == kNotAsked || asked[before - 1] == asked[*wrong]))
      --before;
    if (before > 0)
      warning << ", behind '" << nodeName(line[before - 1]) << "' of stage " << asked[before - 1];
  } else {
    warning << ", and with its other stages leaves some chunk without a node";
  }
  warning << ", but the chunks of the model are on stages ";
  llvm::interleaveComma(place, warning);
  warning << ", in this order: its stages are not used";
}

void recordStages(ArrayRef<Operation *> line, ArrayRef<int64_t> stages) {
  if (line.empty())
    return;
  std::map<std::string, std::pair<int64_t, int64_t>> ofNode; // the first stage, and another
  for (auto [op, stage] : llvm::zip_equal(line, stages)) {
    auto &both = ofNode.try_emplace(nodeName(op), stage, stage).first->second;
    if (stage != both.first)
      both.second = stage;
  }
  auto module = line.front()->getParentOfType<ModuleOp>();
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  for (auto &[name, both] : ofNode) {
    if (both.first == both.second)
      entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(both.first)));
    else
      remark::missed(module.getLoc(),
                     remark::RemarkOpts::name("device-hint").category("dist-cut-stages"))
          << ("stage of '" + name + "' is not written: its ops are on stages " +
              std::to_string(both.first) + " and " + std::to_string(both.second));
  }
  module->setAttr(kRecordedStagesAttr, builder.getDictionaryAttr(entries));
}

} // namespace weft::dist
