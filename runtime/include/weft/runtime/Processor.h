// Features of processors that not all of a kind have, by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_PROCESSOR_H
#define WEFT_RUNTIME_PROCESSOR_H

#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

/// The features that generated code can make use of, by LLVM's names. A code
/// generator uses no others without being told to in the code.
const std::vector<std::string_view> &processorFeatures();

/// Whether this machine's processor has the feature and the system keeps its
/// registers.
bool processorHas(std::string_view feature);

/// Those of a comma-separated list that this machine lacks, comma-separated.
std::string missingFeatures(std::string_view needed);

/// The best of x86-64, x86-64-v2, -v3 and -v4 whose features this machine has;
/// empty for other kinds of processors.
std::string processorLevel();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PROCESSOR_H
