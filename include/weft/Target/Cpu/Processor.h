// Names of processors, and what code for them needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CPU_PROCESSOR_H
#define WEFT_TARGET_CPU_PROCESSOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weft::cpu {

/// LLVM's name of `name`, which may be "native", and its features in LLVM's
/// notation; a named processor has those of its name.
struct Processor {
  std::string name, features;
};
Processor resolveProcessor(llvm::StringRef name);

/// An error if no code can be generated for it: why not, and what names come near.
llvm::Error checkProcessor(llvm::StringRef name);

/// Features that code for it uses and that a machine may lack: names of
/// weft::runtime::processorFeatures, comma-separated.
std::string neededFeatures(llvm::StringRef name);

/// x86-64-v2, -v3 and -v4 as far as this machine executes them: what tests
/// compile for besides "native". Empty on other kinds of machines.
std::vector<std::string> executableLevels();

} // namespace weft::cpu

#endif // WEFT_TARGET_CPU_PROCESSOR_H
