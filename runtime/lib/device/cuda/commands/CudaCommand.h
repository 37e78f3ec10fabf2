// A command as a CUDA stream runs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_CUDACOMMAND_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_CUDACOMMAND_H

#include "device/Device.h"
#include "device/cuda/Driver.h"

namespace weft::runtime::cuda {

class AttentionPlans;
class CublasLt;
class KernelModules;

/// What commands are prepared with, at load.
struct CudaContext : PrepareContext {
  const Driver &driver;
  KernelModules &kernels;
  CublasLt &cublasLt; // to be opened by who needs it
  AttentionPlans &attention;
};

/// A stream while it runs.
struct CudaStream : CommandFrame {
  Stream handle = nullptr;
  char *scratch = nullptr; // on the device
  DevicePointer address(const ResolvedView &view) const {
    return DevicePointer(uintptr_t(view.address(*this)));
  }
};

/// From the view's first element to its last; where it begins is known when it is issued.
inline Access accessTo(const ResolvedView &view, bool writes) {
  int64_t last = 0;
  for (unsigned d = 0; d < view.rank; ++d)
    last += (view.sizes[d] - 1) * view.strides[d];
  return {0, view.numElements() == 0 ? 0 : uint64_t(last + 1) * dtypeBytes(view.dtype), writes};
}

class CudaCommand : public PreparedCommand {
public:
  /// Puts it on the stream. Allocates nothing.
  virtual Status issue(CudaStream &stream) = 0;
  /// What of it only the host can do: `issue` is not called then, and a thread of the host calls
  /// `runOnHost` when the stream has come to it. May wait for other ranks.
  virtual bool isOfHost() const { return false; }
  virtual Status runOnHost(const CudaStream &) { return {}; }
  /// What `issue` puts on the stream is done now, and once more with each launch of a graph that it
  /// is in: counts what that moves.
  virtual void countTraffic() {}
  /// Whether the stream waits for other ranks in it.
  bool waitsOnStream() const { return communicates() && !isOfHost(); }
};

using CudaCommandPtr = std::unique_ptr<CudaCommand>;
/// One for each record of the table of commands; null with `status` on failure, and null for
/// events, which the device does itself, and calls, which it never sees.
#define WEFT_MAKE(RECORD, NAME, VIEWS)                                                             \
  CudaCommandPtr makeCudaCommand(const CudaContext &context, const Command &command,               \
                                 const RECORD &record, Status &status);
WEFT_COMMANDS(WEFT_MAKE)
#undef WEFT_MAKE

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_CUDACOMMAND_H
