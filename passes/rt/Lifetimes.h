// When the bytes of a buffer are in use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_LIFETIMES_H
#define WEFT_PASSES_RT_LIFETIMES_H

#include "dialects/rt/IR/Rt.h"

namespace weft::rt {

/// The commands of a program in order, repeats flattened.
std::vector<CommandInterface> commandsOf(ProgramOp program);

/// The buffer or state that a view is of.
mlir::Value bufferOfView(mlir::Value view);

/// Lifetimes as ranges of positions in the list of commands, such that two
/// buffers whose ranges are disjoint are never in use at the same time,
/// whatever the streams do. A command on stream 0 is in use at its position. A
/// command on another stream may run at any time between the latest event of
/// stream 0 that it or a command before it on its stream has waited for, and
/// the first wait of stream 0 for an event recorded after it.
class Lifetimes {
public:
  explicit Lifetimes(ProgramOp program);
  /// Inclusive. A buffer that no command uses has an empty life at 0.
  std::pair<int64_t, int64_t> of(BufferOp buffer) const;
  int64_t numCommands() const { return count; }

private:
  int64_t count = 0;
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_LIFETIMES_H
