// Finds the least recomputation that fits by compiling trials to the end: an estimate of memory
// would not be exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChooseRecompute.h"

using namespace mlir;
using namespace weft;

namespace {

class RecomputeSearch {
public:
  explicit RecomputeSearch(Compilation &compilation)
      : compilation(compilation), limit(compilation.options.memoryLimit) {}

  /// Memory falls with the share that is recomputed, nearly as a line between none and all: two
  /// guesses come close, and no more than four plans are made.
  LogicalResult run() {
    FailureOr<bool> fits = tryOut(Recompute::None, 0);
    if (failed(fits) || *fits)
      return settle(fits, Recompute::None, 0);
    // Where even that does not fit, it is what the message is about.
    fits = tryOut(Recompute::Full, 1);
    if (failed(fits) || !*fits)
      return settle(fits, Recompute::Full, 1);
    for (int guess = 0; guess < 2; ++guess) {
      double slope = (below.share - above.share) / double(above.bytes - below.bytes);
      // A little more than the line says, as a plan that does not fit is lost.
      double share = above.share + (guess == 0 ? 1.02 : 1.03) * slope * double(above.bytes - limit);
      if (!(share > above.share && share < below.share))
        break;
      if (fits = tryOut(Recompute::Best, share); failed(fits))
        return failure();
    }
    return below.share < 1 ? settle(fits, Recompute::Best, below.share)
                           : settle(fits, Recompute::Full, 1);
  }

private:
  struct Point {
    double share;
    int64_t bytes;
  };

  /// Whether a process fits with such recomputation.
  FailureOr<bool> tryOut(Recompute mode, double share) {
    FailureOr<int64_t> bytes = compilation.measureMemory([&](CompileOptions &trial) {
      trial.phases.recompute = mode;
      trial.phases.recomputeShare = share;
    });
    if (failed(bytes))
      return failure();
    if (compilation.onRecomputeTrial)
      compilation.onRecomputeTrial(mode, share, *bytes);
    (*bytes <= limit ? below : above) = {share, *bytes};
    return *bytes <= limit;
  }

  LogicalResult settle(FailureOr<bool> last, Recompute mode, double share) {
    compilation.options.phases.recompute = mode;
    compilation.options.phases.recomputeShare = share;
    return last;
  }

  Compilation &compilation;
  const int64_t limit;
  Point above{0, 0}, below{1, 0};
};

} // namespace

LogicalResult weft::chooseRecompute(Compilation &compilation) {
  return RecomputeSearch(compilation).run();
}
