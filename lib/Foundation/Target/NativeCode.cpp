// Looks up LLVM's code generator for this machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/NativeCode.h"

#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

llvm::Expected<weft::NativeCode> weft::nativeCode() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string why;
  if (const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why))
    return NativeCode{triple, target};
  return llvm::createStringError("cannot generate code for this machine: " + why);
}
