// The account of a program: what its ops compute, send and keep on a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ACCOUNT_PROGRAMACCOUNT_H
#define WEFT_ACCOUNT_PROGRAMACCOUNT_H

#include "weft/Cost/StepAccount.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace weft::account {

struct Options {
  /// How stages take turns, as PhaseOptions has it; only asked for if there are stages.
  std::string schedule = "1f1b";
  /// Collectives that wait for nobody share messages up to so many bytes; 0: none do.
  int64_t bucketBytes = 0;
  /// For who plans how to split the batch of a program in which no axis does. Collectives over no
  /// axes then stand where devices would exchange state that they share: a ParameterGather in front
  /// of what reads a parameter first in a pass, a GradientSum behind what makes its gradient. Bytes
  /// are those of a schedule that puts gradients of weights off; items stay in their order, and say
  /// what they are there for.
  bool isForPlanning = false;
};

/// Of a module as Compilation::inspectFusible shows it: of the program that updates state, else of
/// the first. Work is that of kernels as fusion will form them, each with what it reads and writes
/// outside; a microbatch is any but the first, which has no sums to add to. Memory is that of
/// values as they are, before buffers are shared: whoever has compiled to `scheduled` knows better.
/// An error says why the schedule does not fit these stages and microbatches, and what would.
llvm::Expected<cost::StepAccount> accountOf(mlir::ModuleOp module, const Options &options);

/// The program that accounts are of: the one that updates state, else the first; null if there is
/// none.
mlir::func::FuncOp leadProgram(mlir::ModuleOp module);
/// Leaves of the programs that one alone: the others take its state as they find it, and no account
/// reads them.
void keepLeadProgram(mlir::ModuleOp module);

} // namespace weft::account

#endif // WEFT_ACCOUNT_PROGRAMACCOUNT_H
