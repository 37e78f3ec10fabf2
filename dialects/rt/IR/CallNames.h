// What nodes of a routine are called in one of its calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_CALLNAMES_H
#define WEFT_DIALECTS_RT_IR_CALLNAMES_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace weft::rt {

/// `node` of a routine in a call with `label`, for which `{}` stands.
inline std::string nameInCall(llvm::StringRef node, std::optional<llvm::StringRef> label) {
  std::string name = node.str();
  if (size_t hole = node.find("{}"); hole != llvm::StringRef::npos)
    name.replace(hole, 2, label.value_or("").str());
  return name;
}

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_CALLNAMES_H
