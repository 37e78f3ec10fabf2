// Computes shards and the runs of a placed tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Placement.h"

#include <algorithm>

using namespace weft::runtime;

Shard weft::runtime::shardOf(int64_t extent, Table<int64_t> sizes, Table<int64_t> coordinates) {
  Shard shard{0, extent, extent};
  for (size_t i = 0; i < sizes.size(); ++i) {
    shard.extent = shard.extent / sizes[i] + (shard.extent % sizes[i] != 0);
    int64_t skip = std::min(shard.valid, shard.extent * coordinates[i]);
    shard.start += skip;
    shard.valid = std::min(shard.valid - skip, shard.extent);
  }
  return shard;
}

std::vector<int64_t> weft::runtime::coordinatesOf(const ProgramView &program, int64_t rank) {
  Table<MeshAxis> axes = program.MeshAxes();
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

int64_t weft::runtime::indexAlong(const ProgramView &program, Table<uint32_t> axes,
                                  const std::vector<int64_t> &coordinates) {
  int64_t index = 0;
  for (uint32_t axis : axes)
    index = index * program.MeshAxes()[axis].size + coordinates[axis];
  return index;
}

ShardMap::ShardMap(const ProgramView &program, Id placement,
                   const std::vector<int64_t> &coordinates) {
  Table<PlacementDim> dims = program.PlacementDims().slice(program.Placements()[placement].dims);
  std::vector<bool> used(program.MeshAxes().size());
  for (const PlacementDim &dim : dims) {
    int64_t globalSize = 1, localSize = 1;
    // Runs over the parts seen so far, in units of one index of the next part.
    std::vector<Run> runs{{0, 0, 1}};
    for (const PlacementPart &part : program.PlacementParts().slice(dim.parts)) {
      std::vector<int64_t> sizes, positions;
      for (uint32_t axis : program.axes(part.axes)) {
        sizes.push_back(program.MeshAxes()[axis].size);
        positions.push_back(coordinates[axis]);
        used[axis] = true;
      }
      Shard shard =
          shardOf(part.size, {sizes.data(), sizes.size()}, {positions.data(), positions.size()});
      bool whole = shard.valid == part.size && shard.extent == part.size;
      std::vector<Run> next;
      for (const Run &run : runs) {
        if (whole) {
          next.push_back({run.global * part.size, run.local * part.size, run.count * part.size});
          continue;
        }
        for (int64_t i = 0; i < run.count && shard.valid > 0; ++i)
          next.push_back({(run.global + i) * part.size + shard.start,
                          (run.local + i) * shard.extent, shard.valid});
      }
      runs = std::move(next);
      globalSize *= part.size;
      localSize *= shard.extent;
    }
    int64_t count = 0;
    for (const Run &run : runs)
      count += run.count;
    valid *= count;
    global.push_back(globalSize);
    local.push_back(localSize);
    segments.push_back(std::move(runs));
  }
  while (!segments.empty() && segments.back().size() == 1 &&
         segments.back()[0].count == global[segments.size() - 1] &&
         global[segments.size() - 1] == local[segments.size() - 1]) {
    block *= global[segments.size() - 1];
    segments.pop_back();
  }
  for (uint32_t axis : program.axes(program.info().stageAxes)) {
    ofStages |= used[axis];
    used[axis] = true;
  }
  for (size_t axis = 0; axis < used.size(); ++axis)
    writer &= used[axis] || coordinates[axis] == 0;
}
