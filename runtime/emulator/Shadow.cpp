// Finds accesses that race, and those that belong to no buffer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <tuple>

using namespace weft::emulator;

/// Accesses of one kind that no access since then has made needless to remember: the last one's
/// place, and whether there are others of its warp and phase, of other warps in its epoch, or of
/// other blocks.
struct Shadow::Accesses {
  Place last;
  bool any, manyThreads, manyWarps, manyBlocks;

  /// Whether each of them is before `who`.
  bool areBefore(const Place &who) const {
    if (!any)
      return true;
    bool isLater = last.epoch < who.epoch;
    return last.isBefore(who) && !manyBlocks && !(manyWarps && !isLater) &&
           !(manyThreads && !isLater && last.phase >= who.phase);
  }
  void add(const Place &who) {
    manyBlocks |= any && last.block != who.block;
    bool isInEpoch = any && last.isInEpochOf(who), isOfWarp = last.isOfWarpOf(who);
    manyWarps = isInEpoch && (manyWarps || !isOfWarp);
    manyThreads = isInEpoch && isOfWarp && last.phase == who.phase &&
                  (manyThreads || last.thread != who.thread);
    last = who;
    any = true;
  }
};

struct Shadow::Cell {
  /// More than one write only if they are atomic; reads since then.
  Accesses writes, reads;
  uint32_t generation;
  bool isAtomic;
};

Shadow::~Shadow() {
  if (cells)
    munmap(cells, numCells * sizeof(Cell));
}

void Shadow::reserve(size_t count) {
  // Mapped memory is zero, and no generation is: pages cost nothing before they are touched.
  if (count <= numCells)
    return;
  if (cells)
    munmap(cells, numCells * sizeof(Cell));
  numCells = count + count / 4;
  void *mapped = mmap(nullptr, numCells * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc();
  cells = static_cast<Cell *>(mapped);
}

void Shadow::begin(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(), [](const Region &a, const Region &b) {
    return std::tie(a.begin, a.name) < std::tie(b.begin, b.name);
  });
  parts.clear();
  ++generations;
  for (Region &region : regions) {
    if (region.bytes == 0)
      continue;
    Region *last = parts.empty() ? nullptr : &parts.back().region;
    if (last && region.begin < last->begin + last->bytes) {
      last->bytes = std::max<int64_t>(last->bytes, region.begin - last->begin + region.bytes);
      last->granule = std::min(last->granule, region.granule);
      continue;
    }
    parts.push_back({std::move(region), 0, generations});
  }
  size_t count = 0;
  for (Part &part : parts) {
    part.firstCell = count;
    count += size_t((part.region.bytes + part.region.granule - 1) / part.region.granule);
  }
  reserve(count);
  lastFound = 0;
}

void Shadow::beginBlock() {
  ++generations;
  for (Part &part : parts)
    if (part.region.isShared)
      part.generation = generations;
}

const Shadow::Part *Shadow::find(const char *address) const {
  auto holds = [&](const Part &part) {
    return address >= part.region.begin && address < part.region.begin + part.region.bytes;
  };
  if (lastFound < parts.size() && holds(parts[lastFound]))
    return &parts[lastFound];
  auto after =
      std::upper_bound(parts.begin(), parts.end(), address,
                       [](const char *at, const Part &part) { return at < part.region.begin; });
  if (after == parts.begin() || !holds(*std::prev(after)))
    return nullptr;
  lastFound = size_t(after - parts.begin()) - 1;
  return &parts[lastFound];
}

std::string Shadow::nameOf(const void *address) const {
  const Part *part = find(static_cast<const char *>(address));
  return part ? part->region.name : "no buffer of the kernel";
}

std::string Shadow::note(const Place &who, const char *address, int64_t bytes, Access access) {
  const Part *part = find(address);
  if (!part || address + bytes > part->region.begin + part->region.bytes) {
    std::string where = "outside of all its buffers";
    if (part)
      where = "at byte " + std::to_string(address - part->region.begin) + " of " +
              part->region.name + ", which has " + std::to_string(part->region.bytes);
    return "thread " + std::to_string(who.thread) +
           (access == Access::Read ? " reads " : " writes ") + std::to_string(bytes) + " bytes " +
           where;
  }
  int64_t at = address - part->region.begin, granule = part->region.granule;
  std::string error;
  for (int64_t i = at / granule; i <= (at + bytes - 1) / granule && error.empty(); ++i)
    error = noteCell(who, *part, i, access);
  return error;
}

/// "thread 3 writes byte 4 of argument 0, which thread 2 reads without a barrier between them"
static std::string describeRace(const Place &who, Access access, const std::string &where,
                                const Place &other, bool manyBlocks, const char *did) {
  bool sameBlock = other.block == who.block;
  std::string them = sameBlock && manyBlocks ? "a thread of another block"
                                             : "thread " + std::to_string(other.thread);
  if (!sameBlock)
    them += " of block " + std::to_string(other.block);
  return "thread " + std::to_string(who.thread) +
         (access == Access::Read ? " reads " : " writes ") + where + ", which " + them + " " + did +
         (sameBlock && !manyBlocks ? " without a barrier between them"
                                   : "; blocks run in any order");
}

std::string Shadow::noteCell(const Place &who, const Part &part, int64_t granule, Access access) {
  Cell &cell = cells[part.firstCell + size_t(granule)];
  if (cell.generation != part.generation) {
    cell = {};
    cell.generation = part.generation;
  }
  auto where = [&] {
    return "byte " + std::to_string(granule * part.region.granule) + " of " + part.region.name;
  };
  auto meets = [&](const Accesses &others, const char *did) {
    return describeRace(who, access, where(), others.last, others.manyBlocks, did);
  };
  bool joins = access == Access::Atomic && cell.isAtomic;
  if (!joins && !cell.writes.areBefore(who))
    return meets(cell.writes, cell.isAtomic ? "updates" : "writes");
  if (access == Access::Read) {
    cell.reads.add(who);
    return {};
  }
  if (!cell.reads.areBefore(who))
    return meets(cell.reads, "reads");
  if (!joins)
    cell.writes = {};
  cell.writes.add(who);
  cell.isAtomic = access == Access::Atomic;
  cell.reads = {};
  return {};
}
