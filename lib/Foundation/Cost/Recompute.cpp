// Names of how much is recomputed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Recompute.h"

using namespace weft;

static constexpr std::array<const char *, 5> kNames = {"none", "selective", "full", "best", "auto"};

const char *weft::nameOf(Recompute recompute) { return kNames[size_t(recompute)]; }

std::optional<Recompute> weft::parseRecompute(const std::string &name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i])
      return Recompute(i);
  return std::nullopt;
}
