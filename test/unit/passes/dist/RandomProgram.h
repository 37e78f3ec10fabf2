// Seeded random programs of `nn` ops, with inputs and hand annotations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PASSES_DIST_RANDOMPROGRAM_H
#define WEFT_TEST_UNIT_PASSES_DIST_RANDOMPROGRAM_H

#include "../../lib/Foundation/Sharding/RandomPlacement.h"

#include "weft/Interfaces/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace weft::test {

struct RandomProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<HostTensor> inputs;
  Mesh mesh;
};

/// A program of up to `length` ops over f64 (or f32) tensors that covers every
/// kind of factor: reductions of all kinds, compound dims, indices, whole dims.
RandomProgram randomProgram(mlir::MLIRContext &context, Random &random, int length,
                            bool single = false);

/// Random `dist.placement`s on arguments, `dist.used` where the mesh has microbatches, and
/// `dist.placements` on ops; uneven and compound ones included.
void annotate(RandomProgram &program, Random &random);

/// Gives the mesh an axis of that many microbatches.
void addMicrobatches(RandomProgram &program, int64_t count);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_PASSES_DIST_RANDOMPROGRAM_H
