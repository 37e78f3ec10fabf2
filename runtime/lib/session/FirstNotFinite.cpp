// Finds the rank that came first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/FirstNotFinite.h"

#include "session/AmongProcesses.h"

#include <cstring>

using namespace weft::runtime;

namespace {

/// What one rank saw; a NaN comes before all that is infinite, and then what was first.
struct Sight {
  bool isNan = false;
  double seconds = 0;
  std::string text; // "" = nothing

  bool isBefore(const Sight &other) const {
    if (text.empty() || other.text.empty())
      return !text.empty();
    return isNan != other.isNan ? isNan : seconds < other.seconds;
  }
};

Sight sightOf(const RankContext &rank) {
  const NumberCheck *check = rank.numberCheck();
  if (!check)
    return {};
  std::optional<NumberCheck::Found> nan = check->nan(), infinite = check->infinite();
  if (!nan)
    return infinite ? Sight{false, infinite->seconds, rank.describe(*infinite, "infinite")}
                    : Sight();
  Sight sight{true, nan->seconds, rank.describe(*nan, "NaN")};
  if (infinite && infinite->seconds < nan->seconds)
    sight.text += "; before that, on " + rank.describe(*infinite, "infinite");
  return sight;
}

std::string written(const Sight &sight) {
  char head[1 + sizeof sight.seconds] = {sight.isNan};
  std::memcpy(head + 1, &sight.seconds, sizeof sight.seconds);
  return std::string(head, sizeof head) + sight.text;
}

Sight read(const std::string &bytes) {
  Sight sight;
  if (bytes.size() <= 1 + sizeof sight.seconds)
    return sight;
  sight.isNan = bytes[0] != 0;
  std::memcpy(&sight.seconds, bytes.data() + 1, sizeof sight.seconds);
  sight.text = bytes.substr(1 + sizeof sight.seconds);
  return sight;
}

} // namespace

Status weft::runtime::firstNotFinite(weft_session &session, std::string &text) {
  Sight first;
  for (const std::unique_ptr<RankContext> &rank : session.ranks)
    if (Sight own = sightOf(*rank); own.isBefore(first))
      first = own;
  std::vector<std::string> all; // on the first process: of each
  WEFT_TRY(gatherTexts(session, written(first), all));
  for (const std::string &bytes : all)
    if (Sight other = read(bytes); other.isBefore(first))
      first = other;
  text = first.text;
  return broadcast(session, text);
}
