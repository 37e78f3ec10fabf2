// When the bytes of a buffer are in use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_MEMORY_LIFETIMES_H
#define WEFT_PASSES_RT_MEMORY_LIFETIMES_H

#include "dialects/rt/IR/Issue.h"
#include "dialects/rt/IR/Views.h"

namespace weft::rt {

/// The commands of a program in order, repeats flattened.
std::vector<CommandInterface> commandsOf(ProgramOp program);

/// Lifetimes as ranges of positions among the commands as they are issued (IssueOrder), such that
/// two buffers whose ranges are disjoint are never in use at the same time, whatever the streams
/// do. A command on stream 0 is in use at its position. A command on another stream may run at any
/// time between the latest event of stream 0 that it or a command before it on its stream has
/// waited for, and the first wait of stream 0 for an event recorded after it.
///
/// A call of stream 0 is an interval: what it is given is in use until its routine has read it for
/// the last time, and what it makes from when the routine first writes there. So memory is shared
/// as if calls were written out, and arguments that nothing reads later make room for what the
/// routine makes.
class Lifetimes {
public:
  explicit Lifetimes(ProgramOp program);
  /// Inclusive. A buffer that no command uses has an empty life at 0.
  std::pair<int64_t, int64_t> of(mlir::Value buffer) const;
  const IssueOrder &order() const { return issued; }

private:
  using Life = std::pair<int64_t, int64_t>;
  void add(mlir::Value view, Life life);
  void addCall(InvokeOp call, const IssueOrder::Item &item, const Lifetimes &routine);

  IssueOrder issued;
  llvm::DenseMap<mlir::Value, Life> ranges;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_MEMORY_LIFETIMES_H
