// The pass that makes a program small while a test still finds it interesting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_REDUCE_REDUCEPROGRAM_H
#define WEFT_TOOLS_WEFT_REDUCE_REDUCEPROGRAM_H

namespace weft {

/// Registers `--weft-reduce-program`.
void registerReduceProgram();

} // namespace weft

#endif // WEFT_TOOLS_WEFT_REDUCE_REDUCEPROGRAM_H
