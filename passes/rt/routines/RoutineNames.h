// Names of nodes in routines that several parts of a model share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_ROUTINENAMES_H
#define WEFT_PASSES_RT_ROUTINES_ROUTINENAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace weft::rt {

/// What tells the parts apart: of names that differ the number, or the word, in which they do, with
/// the word in front of a dot ("h.0" and "h.1" of "/h.0/attn/MatMul" and "/h.1/attn/MatMul").
/// `names` are those of one node in each part; empty if they are equal.
std::vector<std::string> findLabels(llvm::ArrayRef<llvm::StringRef> names);

/// One name for a node that the parts call `names`: their label is `{}` in it
/// ("/{}/attn/MatMul"), or, where they differ in something else, that is `*`.
std::string commonName(llvm::ArrayRef<llvm::StringRef> names, llvm::ArrayRef<std::string> labels);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_ROUTINENAMES_H
