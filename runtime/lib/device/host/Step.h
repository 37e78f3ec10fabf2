// A command as the host runs it, on the threads of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_STEP_H
#define WEFT_RUNTIME_LIB_STEP_H

#include "base/Threads.h"
#include "device/Device.h"

namespace weft::runtime {

class Libraries;

/// What steps are prepared with, at load.
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
  Timeline timeline;
};

/// `run` must not allocate.
class Step : public PreparedCommand {
public:
  virtual Status run(HostStream &stream) = 0;
};

using StepPtr = std::unique_ptr<Step>;
/// Factories, one per opcode that does work; null and `status` on failure.
StepPtr makeLaunch(const HostContext &, const Command &, Status &);
StepPtr makeGemm(const HostContext &, const Command &, Status &);
StepPtr makeConvolution(const HostContext &, const Command &, Status &);
StepPtr makeAttention(const HostContext &, const Command &, Status &);
StepPtr makeAttentionGradient(const HostContext &, const Command &, Status &);
StepPtr makeCopy(const HostContext &, const Command &, Status &);
StepPtr makeFill(const HostContext &, const Command &, Status &);
StepPtr makeSlice(const HostContext &, const Command &, Status &);
StepPtr makeCollective(const HostContext &, const Command &, Status &);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_STEP_H
