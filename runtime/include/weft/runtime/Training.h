// The training loop: steps over data, evaluation, checkpoints, generation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_TRAINING_H
#define WEFT_RUNTIME_TRAINING_H

#include "weft/runtime/Runtime.h"
#include "weft/runtime/Status.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::runtime {

class Interrupt;

/// How a GPT goes on with a prompt.
struct GenerationOptions {
  bool wanted = false;
  bool tuned = false; // one of the flags below was given
  std::string prompt; // text for byte tokens, else ids: 1,2,3
  int64_t tokens = 100;
  int64_t topK = 0;                  // 0 = of all tokens
  std::optional<double> temperature; // 0 = greedy; if it is not given 1 with topK, else 0
  uint64_t seed = 0;
};

struct TrainingOptions {
  using Files = std::vector<std::pair<std::string, std::string>>;

  bool wanted = false; // any flag of training but --resume was given
  /// Steps in all, those before a checkpoint that is resumed included.
  int64_t steps = 0;
  Files data, evalData; // NAME=FILE.npy
  std::string dataTokens, evalDataTokens;
  bool shuffleGiven = false, shuffle = false;
  uint64_t shuffleSeed = 0;
  std::string log;
  int64_t logEvery = 0;    // 0 = all; on terminals as many as can be read
  int64_t evalEvery = 0;   // 0 = once, at the end
  int64_t evalBatches = 0; // the first so many; 0 = all
  std::string save, resume;
  int64_t saveEvery = 0;     // 0 = once, at the end
  int64_t keep = 0;          // so many checkpoints; 0 = as CheckpointOptions says
  int64_t replicasEvery = 0; // compare what several ranks hold; 0 = never
  bool runAhead = true;      // where nothing forbids it (StepRunner.h)
  GenerationOptions generation;

  // Not of the command line.
  bool quiet = false;    // no remarks but warnings and errors
  Files inputs;          // values that stay, for every program with that input
  double baseMemory = 0; // resident memory of this process before the arena is touched
  Interrupt *interrupt = nullptr;
  /// Called when step `step` is done and logged; for tests.
  std::function<void(int64_t step)> onStep;
};

/// Begins the peak of this process's resident memory anew, and returns what it begins with in
/// bytes; 0 = not known. Where the system cannot, the peak stays that since the process began.
double restartPeakMemory();

/// Loads the state of an open session and does what `options` ask for. A step
/// takes the samples at positions [s, s + B), s being those that were taken
/// before, by earlier runs that this one goes on from, too, and B the batch of
/// program "step"; position p is sample p modulo the number of samples, or what
/// the shuffle of epoch p / samples puts there. `speaks`: this process prints.
/// Collective. A loss that is no longer finite is a UserError on all processes.
Status train(weft_session *session, const TrainingOptions &options, bool speaks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TRAINING_H
