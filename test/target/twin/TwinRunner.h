// Runs kernels on the emulator in several orders, and compares them with those of the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TARGET_TWIN_TWINRUNNER_H
#define WEFT_TEST_TARGET_TWIN_TWINRUNNER_H

#include "../../numerics/kernels/OpCases.h"

#include "runtime/emulator/Emulator.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace weft::test {

/// An order of threads and its seed.
struct Turn {
  emulator::Order order;
  uint64_t seed;
};

/// Every order there is, once, drawn from `seed`.
std::vector<Turn> turns(uint64_t seed);

/// Bytes of a kernel's arguments and of its results, by their numbers.
using Buffers = std::vector<std::vector<char>>;

/// Of one launch: the bytes of the results and what the emulator, or a guard behind a buffer, says
/// is wrong; empty: nothing.
struct Outcome {
  Buffers results;
  std::string error;

  bool operator==(const Outcome &other) const {
    return results == other.results && error == other.error;
  }
};

/// A result of a kernel: its bytes, and the argument that it overwrites; -1: none.
struct ResultBuffer {
  size_t bytes;
  int64_t overwrites;
};

/// Of all results of a kernel (`rt.in_place`).
std::vector<ResultBuffer> resultsOf(mlir::func::FuncOp kernel);

/// Runs all units of a kernel; buffers start on multiples of 256 bytes.
Outcome launch(cpu::KernelLoader::Function code, const LaunchShape &shape, const Buffers &arguments,
               const std::vector<ResultBuffer> &results);

/// The module's functions in CUDA's form, a `gpu.module` each; null on failure.
mlir::OwningOpRef<mlir::ModuleOp> toGpu(mlir::ModuleOp module);

/// Compiles all cases for the CPU and for the twin. Results of the twin must be the same bits in
/// every turn; and the CPU's, unless a sum may be split into lanes or joined with a product, or the
/// CPU calls libm: then they must be within the case's bounds of the reference. `exact` counts
/// cases held to the CPU's bits.
std::vector<CaseResult> runTwins(mlir::MLIRContext &context, const std::vector<KernelCase> &cases,
                                 uint64_t seed, size_t &exact);

/// As testRegistry(), with what the twin needs.
mlir::DialectRegistry twinRegistry();

} // namespace weft::test

#endif // WEFT_TEST_TARGET_TWIN_TWINRUNNER_H
