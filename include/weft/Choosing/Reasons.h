// Why a choice is one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CHOOSING_REASONS_H
#define WEFT_CHOOSING_REASONS_H

#include "weft/Choosing/Choose.h"

namespace weft::choosing {

/// Where a layout loses most against another: what it spends more time on.
struct Loss {
  enum class Part : uint8_t { Computing, Communication, Bubble, Updates } part;
  int64_t picoseconds = 0;
};
/// By the account; nothing if it loses nowhere.
std::optional<Loss> lossOf(const planner::Candidate &loser, const planner::Candidate &choice);

/// By what share of `best` the account of `candidate` has more of the objective.
double excess(const planner::Candidate &candidate, const planner::Candidate &best,
              planner::Objective objective);

/// What an axis of a choice, or its ZeRO, is good for.
struct Use {
  std::string what;
  /// By how much the best that was found without it is slower by the account, or larger where the
  /// objective is memory, as a share; nothing if none fits.
  std::optional<double> excess;
  bool isAsked = false; ///< by the user, so that nothing without it was looked at
};
/// One for each means that a choice has.
std::vector<Use> usesOf(const Choice &choice);

} // namespace weft::choosing

#endif // WEFT_CHOOSING_REASONS_H
