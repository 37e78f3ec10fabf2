// How long each op takes, by the model of costs or as a person says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_OPCOSTS_H
#define WEFT_PASSES_DIST_STAGES_OPCOSTS_H

#include "weft/Cost/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <array>
#include <string>
#include <vector>

namespace weft::dist {

class StageAssignment;

/// Times of nodes as a person measured them:
///
///   weft stage costs 1
///   ^/h\.0/  F=0.004 B=0.006 W=0.003     # layer 0; seconds of one microbatch on one device
///   ^/h\.1/  F=0.008                     # B and W are longer as F is, against the model of costs
///   .*       F=0.001                     # the rest
///
/// A node is of the first line whose regular expression matches its name; the line's seconds are
/// those of all its nodes together.
struct StageCosts {
  struct Line {
    std::string pattern;
    int64_t number;                             ///< in the file
    std::array<std::optional<double>, 3> given; ///< F, B, W
  };
  std::vector<Line> lines;

  static llvm::Expected<StageCosts> read(llvm::StringRef text);
};

class OpCosts {
public:
  /// By the model.
  explicit OpCosts(const CostModel &model) : costs(model) {}

  /// What the text of a StageCosts says of a program's ops (or, empty, the model), whose line
  /// `ops.line()` is. Fails, with what is wrong and its numbers, if a line matches no node on it,
  /// or gives time to what its nodes do not do, or if nodes match no line.
  static llvm::Expected<OpCosts> of(mlir::func::FuncOp program, StageAssignment &ops,
                                    const CostModel &model, llvm::StringRef text);

  const CostModel &model() const { return costs; }

  /// Of one of `parts` equal parts of an op: how it is split is the same for all ops, nearly.
  double seconds(mlir::Operation *op, double parts = 1) const;

private:
  CostModel costs;
  llvm::DenseMap<mlir::Operation *, double> given; ///< seconds of the whole
};

/// The same, with the error told at the program.
mlir::FailureOr<OpCosts> opCostsOf(mlir::func::FuncOp program, StageAssignment &ops,
                                   const CostModel &model, llvm::StringRef text);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_OPCOSTS_H
