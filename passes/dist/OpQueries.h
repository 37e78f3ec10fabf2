// What the passes of dist ask of any op, with answers for ops that have none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_OPQUERIES_H
#define WEFT_PASSES_DIST_OPQUERIES_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "passes/dist/SignatureAttributes.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Sharding/Collective.h"
#include "weft/Sharding/Projection.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::dist {

/// The op's factor rule at these types; for an op without the interface every
/// dim is a factor of its own that must stay whole.
FactorRule factorRuleOf(mlir::Operation *op, mlir::TypeRange operandTypes,
                        mlir::TypeRange resultTypes);
/// The rule at the global types that the op's types stand for.
FactorRule globalRuleOf(mlir::Operation *op);
llvm::SmallVector<PartialRule> partialRulesOf(mlir::Operation *op, ReduceKind kind);

llvm::SmallVector<mlir::Type> globalTypes(mlir::TypeRange types);

/// Placements of the types' encodings; replicated where a type has none.
llvm::SmallVector<Placement, 2> placementsOfTypes(mlir::TypeRange types);

/// True for the op whose one result is what other nodes read of its node: a node
/// may have become several ops.
bool isNodeOutput(mlir::Operation *op);

/// Whether a value is made without operands, as a constant is: where it is read in another
/// placement, dist-insert-reshards makes it anew, or slices it if its op cannot make a part.
bool isMadeOfNothing(mlir::Value value);

/// A requested placement of a value, or null: `dist.placement` of an argument,
/// `dist.placements` of an op.
PlacementAttr requestOf(mlir::Value value);

/// Places an argument as ops read it. It is stored without microbatches, which are parts of it.
void placeArgument(SignatureAttributes &arguments, unsigned argument, PlacementAttr placement);

/// What the program returns there: the state, the output, or its number.
std::string returnedName(mlir::func::FuncOp function, unsigned result);

/// What an op of a training step is for: its `nn.role`.
enum class OpRole { Forward, Gradient, Optimizer };
OpRole roleOf(mlir::Operation *op);

/// Whether a placed op is the reshard that ends a sum over microbatches.
bool isSumOfMicrobatches(mlir::Operation *op);

/// Both sides of a contradiction: notes where the operands of an op are made, and how placed.
void noteOperands(mlir::InFlightDiagnostic &diagnostic, mlir::Operation *op, const Mesh &mesh);

/// Sets the function's type to that of its entry block and its returns.
void updateFunctionType(mlir::func::FuncOp function);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_OPQUERIES_H
