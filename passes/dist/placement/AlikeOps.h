// What is found out of one op for all that are alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PLACEMENT_ALIKEOPS_H
#define WEFT_PASSES_DIST_PLACEMENT_ALIKEOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"

namespace weft::dist {

using AlikeKey = llvm::SmallString<160>;

/// Equal for ops that do the same, by name and properties, with operands and results of the same
/// types, as those of equal layers do, if `more` is equal, too. Types carry placements, so that is
/// all that most questions of sharding depend on.
AlikeKey alikeKey(mlir::Operation *op, llvm::ArrayRef<const void *> more = {});

/// Answers to one question, by the keys of ops.
template <typename Answer> class AlikeOps {
public:
  /// Null: no op that is alike was met.
  const Answer *find(const AlikeKey &key) const {
    auto found = answers.find(key);
    return found == answers.end() ? nullptr : &found->second;
  }
  /// Stays where it is.
  const Answer &note(const AlikeKey &key, Answer answer) {
    return answers.try_emplace(key, std::move(answer)).first->second;
  }

private:
  llvm::StringMap<Answer> answers;
};

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PLACEMENT_ALIKEOPS_H
