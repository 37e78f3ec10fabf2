// Choosing how one op is split, by cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PARTITION_OPASSIGNMENT_H
#define WEFT_PASSES_DIST_PARTITION_OPASSIGNMENT_H

#include "weft/Search/Reshard.h"
#include "weft/Sharding/Projection.h"

#include "llvm/Support/Error.h"

namespace weft::dist {

/// The question: an op, where its operands are, and where its results are requested.
struct AssignmentQuery {
  const FactorRule *rule;
  PartialRulesFn partialRules;
  llvm::ArrayRef<Placement> operands;
  llvm::ArrayRef<double> operandBytes; // of one element
  llvm::ArrayRef<std::optional<Placement>> requests;
  llvm::ArrayRef<double> resultBytes;
  double flopsPerPoint;
  Arithmetic arithmetic;
  /// Whether the one reader of the results could do a reduction as well.
  bool mayStayPartial = false;
};

/// The answer: a legal split and the placements that follow.
struct Assignment {
  OpSharding sharding;
  OpPlacements placements;
  /// Seconds of reshards and of the op's arithmetic on one device.
  double cost;
};

/// The cheapest of the splits that the operands and the requests imply, taken in
/// every order of precedence. There is always one: nothing split at all.
Assignment chooseAssignment(ReshardSearch &search, const AssignmentQuery &query);

/// The split that `operands` imply exactly; factors that no operand has follow the requests.
llvm::Expected<Assignment> assignmentFromOperands(ReshardSearch &search,
                                                  const AssignmentQuery &query);

/// `placement` with its partial axes reduced.
Placement reduced(Placement placement);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PARTITION_OPASSIGNMENT_H
