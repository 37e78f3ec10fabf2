// What each command must hold, and how it reads as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_COMMANDRULES_H
#define WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_COMMANDRULES_H

#include "program/ProgramText.h"
#include "program/ProgramVerifier.h"

#include <initializer_list>

namespace weft::runtime {

/// A command with its views, of which every element is known to lie in its buffer.
class CommandContext : public ProgramText {
public:
  CommandContext(const ProgramView &p, const CommandScope &scope, const Command &command)
      : ProgramText(p), program(p), scope(scope), command(command) {}

  uint32_t numViews() const { return command.views.count; }
  const View &view(uint32_t i) const { return program.Views()[command.views.begin + i]; }
  Table<int64_t> sizes(uint32_t i) const { return program.ints(view(i).sizes); }
  bool sameSizes(uint32_t i, uint32_t j) const;
  /// Row-major, without gaps.
  bool isRowMajor(uint32_t i) const;
  /// Whether the buffer has `elements` in a row from the view's first element.
  bool holds(uint32_t i, std::optional<int64_t> elements) const;
  bool holdsBytes(uint32_t i, int64_t bytes) const;
  /// The static extent of a rank's part.
  int64_t shard(Table<uint32_t> axes, int64_t extent) const;
  static std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
    return checkedProduct(Table<int64_t>(factors.begin(), factors.size()));
  }

  const ProgramView &program;
  const CommandScope &scope;
  const Command &command;
};

inline bool isFloat(DType type) { return unsigned(type) <= unsigned(DType::F16); }

/// `check`: what is wrong with the command ("has sizes that do not contract"), or nothing; the
/// number of views is that of its row. `describe`: its parameters, with a space before each.
#define WEFT_RULES(RECORD, NAME, VIEWS)                                                            \
  std::string check(const CommandContext &context, const RECORD &record);                          \
  std::string describe(const CommandContext &context, const RECORD &record);
WEFT_COMMANDS(WEFT_RULES)
#undef WEFT_RULES

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_COMMANDRULES_H
