// Who touched which bytes of a launch last.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_SHADOW_H
#define WEFT_RUNTIME_EMULATOR_SHADOW_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::emulator {

/// Threads of a warp.
inline constexpr int32_t kWarp = 32;

/// Where an access comes from: threads of a block are ordered by the barriers that it has passed
/// (`epoch`), those of a warp also by the warp's (`phase`), blocks not at all.
struct Place {
  int32_t block, thread, epoch, phase;

  bool isInEpochOf(const Place &other) const {
    return block == other.block && epoch == other.epoch;
  }
  bool isOfWarpOf(const Place &other) const { return thread / kWarp == other.thread / kWarp; }
  bool isBefore(const Place &later) const {
    return block == later.block && (thread == later.thread || epoch < later.epoch ||
                                    (isOfWarpOf(later) && phase < later.phase));
  }
};

/// Bytes that a launch may touch.
struct Region {
  const char *begin;
  int64_t bytes, granule;
  /// For messages: "argument 2".
  std::string name;
  bool isShared;
};

enum class Access { Read, Write, Atomic };

/// Per granule of memory the last write and the reads since then. That is enough to find the first
/// pair of accesses that race, because it would have been told.
class Shadow {
public:
  ~Shadow();

  /// Forgets all accesses. Regions that overlap (a result over an operand) become one, which has
  /// the name of the first.
  void begin(std::vector<Region> regions);
  /// Forgets those to shared memory: another block has it now.
  void beginBlock();

  /// Notes an access and gives what is wrong with it; empty: nothing.
  std::string note(const Place &who, const char *address, int64_t bytes, Access access);

  /// The name of what lies at the address; "no buffer of the kernel".
  std::string nameOf(const void *address) const;

private:
  struct Accesses;
  struct Cell;
  struct Part {
    Region region;
    size_t firstCell;
    /// Cells of other numbers are those of an earlier launch or block.
    uint32_t generation;
  };
  const Part *find(const char *address) const;
  std::string noteCell(const Place &who, const Part &part, int64_t granule, Access access);
  void reserve(size_t count);

  std::vector<Part> parts;
  Cell *cells = nullptr;
  size_t numCells = 0;
  uint32_t generations = 0;
  mutable size_t lastFound = 0;
};

} // namespace weft::emulator

#endif // WEFT_RUNTIME_EMULATOR_SHADOW_H
