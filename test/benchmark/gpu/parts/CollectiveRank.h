// One rank of part f: a process of its own, which says what it found as lines
// on stdout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/CollectiveReference.h"
#include "common/Report.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::gpukit {

/// One measurement, the same list on every rank: they must all make the same
/// calls.
struct CollectiveCase {
  Collective collective;
  bool bf16;
  uint64_t count; ///< elements of one block
  std::string name(int world) const;
};
/// `divisor` makes them smaller for a test on an emulated device.
std::vector<CollectiveCase> collectiveCases(int world, uint64_t divisor = 1);

/// What one rank says of one case, as one line.
struct RankResult {
  std::string name;
  Check check;
  Stats times;
  bool native = true;

  std::string line() const;
  /// Nothing when the line is not a result.
  static std::optional<RankResult> parse(const std::string &line);
};

/// Runs all cases as `rank`; the identity of the communicator passes through
/// `idFile`. Returns an exit code.
int runRank(int rank, int world, const std::string &idFile, uint64_t divisor);

} // namespace weft::gpukit
