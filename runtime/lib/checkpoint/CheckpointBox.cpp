// Boxes of tensors, and their distribution over writers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointBox.h"

#include <algorithm>
#include <map>

using namespace weft::runtime;

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t CheckpointBox::count() const { return product(size); }
int64_t CheckpointBox::numGlobal() const { return product(view); }

int64_t CheckpointBox::begin() const {
  int64_t index = 0;
  for (size_t d = 0; d < view.size(); ++d)
    index = index * view[d] + start[d];
  return index;
}

int64_t CheckpointBox::end() const {
  if (count() == 0)
    return begin();
  int64_t index = 0;
  for (size_t d = 0; d < view.size(); ++d)
    index = index * view[d] + start[d] + size[d] - 1;
  return index + 1;
}

CheckpointBox::Place CheckpointBox::locate(int64_t global) const {
  int64_t total = numGlobal();
  if (count() == 0)
    return {false, 0, total - global};
  constexpr size_t kMaxDims = 64; // more than any view has
  int64_t index[kMaxDims];
  size_t dims = view.size();
  int64_t rest = global;
  for (size_t d = dims; d-- > 0;) {
    index[d] = rest % view[d];
    rest /= view[d];
  }
  int64_t local = 0;
  for (size_t d = 0; d < dims; ++d) {
    if (index[d] >= start[d] && index[d] < start[d] + size[d]) {
      local = local * size[d] + index[d] - start[d];
      continue;
    }
    // Above the range: the next row of an enclosing dimension, if it has one.
    size_t fixed = d;
    if (index[d] >= start[d] + size[d]) {
      do {
        if (fixed == 0)
          return {false, 0, total - global};
        --fixed;
      } while (index[fixed] + 1 >= start[fixed] + size[fixed]);
      ++index[fixed++];
    }
    int64_t next = 0;
    for (size_t i = 0; i < dims; ++i)
      next = next * view[i] + (i < fixed ? index[i] : start[i]);
    return {false, 0, next - global};
  }
  // Whole dimensions at the end belong to one row of the last that is not.
  int64_t block = 1;
  size_t row = dims;
  while (row > 0 && start[row - 1] == 0 && size[row - 1] == view[row - 1])
    block *= view[--row];
  int64_t left = row == 0
                     ? total - global
                     : (start[row - 1] + size[row - 1] - index[row - 1]) * block - global % block;
  return {true, local, left};
}

bool weft::runtime::isSaved(const ProgramView &p, const State &state) {
  BufferClass kind = p.classOf(state);
  return kind == BufferClass::Parameter || kind == BufferClass::OptimizerState;
}

CheckpointBox weft::runtime::boxOf(const ProgramView &p, Id placement,
                                   const std::vector<int64_t> &coordinates) {
  CheckpointBox box;
  for (const PlacementDim &dim : p.PlacementDims().slice(p.Placements()[placement].dims)) {
    Table<PlacementPart> parts = p.PlacementParts().slice(dim.parts);
    bool split = false;
    int64_t extent = 1;
    for (const PlacementPart &part : parts) {
      split |= part.axes.count != 0;
      extent *= part.size;
    }
    if (!split) {
      box.view.push_back(extent);
      box.start.push_back(0);
      box.size.push_back(extent);
      continue;
    }
    for (const PlacementPart &part : parts) {
      std::vector<int64_t> sizes, positions;
      for (uint32_t axis : p.axes(part.axes)) {
        sizes.push_back(p.MeshAxes()[axis].size);
        positions.push_back(coordinates[axis]);
      }
      Shard shard =
          shardOf(part.size, {sizes.data(), sizes.size()}, {positions.data(), positions.size()});
      box.view.push_back(part.size);
      box.start.push_back(shard.start);
      box.size.push_back(shard.valid);
    }
  }
  return box;
}

namespace {

/// Cuts a box into about even pieces along its outermost dimension that has
/// more than one index; not more pieces than `most`.
std::vector<CheckpointBox> cut(const CheckpointBox &box, int64_t most) {
  size_t dim = 0;
  while (dim < box.size.size() && box.size[dim] == 1)
    ++dim;
  if (most <= 1 || dim == box.size.size())
    return {box};
  int64_t pieces = std::min(most, box.size[dim]);
  std::vector<CheckpointBox> result;
  for (int64_t i = 0; i < pieces; ++i) {
    CheckpointBox piece = box;
    int64_t begin = box.size[dim] * i / pieces;
    piece.start[dim] = box.start[dim] + begin;
    piece.size[dim] = box.size[dim] * (i + 1) / pieces - begin;
    result.push_back(piece);
  }
  return result;
}

} // namespace

std::vector<std::vector<CheckpointPiece>> weft::runtime::planCheckpoint(const ProgramView &p,
                                                                        int64_t rank) {
  int64_t ranks = p.numRanks();
  std::vector<std::vector<CheckpointPiece>> plan(size_t{uint64_t(ranks)});
  std::vector<uint64_t> load(size_t{uint64_t(ranks)}, 0);
  Table<uint32_t> stageAxes = p.axes(p.info().stageAxes);
  std::vector<std::vector<int64_t>> coordinates;
  std::vector<uint32_t> stages;
  for (int64_t r = 0; r < ranks; ++r) {
    coordinates.push_back(coordinatesOf(p, r));
    stages.push_back(uint32_t(indexAlong(p, stageAxes, coordinates.back())));
  }
  for (uint32_t s = 0; s < p.States().size(); ++s) {
    const State &state = p.States()[s];
    if (!isSaved(p, state))
      continue;
    // The holders of each shard, by where it starts.
    std::map<std::vector<int64_t>, std::vector<int64_t>> holders;
    for (int64_t r = 0; r < ranks; ++r)
      if (p.homeOf(state, stages[r])) {
        CheckpointBox box = boxOf(p, state.placement, coordinates[r]);
        if (box.count() != 0)
          holders[box.start].push_back(r);
      }
    uint64_t bytes = dtypeBytes(state.dtype);
    for (const auto &[start, ranksOfShard] : holders) {
      CheckpointBox shard = boxOf(p, state.placement, coordinates[ranksOfShard[0]]);
      int64_t most = std::min<int64_t>(
          int64_t(ranksOfShard.size()),
          int64_t((uint64_t(shard.count()) * bytes + kLeastPiece - 1) / kLeastPiece));
      for (CheckpointBox &piece : cut(shard, most)) {
        int64_t writer = ranksOfShard[0];
        for (int64_t r : ranksOfShard)
          if (load[r] < load[writer])
            writer = r;
        uint64_t pieceBytes = uint64_t(piece.count()) * bytes;
        load[writer] += pieceBytes;
        if (rank == -1 || rank == writer)
          plan[writer].push_back({s, std::move(piece), 0, pieceBytes});
      }
    }
  }
  for (std::vector<CheckpointPiece> &pieces : plan) {
    // Large elements first, so that every one lies at a multiple of its size.
    std::sort(pieces.begin(), pieces.end(),
              [&](const CheckpointPiece &a, const CheckpointPiece &b) {
                unsigned aBytes = dtypeBytes(p.States()[a.state].dtype);
                unsigned bBytes = dtypeBytes(p.States()[b.state].dtype);
                if (aBytes != bBytes)
                  return aBytes > bBytes;
                return a.state != b.state ? a.state < b.state : a.box.start < b.box.start;
              });
    uint64_t offset = 0;
    for (CheckpointPiece &piece : pieces) {
      piece.offset = offset;
      offset += piece.bytes;
    }
  }
  return plan;
}
