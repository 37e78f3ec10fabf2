// What --version says of tools whose command line is LLVM's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_VERSION_H
#define WEFT_SUPPORT_VERSION_H

namespace weft {

/// From now on --version prints `tool`, our version and LLVM's.
void setVersionPrinter(const char *tool);

} // namespace weft

#endif // WEFT_SUPPORT_VERSION_H
