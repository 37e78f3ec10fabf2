// Files that are lost while they are in use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LOSTFILES_H
#define WEFT_RUNTIME_LOSTFILES_H

#include "weft/runtime/Status.h"

namespace weft::runtime {

/// A process that reads what a mapped file no longer has ends with exit code 1 and an error that
/// names the file, not with SIGBUS. For `main`: a library that is embedded leaves signals alone.
void tellLostFiles();

/// The error of a file that was just lost; ok if none was. The thread that read it waits for ever,
/// and whoever asks has to tell it and to end the process, soon: else that thread does.
Status lostFile();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LOSTFILES_H
