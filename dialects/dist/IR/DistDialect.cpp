// Registration of the `dist` dialect, its discardable attributes, and its types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/ChunkRows.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/NodeStages.h"
#include "dialects/dist/IR/ScheduleAttrs.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::dist;

#include "dialects/dist/IR/DistDialect.cpp.inc"

namespace {

/// Prints the mesh, which is part of every placed type, as `#mesh`, and reasons, which are long, as
/// `#reason3`.
struct DistAsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, llvm::raw_ostream &os) const override {
    if (isa<ReasonAttr>(attr)) {
      os << "reason";
      return AliasResult::OverridableAlias;
    }
    if (!isa<MeshAttr>(attr))
      return AliasResult::NoAlias;
    os << "mesh";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void DistDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOps.cpp.inc"
      >();
  addInterfaces<DistAsmInterface>();
}

/// Checks a placement attribute against the type that it will be moved into.
static LogicalResult verifyPlacementFor(Operation *op, Attribute attr, Type type, StringRef what) {
  auto placement = dyn_cast<PlacementAttr>(attr);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!placement || !tensor)
    return op->emitError() << what << " must be a #dist.placement of a tensor";
  std::string why;
  if (!verifyPlacement(placement.getMesh().getValue(), placement.getValue(),
                       cast<RankedTensorType>(globalType(tensor)).getShape(), &why))
    return op->emitError() << what << ": " << why;
  return success();
}

