// Writes that fail, on a full disk or at a limit: told by every tool, and the end of none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_FAILEDWRITES_H
#define WEFT_RUNTIME_FAILEDWRITES_H

#include "weft/runtime/Status.h"

namespace weft::runtime {

/// What every `main` begins with: where a file may not grow any more (`ulimit -f`) a write fails.
/// Else a signal ends the process, which tells nothing and leaves half a file. LLVM takes that
/// signal, too, when it installs its handlers (InitLLVM), and so is asked to do it before.
void surviveFailedWrites();

/// Of an `error` (errno) of the standard output.
Status outputFailed(int error);
/// Puts what was printed with stdio on the standard output; an error if some of it was lost.
Status flushStandardOutput();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_FAILEDWRITES_H
