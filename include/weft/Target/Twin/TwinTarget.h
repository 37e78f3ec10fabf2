// A GPU of this processor: CUDA's programs and kernels, executed without one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TWIN_TWINTARGET_H
#define WEFT_TARGET_TWIN_TWINTARGET_H

#include "weft/Target/Target.h"

namespace weft::twin {

/// Target "cuda:host". Programs have `cuda`'s numbers, and its kernels, which the emulator runs
/// (runtime/emulator). Library calls are those that both take: the runtime is `host`'s, a CPU's,
/// whose executables' format this target's are of.
std::unique_ptr<Target> createTwinTarget(const Target &cuda, const Target &host);

} // namespace weft::twin

#endif // WEFT_TARGET_TWIN_TWINTARGET_H
