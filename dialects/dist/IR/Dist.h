// The `dist` dialect: placements as attributes and types, and transitions between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_DIST_IR_DIST_H
#define WEFT_DIALECTS_DIST_IR_DIST_H

#include "weft/Sharding/Placement.h"
#include "weft/Sharding/TransitionOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft {
// The attributes' storage is uniqued by value.
llvm::hash_code hash_value(const Mesh &mesh);
llvm::hash_code hash_value(const Placement &placement);
} // namespace weft

#include "dialects/dist/IR/DistDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.h.inc"

namespace weft::dist {

/// Names of the discardable attributes; see the dialect's description.
inline constexpr llvm::StringLiteral kMeshAttr = "dist.mesh";
inline constexpr llvm::StringLiteral kPlacementAttr = "dist.placement";
inline constexpr llvm::StringLiteral kPlacementsAttr = "dist.placements";
inline constexpr llvm::StringLiteral kOperandsAttr = "dist.operands";
inline constexpr llvm::StringLiteral kClosedAttr = "dist.closed";
inline constexpr llvm::StringLiteral kReasonAttr = "dist.reason";
inline constexpr llvm::StringLiteral kReasonsAttr = "dist.reasons";
inline constexpr llvm::StringLiteral kUsedAttr = "dist.used";
inline constexpr llvm::StringLiteral kSearchedAttr = "dist.searched";
inline constexpr llvm::StringLiteral kBatchAxesAttr = "dist.batch_axes";
inline constexpr llvm::StringLiteral kOrderAttr = "dist.order";
/// Why a reshard must not be merged with another: the value exists in this
/// form only for a while (parameters gathered for the forward or backward ops,
/// a gradient reduced in each microbatch).
inline constexpr llvm::StringLiteral kStepPartAttr = "dist.step_part";
inline constexpr llvm::StringLiteral kForward = "forward", kBackward = "backward",
                                     kEachMicrobatch = "microbatch";
/// In the program of one stage of a pipeline, the section that an op runs in (I64): they run one
/// after the other, and communication between stages stands between them (dist-project-stages).
inline constexpr llvm::StringLiteral kSectionAttr = "dist.section";
/// Of an op of a program that is cut into more chunks than there are stages: the chunks that it is
/// of, ascending (DenseI64Array); missing: all, or the op stands in no microbatch.
inline constexpr llvm::StringLiteral kChunksAttr = "dist.chunks";
/// The stage of each chunk, on the module (DenseI64Array); missing: chunk i is on stage i.
inline constexpr llvm::StringLiteral kPlaceAttr = "dist.place";
/// The schedule of a pipeline's microbatches, on its module: the text of weft/Pipeline/Schedule.h.
inline constexpr llvm::StringLiteral kScheduleAttr = "dist.schedule";
inline constexpr llvm::StringLiteral kDevicesAttr = "dist.devices";
inline constexpr llvm::StringLiteral kRecordedAttr = "dist.recorded";

/// The mesh of the module around `op`, or null.
MeshAttr getMesh(mlir::Operation *op);

/// Whether the op exchanges values with other stages of a pipeline: such ops keep their order,
/// which is the same in all stages.
bool crossesStages(mlir::Operation *op);

/// The encoding of a placed global type, or null; of a local type, or null.
PlacementAttr getPlacement(mlir::Type type);
LocalAttr getLocal(mlir::Type type);

/// A tensor type of global shape with this placement, of local shape with this
/// placement, and without encoding.
mlir::RankedTensorType placedType(mlir::RankedTensorType type, MeshAttr mesh,
                                  const Placement &placement);
mlir::RankedTensorType localType(mlir::Type elementType, MeshAttr mesh, const Placement &placement);
/// The type of global shape without encoding that a placed or local type stands
/// for; other types stay.
mlir::Type globalType(mlir::Type type);

/// Creates the op that does one transition of a plan.
mlir::Value createTransition(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input,
                             MeshAttr mesh, TransitionKind kind, llvm::ArrayRef<AxisId> axes,
                             int dim, int otherDim, const Placement &result);

} // namespace weft::dist

#endif // WEFT_DIALECTS_DIST_IR_DIST_H
