// Notes by name which placements a program's values were given.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"

#include <map>

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTRECORDPLACEMENTS
#include "passes/dist/Passes.h.inc"

namespace {

struct RecordPlacements : impl::DistRecordPlacementsBase<RecordPlacements> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshAttr mesh = requireMesh(module);
    if (!mesh)
      return signalPassFailure();
    std::map<std::string, Attribute> placements; // null: values of one name differ
    auto record = [&](StringRef name, PlacementAttr placement) {
      auto [known, isNew] = placements.try_emplace(name.str(), placement);
      if (!isNew && known->second != placement)
        known->second = nullptr;
    };
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (BlockArgument argument : function.getArguments()) {
        auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr);
        auto type = dyn_cast<RankedTensorType>(argument.getType());
        PlacementAttr request = requestOf(argument);
        // What nobody asked to split stays whole.
        if (name && type)
          record(name.getValue(), request
                                      ? request
                                      : PlacementAttr::get(&getContext(), mesh,
                                                           Placement::replicated(type.getShape())));
      }
      for (Operation &op : function.getBody().front().without_terminator())
        if (op.getLoc()->findInstanceOf<NameLoc>() && isNodeOutput(&op))
          if (PlacementAttr request = requestOf(op.getResult(0)))
            record(nodeName(&op), request);
    }
    SmallVector<NamedAttribute> entries;
    for (auto &[name, placement] : placements)
      if (placement)
        entries.push_back({StringAttr::get(&getContext(), name), placement});
    module->setAttr(kRecordedAttr, DictionaryAttr::get(&getContext(), entries));
  }
};

} // namespace
} // namespace weft::dist
