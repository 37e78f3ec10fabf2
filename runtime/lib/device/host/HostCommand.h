// A command as the host runs it, on the threads of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTCOMMAND_H
#define WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTCOMMAND_H

#include "base/Threads.h"
#include "device/Device.h"

namespace weft::runtime {

class Libraries;

/// What commands are prepared with, at load.
struct HostContext : PrepareContext {
  const weft_kernel_entry *const *kernels; // by kernel id
  const Libraries &libraries;
  unsigned threads; // of the stream's pool
};

/// A stream while it runs.
struct HostStream : CommandFrame {
  char *scratch = nullptr; // 64-byte aligned
  ThreadPool *pool = nullptr;
  StreamMark *mark = nullptr; // where it is, for reports
  double owed = 0;            // seconds that it has yet to sleep, where it pretends
  Timeline timeline;
};

/// `run` must not allocate.
class HostCommand : public PreparedCommand {
public:
  virtual Status run(HostStream &stream) = 0;
};

using HostCommandPtr = std::unique_ptr<HostCommand>;
/// One for each record of the table of commands; null with `status` on failure, and null for
/// events, which the device does itself, and calls, which it never sees.
#define WEFT_MAKE(RECORD, NAME, VIEWS)                                                             \
  HostCommandPtr makeHostCommand(const HostContext &context, const Command &command,               \
                                 const RECORD &record, Status &status);
WEFT_COMMANDS(WEFT_MAKE)
#undef WEFT_MAKE

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_HOST_HOSTCOMMAND_H
