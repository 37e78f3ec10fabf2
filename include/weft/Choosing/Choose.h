// Which layout a program should have: the question, and what was found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CHOOSING_CHOOSE_H
#define WEFT_CHOOSING_CHOOSE_H

#include "weft/Choosing/Evaluation.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Planner/Plan.h"
#include "weft/Planner/Search.h"

#include "llvm/Support/Error.h"

namespace weft::choosing {

/// What is asked beside the program, its cluster and its options, which say what all layouts have
/// in common.
struct Question {
  /// What the answer calls the program.
  std::string model;
  int64_t devices = 1;
  /// Of numbers that divide `devices`, the least on which something fits.
  bool wantsFewestDevices = false;
  planner::Objective objective = planner::Objective::Time;
  /// What layouts may be: of this what is allowed, and the schedules.
  planner::Space limits;
  /// As planner::Options has it.
  std::optional<int64_t> budget;
  /// So many of the best are wanted beside the choice.
  int64_t top = 3;
  /// Everything is simulated, and all of those and the best of each kind compiled: to check that
  /// nothing is lost by not doing so.
  bool isExhaustive = false;
};

/// A change of the question under which something fits.
struct Relaxation {
  std::string change; // "16 devices"
  planner::Candidate candidate;
};

/// What was compiled as a whole.
struct Finalist {
  planner::Candidate byAccount;
  /// As compiled.
  double seconds = 0;
  int64_t bytes = 0;
  bool fits = true;
};

/// What was found.
struct Choice {
  std::string model, clusterName;
  std::vector<std::string> place; // rules that were asked for
  std::string stages;             // how they were asked for, or ""
  double uncertainty = 0;
  bool trains = false;
  int64_t devices = 1, batch = 1, blocks = 0, parameters = 0, stateBytes = 0, deviceBytes = 0;

  planner::Objective objective = planner::Objective::Time;
  /// The choice: its layout, and what it costs as weft-plan --evaluate says. Nothing fits: none.
  std::optional<planner::Layout> layout;
  Evaluation evaluation;
  /// Layouts that are as fast as can be told, and less simple.
  int64_t ties = 0;
  /// In the order in which they were compiled. By the account they all fit.
  std::vector<Finalist> finalists;
  /// Finalists that the compiler refuses, as it may where shapes do not divide, and why.
  std::vector<std::pair<planner::Layout, std::string>> refused;
  /// What could not be accounted because it does not compile: how the groups of devices split the
  /// model, one for each error, and the error.
  std::vector<std::pair<std::string, std::string>> failures;
  /// The same layout by the account that layouts are compared with; all others are below.
  planner::Candidate compared;
  planner::Space space; // what was searched, as was asked
  planner::Result search;
  /// What a data sheet would say: weights over the links of a machine, stages until it fits, the
  /// batch over the rest.
  std::optional<planner::Candidate> folklore;
  /// One device, a sample at a time, everything recomputed; nothing where that is asked about.
  std::optional<planner::Candidate> oneDevice;
  /// Sentences: what more microbatches or devices would change.
  std::vector<std::string> advice;
  /// If nothing fits: what would help, the least change first.
  std::vector<Relaxation> relaxations;
  int64_t compiledPrograms = 0;

  bool isFound() const { return layout.has_value(); }
  /// Finalists that do not fit when they are compiled.
  std::vector<Finalist> tooLarge() const;
};

/// Finds the layout of a program at `import`, which is taken on to `graph`. Of its options what a
/// layout says does not count, all else holds for every layout. That nothing fits is an answer. An
/// error is a Failure or a NoMesh (Failure.h).
llvm::Expected<Choice> choose(Compilation &program, const Question &question);

/// The choice as a plan, with what it was made for and what is predicted.
planner::Plan planOf(const Choice &choice);

} // namespace weft::choosing

#endif // WEFT_CHOOSING_CHOOSE_H
