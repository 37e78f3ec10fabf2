// A body made ready for one rank, and how its commands reach the device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_EXECUTOR_H
#define WEFT_RUNTIME_LIB_ENGINE_EXECUTOR_H

#include "engine/Walker.h"

namespace weft::runtime {

/// For tests of failures.
struct Injection {
  /// The number of the command of stream 0, before which it happens; -1 = never.
  int64_t command = -1;
  bool stall = false; // instead of failing
};

/// One body, prepared for one rank.
class PreparedBody {
public:
  static Status make(ListMaker &lists, const ProgramView &program, uint32_t programIndex,
                     const Body &body, PreparedBody &result);

  uint32_t numStreams() const { return uint32_t(list.needs.size()); }
  const PreparedList::Needs &needs(unsigned stream) const { return list.needs[stream]; }

  /// Issues the commands of one stream, or of all (Walker::kEveryStream). `records` is room for a
  /// number an event, `first` stream 0's mark. `numbers` sees what commands wrote; null: nobody
  /// does.
  Status issue(Device &device, World &world, unsigned stream, std::vector<uint64_t> &records,
               StreamMark &first, const Injection &injection, NumberCheck *numbers) const;
  /// The end of its part in the run, or of all.
  Status finish(Device &device, unsigned stream) const;

  /// "command 7 (gemm of node 'x')", for messages, by its number among all that are issued.
  std::string describe(uint64_t command) const;

private:
  Status issueOne(Device &device, const PreparedItem &item, const Walker &walker,
                  NumberCheck *numbers) const;
  Status inject(Device &device, World &world, uint32_t command, StreamMark &mark,
                const Injection &injection) const;

  const ProgramView *program = nullptr;
  const Body *body = nullptr;
  uint32_t programIndex = 0;
  PreparedList list;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_EXECUTOR_H
