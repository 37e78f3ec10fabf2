// What --version says of tools whose command line is LLVM's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Version.h"

#include "weft/runtime/Flags.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

void weft::setVersionPrinter(const char *tool) {
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &out) {
    out << tool << ' ' << runtime::weftVersion() << " (LLVM " << LLVM_VERSION_STRING << ")\n";
  });
}
