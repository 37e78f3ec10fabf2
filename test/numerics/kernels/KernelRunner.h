// Runs kernels given as text, compiled and by the reference, and compares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_KERNELS_KERNELRUNNER_H
#define WEFT_TEST_NUMERICS_KERNELS_KERNELRUNNER_H

#include "weft/Interfaces/HostTensor.h"
#include "weft/Target/Cpu/KernelCompiler.h"
#include "weft/Testing/InProcess/KernelLoader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <random>
#include <string>
#include <vector>

namespace weft::test {

/// Values of an argument: reals or integers in [low, high].
struct Range {
  double low = -4, high = 4;
};

/// A function `@NAME(...) { nn ops }` and what to feed it.
struct KernelCase {
  std::string name, text;
  std::vector<Range> ranges; // the last one serves all further arguments
  /// Multiple of the error allowed to one op, for chains that amplify it.
  double slack = 1;
};

struct CaseResult {
  std::string name;
  double error = 0;    // max|y - o| / max|o|, the worst result
  std::string failure; // empty: passed
};

/// `count` elements of `type` in `range`, exactly representable.
HostTensor randomTensor(mlir::RankedTensorType type, Range range, std::mt19937_64 &random);
/// The bytes of a tensor as kernels see it.
std::vector<char> toBytes(const HostTensor &tensor);
/// Evaluates a function op by op; results of less than 32 bits are rounded
/// after each op, as kernels do.
std::vector<HostTensor> evaluate(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> arguments);
/// The error that the charter allows for one op, or a chain, of this type.
double tolerance(mlir::Type element);

/// The worst error of one result; infinite if special values differ.
double worstError(const HostTensor &actual, const HostTensor &expected);

mlir::DialectRegistry testRegistry();

/// Cases to compile for one processor.
struct Share {
  std::string processor;
  std::vector<KernelCase> cases;
};
/// All cases for this machine's processor; and each again for one of the
/// x86-64 levels that this machine executes, drawn from `seed`, or for each of
/// them (`everyLevel`).
std::vector<Share> sharesOf(const std::vector<KernelCase> &cases, bool everyLevel, uint64_t seed);

/// Compiles all cases together, runs each whole and in random pieces (which
/// have to agree bit for bit), and compares with the reference.
std::vector<CaseResult> runCases(mlir::MLIRContext &context, const std::vector<KernelCase> &cases,
                                 const KernelOptions &options, uint64_t seed);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_KERNELS_KERNELRUNNER_H
