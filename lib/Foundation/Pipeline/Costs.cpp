// Costs of chunks, equal or read from a file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Costs.h"

#include "Words.h"

#include <cmath>
#include <limits>
#include <set>

using namespace weft::pipeline;

double ChunkCosts::memoryChange(Kind kind) const {
  switch (kind) {
  case Kind::Forward:
    return keptForBackward + keptForWeight;
  case Kind::Backward:
    return madeForWeight - keptForBackward;
  case Kind::Weight:
    return -keptForWeight - madeForWeight;
  case Kind::Both:
    break;
  }
  return -keptForBackward - keptForWeight;
}

double ChunkCosts::time(Kind kind) const {
  switch (kind) {
  case Kind::Forward:
    return forward;
  case Kind::Backward:
    return backward;
  case Kind::Weight:
    return weight;
  case Kind::Both:
    break;
  }
  return backward + weight;
}

double Costs::limitOf(size_t rank) const {
  return rank < limit.size() ? limit[rank] : std::numeric_limits<double>::infinity();
}

ChunkCosts weft::pipeline::evenChunk(const ChunkCosts &share, double chunksPerRank) {
  ChunkCosts chunk = share;
  for (double *part : {&chunk.forward, &chunk.backward, &chunk.weight, &chunk.keptForBackward,
                       &chunk.keptForWeight, &chunk.madeForWeight})
    *part /= chunksPerRank;
  return chunk;
}

Costs weft::pipeline::evenCosts(int64_t ranks, int64_t chunksPerRank, const ChunkCosts &share) {
  Costs costs;
  costs.chunks.assign(size_t(ranks * chunksPerRank), evenChunk(share, double(chunksPerRank)));
  return costs;
}

namespace {

/// Reads the words behind "all" or "chunk N" into `chunk`.
bool readChunk(Words &words, ChunkCosts &chunk) {
  const std::vector<std::pair<std::string, double *>> fields = {
      {"F", &chunk.forward},       {"B", &chunk.backward},         {"W", &chunk.weight},
      {"comm", &chunk.transfer},   {"FB", &chunk.keptForBackward}, {"FW", &chunk.keptForWeight},
      {"BW", &chunk.madeForWeight}};
  std::set<std::string> given;
  while (words.next()) {
    if (!words.assign(fields))
      return false;
    if (!given.insert(words.word().substr(0, words.word().find('='))).second)
      return words.fail("is a name that the line has not given before");
  }
  return !given.empty() || words.assign(fields);
}

/// `hasChunks`: a line for chunks has been.
bool readCostsLine(Words &words, Costs &costs, size_t ranks, bool &hasChunks) {
  int64_t number = 0;
  if (words.is("all") && hasChunks)
    return words.fail("is 'chunk' or 'rank': 'all' comes once, before any chunk");
  hasChunks |= words.is("all") || words.is("chunk");
  if (words.is("all")) {
    ChunkCosts all;
    if (!readChunk(words, all))
      return false;
    costs.chunks.assign(costs.chunks.size(), all);
    return true;
  }
  if (words.is("chunk"))
    return words.number(0, int64_t(costs.chunks.size()) - 1, number) &&
           readChunk(words, costs.chunks[size_t(number)]);
  if (!words.is("rank"))
    return words.fail("is 'all', 'chunk' or 'rank'");
  if (!words.number(0, int64_t(ranks) - 1, number))
    return false;
  costs.limit.resize(ranks, std::numeric_limits<double>::infinity());
  if (!words.next())
    return words.fail("is limit=X");
  return words.assign({{"limit", &costs.limit[size_t(number)]}}) && words.end();
}

} // namespace

std::optional<Costs> weft::pipeline::readCosts(const std::string &text, size_t chunks, size_t ranks,
                                               std::string &error) {
  Words words(text, error);
  Costs costs;
  costs.chunks.resize(chunks);
  if (!words.header("costs"))
    return std::nullopt;
  bool hasChunks = false;
  while (words.nextLine())
    if (!readCostsLine(words, costs, ranks, hasChunks))
      return std::nullopt;
  return costs;
}
