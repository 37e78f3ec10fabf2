// A program's commands as they are issued, and what calls do with their scratch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_ISSUE_H
#define WEFT_DIALECTS_RT_IR_ISSUE_H

#include "dialects/rt/IR/Rt.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace weft::rt {

/// Numbers the commands of a program as they are issued: a call counts as the commands of its
/// routine. So a command has the number that it would have if calls were written out, and so the
/// runtime counts, too.
class IssueOrder {
public:
  explicit IssueOrder(ProgramOp program);

  struct Item {
    CommandInterface command;
    int64_t first, last; // inclusive
    ProgramOp routine;   // of a call, else null
  };
  llvm::ArrayRef<Item> items() const { return list; }
  int64_t size() const { return list.empty() ? 0 : list.back().last + 1; }

  /// Bytes of a buffer, and the commands from the first to the last of which they are in use.
  struct Use {
    int64_t offset, bytes, first, last;
    BufferOp buffer; // of the program or a routine
  };
  /// The uses of a buffer whose life is told. The scratch of calls is in use as the routine's own
  /// buffers are, which have places; that of calls of other streams than 0 for its whole life,
  /// because nothing says where within it they run. Other buffers have one use.
  llvm::SmallVector<Use> usesOf(BufferOp buffer) const;
  /// Whether some call has it for scratch, and begins and ends on stream 0.
  bool isScratch(BufferOp buffer) const { return callsOf.contains(buffer); }

private:
  std::vector<Item> list;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>> callsOf; // by scratch
};

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_ISSUE_H
