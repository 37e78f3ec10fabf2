// Checks that a program's tables may be used without further checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_PROGRAMVERIFIER_H
#define WEFT_RUNTIME_LIB_PROGRAM_PROGRAMVERIFIER_H

#include "weft/runtime/Program.h"

#include <optional>
#include <vector>

namespace weft::runtime {

/// `program`'s sections are known to lie in the blob; everything else is
/// checked.
Status verifyProgram(const ProgramView &program);

/// What calls of a routine must hold, found when its own commands are checked.
struct RoutineNeeds {
  /// Bytes of a block that commands use, from the first to the last of them.
  struct Use {
    uint64_t begin, end;
    uint32_t first, last;
  };
  std::vector<std::vector<Use>> uses; // of each block
  std::vector<unsigned> alignments;   // of each block: bytes
  std::vector<bool> mayBeUnset;       // of each block: it is read once, as a product's addend
  uint32_t callStreams = 0;           // streams that a call may be of, a bit each
};

/// A body or a routine, as its commands see it.
struct CommandScope {
  CommandScope(const Body &body, uint64_t arenaBytes, const std::vector<RoutineNeeds> *needs)
      : commands(body.commands), streams(body.streams), events(body.events), arenaBytes(arenaBytes),
        needs(needs) {}
  explicit CommandScope(const Routine &routine)
      : commands(routine.commands), streams(routine.streams), events(routine.events),
        routine(&routine) {}

  Range commands;
  uint32_t streams, events;
  // Of a body.
  uint64_t arenaBytes = 0;
  const std::vector<RoutineNeeds> *needs = nullptr; // by routine
  // Of a routine.
  const Routine *routine = nullptr;
};

constexpr uint32_t kMaxStreams = 8;
constexpr uint32_t kMaxEvents = 1u << 20;
/// Far more than anyone waits for; keeps numbers of commands small.
constexpr uint64_t kMaxIssued = 1u << 28;

/// Checks commands; the tables are checked already, and so are routines if this is a body.
Status verifyCommands(const ProgramView &program, const CommandScope &scope);

/// Checks a routine, its commands included, and finds what its calls must hold.
Status verifyRoutine(const ProgramView &program, const Routine &routine, RoutineNeeds &needs);

/// The arithmetic of hostile numbers: empty when a result leaves int64_t.
std::optional<int64_t> checkedProduct(Table<int64_t> factors);
inline std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}
inline std::optional<int64_t> checkedSum(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

inline bool inRange(Range range, uint64_t size) {
  return uint64_t(range.begin) + range.count <= size;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_PROGRAMVERIFIER_H
