// The `rt` dialect: fusions on tensors, and commands on streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_RT_H
#define WEFT_DIALECTS_RT_IR_RT_H

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Sharding/TransitionOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/rt/IR/RtDialect.h.inc"
#include "dialects/rt/IR/RtEnums.h.inc"

namespace weft::rt {

/// One part of a dimension: its extent and the axes that split it.
struct PlacementPart {
  int64_t size;
  llvm::SmallVector<mlir::StringAttr, 2> axes;
  bool operator==(const PlacementPart &other) const {
    return size == other.size && axes == other.axes;
  }
};
/// Parts multiply, outermost first, to the dimension's size.
struct PlacementDim {
  llvm::SmallVector<PlacementPart, 2> parts;
  bool operator==(const PlacementDim &other) const { return parts == other.parts; }
};
llvm::hash_code hash_value(const PlacementPart &part);
llvm::hash_code hash_value(const PlacementDim &dim);

/// Mark of a private function that programs call.
inline constexpr llvm::StringLiteral kRoutineAttr = "rt.routine";
/// Mark of the function that a program was made from; see `rt-lower-to-commands`.
inline constexpr llvm::StringLiteral kSpecAttr = "rt.spec";
/// On a command: the position of its op in that function.
inline constexpr llvm::StringLiteral kOriginAttr = "rt.origin";
/// Mark of an outlined kernel.
inline constexpr llvm::StringLiteral kKernelAttr = "rt.kernel";

/// On a fusion or call: the `nn.role` of what makes each of its results, ""
/// for the forward pass.
inline constexpr llvm::StringLiteral kRolesAttr = "rt.roles";
/// On the module of one stage of a pipeline: its number. Such modules are all that a module with
/// stages holds at `scheduled`, in the order of their numbers.
inline constexpr llvm::StringLiteral kStageAttr = "weft.stage";
/// On the module that holds those of stages: for each program the names of its inputs and of its
/// outputs, `{step = [["x", "y"], ["loss"]]}`, in the order of the whole, of which a stage has a
/// part.
inline constexpr llvm::StringLiteral kPortsAttr = "rt.ports";

/// On an all_reduce, also in a bucket: its result lies where its operand does.
inline constexpr llvm::StringLiteral kReusesAttr = "rt.reuses";
/// On an rt.put: the call that makes its rows writes them in place, so no command does it.
inline constexpr llvm::StringLiteral kPlacedAttr = "rt.placed";

/// The modules that hold programs: one for each stage of a pipeline, in their order, or the module
/// itself where it has none.
llvm::SmallVector<mlir::ModuleOp> stageModulesOf(mlir::ModuleOp module);

/// True if the two may share messages: one kind over the same axes, one element
/// type, reduced and padded alike.
bool travelTogether(TransitionOpInterface a, TransitionOpInterface b);

/// The transitions between placements that one command does: the op itself, or those of
/// its bucket, one an operand; none for other ops.
llvm::SmallVector<TransitionOpInterface> transitionsOf(mlir::Operation *op);

/// Of those, the one from operand `number` to result `number`; null if there is none.
TransitionOpInterface transitionOf(mlir::Operation *op, unsigned number);

/// Offset and strides of a memref whose layout is static.
bool staticLayout(mlir::MemRefType type, llvm::SmallVectorImpl<int64_t> &strides, int64_t &offset);

} // namespace weft::rt

#include "dialects/rt/IR/RtInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/IR/RtAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/rt/IR/RtOps.h.inc"

#endif // WEFT_DIALECTS_RT_IR_RT_H
