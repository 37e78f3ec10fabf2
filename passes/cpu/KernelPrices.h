// What the ways to cut a kernel cost on a processor, in scalar operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CPU_KERNELPRICES_H
#define WEFT_PASSES_CPU_KERNELPRICES_H

#include "mlir/IR/Operation.h"

namespace weft::cpu {

/// Scalar operations that an op in the body of a kernel takes.
double operationCost(mlir::Operation &op);

/// Elements: operations on that many at a time cost as one, where the innermost loop runs along
/// memory.
inline constexpr double kLanes = 8;
/// Operations: to start an innermost loop.
inline constexpr double kLoopStart = 6;
/// Operations: to start a unit of work.
inline constexpr double kUnitStart = 10;
/// Operations that computing a value again must save for it to be kept: as a scalar, which stays
/// in a register, or as an array, which costs a store and a load.
inline constexpr double kWorthAScalar = 4, kWorthAnArray = 12;
/// Bytes of temporaries that stay in the first-level cache; each further one costs operations as
/// if it were computed again.
inline constexpr double kFirstLevelBytes = 24 << 10, kSpilledByte = 1;
/// Threads that share the units of a kernel, where it has as many.
inline constexpr double kThreads = 8;
/// The share of its cost that a way with larger units may have, to be taken instead.
inline constexpr double kClearlyLess = 0.7;

/// Nanoseconds: of an operation, of the start of a unit, and what a thread should have to do at
/// least.
inline constexpr double kNanosecondsOfOperation = 0.1, kNanosecondsOfUnitStart = 10,
                        kGrainNanoseconds = 20000;

} // namespace weft::cpu

#endif // WEFT_PASSES_CPU_KERNELPRICES_H
