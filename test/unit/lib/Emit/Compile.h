// From a program in text to outputs, compiled and by the oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_EMIT_COMPILE_H
#define WEFT_TEST_UNIT_LIB_EMIT_COMPILE_H

#include "weft/Compiler/Pipelines.h"
#include "weft/Testing/InProcess/InProcess.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace weft::test {

/// A context with everything registered.
mlir::MLIRContext &context();

/// A program at `graph`, its inputs, and what the oracle says of them.
struct Sample {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<HostTensor> inputs, expected;
  llvm::SmallVector<mlir::RankedTensorType> types;
};
Sample makeSample(llvm::StringRef text, unsigned seed);

/// A copy of the program taken to `scheduled` on a mesh ("": one device).
mlir::OwningOpRef<mlir::ModuleOp> schedule(const Sample &sample, const std::string &mesh);
/// The same for a module at `graph` and all options.
mlir::OwningOpRef<mlir::ModuleOp> schedule(mlir::ModuleOp graph, const PhaseOptions &options);

/// max|y-o| / max|o| over all outputs, infinity if shapes differ or a value is NaN.
double distance(llvm::ArrayRef<HostTensor> found, llvm::ArrayRef<HostTensor> expected);

/// Programs that between them have every kind of command.
extern const char *const kBlock;
extern const char *const kMlp;
extern const char *const kImage;
extern const char *const kRows;

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_EMIT_COMPILE_H
