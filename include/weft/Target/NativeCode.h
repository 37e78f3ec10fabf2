// LLVM's code generator for the machine that compiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_NATIVECODE_H
#define WEFT_TARGET_NATIVECODE_H

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"

namespace weft {

/// The code generator, made ready by the first call, and the triple that it is asked for. Threads
/// may call it.
struct NativeCode {
  llvm::Triple triple;
  const llvm::Target *target;
};
llvm::Expected<NativeCode> nativeCode();

} // namespace weft

#endif // WEFT_TARGET_NATIVECODE_H
