// What a command of a tool says when it has done its work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_OUTCOME_H
#define WEFT_SUPPORT_OUTCOME_H

#include <string>
#include <vector>

namespace weft {

/// For the tool to tell on stderr, in this order: the command does not know who it is. Names in it
/// are as the files have them.
struct Outcome {
  std::vector<std::string> warnings, notes;
  std::string summary; // one line, or "" for nothing
};

} // namespace weft

#endif // WEFT_SUPPORT_OUTCOME_H
