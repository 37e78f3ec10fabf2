// The commands of a body as they are issued, those of its calls among them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_ISSUED_H
#define WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_ISSUED_H

#include "weft/runtime/Program.h"

#include <vector>

namespace weft::runtime {

/// A command of a body, or of a routine that the body calls.
struct Issued {
  const Command *command;
  uint32_t index;      // in the body or routine
  const Command *call; // null: the body's own command
  uint32_t callIndex;  // in the body

  /// The name of the model's node; `{}` in it is what the call's label says.
  std::string node(const ProgramView &program) const;
  /// The action of a pipeline's schedule that it, or the call, is part of; "" if there is none.
  std::string_view action(const ProgramView &program) const;
  /// "command 3 (gemm of node '/h.5/attn/MatMul') in call 17 of F.block (h.5, microbatch 2)".
  std::string describe(const ProgramView &program) const;
};

/// Bytes that a command reads and writes, of the elements that its views show.
uint64_t bytesOf(const ProgramView &program, const Command &command);

/// "call 17 of F.block (h.5, microbatch 2)": the command of that number in a body.
std::string describeCall(const ProgramView &program, const Command &call, uint32_t index);

/// All that a run of a body issues. A call is not counted, the commands that it stands for
/// are: so a command has the number that it would have if calls were written out.
class IssuedCommands {
public:
  IssuedCommands(const ProgramView &program, const Body &body);
  uint64_t size() const { return begins.back(); }
  Issued operator[](uint64_t number) const;

private:
  const ProgramView &program;
  Table<Command> commands;
  std::vector<uint64_t> begins; // of each command of the body, and the end
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_COMMANDS_ISSUED_H
