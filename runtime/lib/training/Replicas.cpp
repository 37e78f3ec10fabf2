// Hashes of states, and who has other ones than those with the same elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/Replicas.h"

#include "session/AmongProcesses.h"

#include <algorithm>
#include <cstring>
#include <map>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace weft::runtime;

namespace {

/// XXH3 of bytes that come in pieces.
class Hash {
public:
  Hash() : state(XXH3_createState()) { XXH3_64bits_reset(state); }
  ~Hash() { XXH3_freeState(state); }
  Hash(const Hash &) = delete;
  void add(const void *data, size_t bytes) { XXH3_64bits_update(state, data, bytes); }
  uint64_t value() const { return XXH3_64bits_digest(state); }

private:
  XXH3_state_t *state;
};

/// Of the elements that a rank holds; never 0.
uint64_t hashOfPlace(const ShardMap &map) {
  Hash hash;
  map.forEachRun([&](const ShardMap::Run &run) {
    const int64_t words[] = {run.global, run.count};
    hash.add(words, sizeof words);
  });
  return std::max<uint64_t>(hash.value(), 1);
}

std::string ranksText(const std::vector<int64_t> &ranks) {
  constexpr size_t kMost = 4; // in words
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    text += (i ? ", rank " : "rank ") + std::to_string(ranks[i]);
  return ranks.size() > kMost ? text + " and " + std::to_string(ranks.size() - kMost) + " more"
                              : text;
}

using RanksByHash = std::map<uint64_t, std::vector<int64_t>>;

/// "rank 1 has other bytes than rank 0, rank 2": who is right is not known; most ranks are taken
/// for it, and of as many the first.
std::string describe(const RanksByHash &groups) {
  auto isFewer = [](const auto &a, const auto &b) {
    const std::vector<int64_t> &x = a.second, &y = b.second;
    return x.size() != y.size() ? x.size() < y.size() : x.front() > y.front();
  };
  auto most = std::max_element(groups.begin(), groups.end(), isFewer);
  std::vector<int64_t> others;
  for (auto group = groups.begin(); group != groups.end(); ++group)
    if (group != most)
      others.insert(others.end(), group->second.begin(), group->second.end());
  std::sort(others.begin(), others.end());
  return ranksText(others) + (others.size() == 1 ? " has" : " have") + " other bytes than " +
         ranksText(most->second);
}

} // namespace

std::string Replicas::differenceIn(const std::vector<Print> &prints,
                                   const std::vector<std::string> &states, int64_t &compared) {
  std::string first;
  int64_t differ = 0;
  compared = 0;
  for (size_t state = 0; state < states.size(); ++state) {
    std::map<uint64_t, RanksByHash> places;
    for (size_t at = state; at < prints.size(); at += states.size())
      if (prints[at].place != 0)
        places[prints[at].place][prints[at].bytes].push_back(int64_t(at / states.size()));
    bool isHeldTwice = false;
    const RanksByHash *wrong = nullptr;
    for (const auto &[place, groups] : places) {
      isHeldTwice |= groups.size() > 1 || groups.begin()->second.size() > 1;
      if (groups.size() > 1)
        wrong = &groups;
    }
    compared += isHeldTwice;
    differ += wrong != nullptr;
    if (wrong && first.empty())
      first = "replicas of state '" + states[state] + "' differ: " + describe(*wrong);
  }
  return differ == 0 ? ""
                     : first + " (" + std::to_string(differ) + " of " + std::to_string(compared) +
                           " states that several ranks hold differ)";
}

Replicas::Replicas(weft_session &session) : session(session) {
  const ProgramView &p = session.view();
  for (const State &state : p.States())
    states.emplace_back(p.string(state.name));
  for (const std::unique_ptr<RankContext> &rank : session.ranks)
    for (const State &state : p.States()) {
      own.emplace_back();
      if (rank->holds(state) && rank->map(state.placement).numValid() > 0)
        own.back().place = hashOfPlace(rank->map(state.placement));
    }
}

Status Replicas::printOf(RankContext &rank, const State &state, Print &print) const {
  if (print.place == 0)
    return {};
  HostCopy shard = rank.shard(state);
  WEFT_TRY(shard.download());
  const uint64_t width = dtypeBytes(state.dtype);
  Hash hash;
  rank.map(state.placement).forEachRun([&](const ShardMap::Run &run) {
    hash.add(shard.data() + uint64_t(run.local) * width, uint64_t(run.count) * width);
  });
  print.bytes = hash.value();
  return {};
}

Status Replicas::compare(int64_t step) {
  size_t at = 0;
  for (const std::unique_ptr<RankContext> &rank : session.ranks)
    for (const State &state : session.view().States())
      WEFT_TRY(printOf(*rank, state, own[at++]));
  std::string mine(reinterpret_cast<const char *>(own.data()), own.size() * sizeof(Print)), told;
  std::vector<std::string> all; // on the first process: of each
  WEFT_TRY(gatherTexts(session, mine, all));
  std::vector<Print> prints;
  for (const std::string &text : all) {
    size_t before = prints.size();
    prints.resize(before + text.size() / sizeof(Print));
    std::memcpy(prints.data() + before, text.data(), text.size());
  }
  if (!prints.empty())
    told = differenceIn(prints, states, compared);
  WEFT_TRY(broadcast(session, told));
  return told.empty()
             ? Status()
             : Status(StatusCode::RankFailed, "step " + std::to_string(step) + ": " + told);
}
