// The text of schedules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Schedule.h"

#include "Words.h"

using namespace weft::pipeline;

namespace {

constexpr char kLetters[] = "FBWD";

/// "F1.3"; says in `words` what is wrong.
bool readAction(Words &words, int64_t chunks, int64_t microbatches, Action &action) {
  const std::string &word = words.word();
  size_t kind = std::string(kLetters).find(word[0]), dot = word.find('.');
  if (kind == std::string::npos || dot == std::string::npos)
    return words.fail("is an action such as F0.1: F, B, W or D, a chunk and a microbatch");
  int64_t chunk = 0, microbatch = 0;
  if (!parseWhole(word.substr(1, dot - 1), 0, chunks - 1, chunk))
    return words.fail("is a chunk from 0 to " + std::to_string(chunks - 1) + " before the dot");
  if (!parseWhole(word.substr(dot + 1), 0, microbatches - 1, microbatch))
    return words.fail("is a microbatch from 0 to " + std::to_string(microbatches - 1) +
                      " behind the dot");
  action = {Kind(kind), int32_t(chunk), int32_t(microbatch)};
  return true;
}

bool readSizes(Words &words, Schedule &schedule) {
  int64_t ranks = 0, chunks = 0, microbatches = 0;
  if (!words.nextLine() || !words.is("ranks"))
    return words.fail("is 'ranks', as in 'ranks 4 chunks 4 microbatches 8'");
  if (!words.number(1, kMostRanks, ranks) || !words.expect("chunks") ||
      !words.number(1, kMostPairs, chunks) || !words.expect("microbatches") ||
      !words.number(1, kMostPairs / chunks, microbatches) || !words.end())
    return false;
  schedule.ranks.resize(size_t(ranks));
  schedule.place.resize(size_t(chunks));
  schedule.microbatches = int32_t(microbatches);
  return true;
}

bool readPlace(Words &words, Schedule &schedule) {
  if (!words.nextLine() || !words.is("place"))
    return words.fail("is 'place' and the rank of each chunk");
  for (int32_t &rank : schedule.place) {
    int64_t number = 0;
    if (!words.number(0, int64_t(schedule.ranks.size()) - 1, number))
      return false;
    rank = int32_t(number);
  }
  return words.end();
}

bool readRank(Words &words, size_t rank, Schedule &schedule) {
  std::string name = std::to_string(rank) + ":";
  if (!words.nextLine() || !words.is("rank"))
    return words.fail("is 'rank " + name + "' and the actions of that rank");
  if (!words.expect(name.c_str()))
    return false;
  while (words.next()) {
    Action action;
    if (!readAction(words, int64_t(schedule.place.size()), schedule.microbatches, action))
      return false;
    schedule.ranks[rank].push_back(action);
  }
  return true;
}

} // namespace

char weft::pipeline::letterOf(Kind kind) { return kLetters[unsigned(kind)]; }

std::string weft::pipeline::nameOf(const Action &action) {
  return letterOf(action.kind) + std::to_string(action.chunk) + "." +
         std::to_string(action.microbatch);
}

std::string weft::pipeline::writeSchedule(const Schedule &schedule) {
  std::string text = "weft schedule 1\nranks " + std::to_string(schedule.ranks.size()) +
                     "  chunks " + std::to_string(schedule.place.size()) + "  microbatches " +
                     std::to_string(schedule.microbatches) + "\nplace";
  for (int32_t rank : schedule.place)
    text += " " + std::to_string(rank);
  text += "\n";
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    text += "rank " + std::to_string(rank) + ":";
    for (const Action &action : schedule.ranks[rank])
      text += " " + nameOf(action);
    text += "\n";
  }
  return text;
}

std::optional<Schedule> weft::pipeline::readSchedule(const std::string &text, std::string &error) {
  Words words(text, error);
  Schedule schedule;
  if (!words.header("schedule") || !readSizes(words, schedule) || !readPlace(words, schedule))
    return std::nullopt;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    if (!readRank(words, rank, schedule))
      return std::nullopt;
  if (words.nextLine()) {
    words.fail("is nothing: all ranks have their line");
    return std::nullopt;
  }
  return schedule;
}