/// Each chunk is on a stage of the mesh, and each stage has one.
static LogicalResult verifyPlace(Operation *op, Attribute attr) {
  auto place = dyn_cast<DenseI64ArrayAttr>(attr);
  MeshAttr mesh = getMesh(op);
  std::optional<AxisId> axis = mesh ? mesh.getValue().stageAxis() : std::nullopt;
  if (!isa<ModuleOp>(op) || !place || !axis)
    return op->emitError()
           << "'dist.place' must be a list of stages on a module whose mesh has some";
  int64_t stages = mesh.getValue().size(*axis);
  for (int64_t stage : place.asArrayRef())
    if (stage < 0 || stage >= stages)
      return op->emitError() << "'dist.place': there is no stage " << stage << " of " << stages;
  for (int64_t stage = 0; stage < stages; ++stage)
    if (!llvm::is_contained(place.asArrayRef(), stage))
      return op->emitError() << "'dist.place': stage " << stage << " has no chunk";
  return success();
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kMeshAttr)
    return isa<ModuleOp>(op) && isa<MeshAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.mesh' must be a #dist.mesh on a module";
  if (name == kDevicesAttr)
    return isa<ModuleOp>(op) && isa<DictionaryAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.devices' must be a dictionary on a module";
  if (name == kRecordedAttr) {
    auto entries = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!isa<ModuleOp>(op) || !entries || !llvm::all_of(entries, [](NamedAttribute entry) {
          return isa<PlacementAttr>(entry.getValue());
        }))
      return op->emitError() << "'dist.recorded' must be a dictionary of placements on a module";
    return success();
  }
  if (name == kNodeStagesAttr || name == kRecordedStagesAttr) {
    auto entries = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (!isa<ModuleOp>(op) || !entries || !llvm::all_of(entries, [](NamedAttribute entry) {
          return isa<IntegerAttr>(entry.getValue());
        }))
      return op->emitError() << "'" << name << "' must be a dictionary of stages on a module";
    return success();
  }
  if (name == kBatchAxesAttr) {
    auto axes = dyn_cast<ArrayAttr>(attribute.getValue());
    MeshAttr mesh = getMesh(op);
    if (!isa<ModuleOp>(op) || !axes || !mesh || !llvm::all_of(axes, [&](Attribute axis) {
          auto text = dyn_cast<StringAttr>(axis);
          return text && !mesh.getValue().resolve(text.getValue()).empty();
        }))
      return op->emitError() << "'dist.batch_axes' must be a list of axes of the mesh on a module";
    return success();
  }
  if (name == kClosedAttr || name == kStepPartAttr || name == kOrderAttr || name == kSearchedAttr)
    return success();
  if (name == kSectionAttr)
    return isa<IntegerAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.section' must be a number";
  if (name == kChunksAttr)
    return isa<DenseI64ArrayAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.chunks' must be a list of chunks";
  if (name == kPlaceAttr)
    return verifyPlace(op, attribute.getValue());
  if (name == kActionsAttr)
    return isa<RepeatOp>(op) && isa<DictionaryAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.actions' must be a dictionary on a loop";
  if (name == kScheduleReasonAttr)
    return isa<ModuleOp>(op) && isa<StringAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.schedule_reason' must be a text on a module";
  if (name == kScheduleSearchedAttr)
    return isa<ModuleOp>(op) && isa<UnitAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.schedule_searched' must be a mark on a module";
  if (name == kChunkRowsAttr)
    return isa<ModuleOp>(op) && readChunkRows(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.chunk_rows' must be a list of rows on a module";
  if (name == kScheduleAttr)
    return isa<ModuleOp>(op) && isa<StringAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.schedule' must be the text of a schedule on a module";
  if (name == kReasonAttr)
    return isa<ReasonAttr>(attribute.getValue())
               ? success()
               : op->emitError() << "'dist.reason' must be a #dist.reason";
  if (name == kReasonsAttr) {
    auto entries = dyn_cast<ArrayAttr>(attribute.getValue());
    return entries && llvm::all_of(entries, llvm::IsaPred<ReasonAttr>)
               ? success()
               : op->emitError() << "'dist.reasons' must be a list of #dist.reason";
  }
  if (name != kPlacementsAttr && name != kOperandsAttr)
    return op->emitError() << "unknown attribute '" << name << "'";
  SmallVector<Type> types = name == kPlacementsAttr ? SmallVector<Type>(op->getResultTypes())
                                                    : SmallVector<Type>(op->getOperandTypes());
  auto entries = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!entries || entries.size() != types.size())
    return op->emitError() << "'" << name << "' must be a list of " << types.size()
                           << " placements";
  for (auto [entry, type] : llvm::zip_equal(entries, types))
    if (failed(verifyPlacementFor(op, entry, type, name)))
      return failure();
  return success();
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != kPlacementAttr && name != kUsedAttr)
    return success();
  return verifyPlacementFor(op, attribute.getValue(),
                            op->getRegion(region).getArgument(index).getType(),
                            ("'" + name + "' of argument " + Twine(index)).str());
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (attribute.getName() != kPlacementAttr || !function)
    return success();
  return verifyPlacementFor(op, attribute.getValue(), function.getResultTypes()[index],
                            "'dist.placement' of result " + std::to_string(index));
}

MeshAttr weft::dist::getMesh(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto mesh = op->getAttrOfType<MeshAttr>(kMeshAttr))
      return mesh;
  return {};
}

PlacementAttr weft::dist::getPlacement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<PlacementAttr>(tensor.getEncoding()) : PlacementAttr();
}

LocalAttr weft::dist::getLocal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LocalAttr>(tensor.getEncoding()) : LocalAttr();
}

RankedTensorType weft::dist::placedType(RankedTensorType type, MeshAttr mesh,
                                        const Placement &placement) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               PlacementAttr::get(type.getContext(), mesh, placement));
}

RankedTensorType weft::dist::localType(Type elementType, MeshAttr mesh,
                                       const Placement &placement) {
  return RankedTensorType::get(localShape(mesh.getValue(), placement), elementType,
                               LocalAttr::get(elementType.getContext(), mesh, placement));
}

Type weft::dist::globalType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  if (auto local = getLocal(type))
    return RankedTensorType::get(globalShape(local.getValue()), tensor.getElementType());
  return withoutEncoding(type);
}
