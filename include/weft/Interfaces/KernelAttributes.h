// Attributes of outlined kernels that scheduling sets and targets obey.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_KERNELATTRIBUTES_H
#define WEFT_INTERFACES_KERNELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weft {

/// On an outlined kernel, and on the fusion of a library call: for each result the argument whose
/// memory it shares, -1 for none. A kernel's target reads such an argument through the result's
/// pointer, and reads an element before it writes it. The kernel reads that argument
/// only at the index that it computes.
inline constexpr llvm::StringLiteral kInPlaceAttr = "rt.in_place";

/// On a kernel that is n alike which do not wait for each other, this n (i64): it has the arguments
/// of all, one after the other, then the results of all, and its body is theirs. Its target makes
/// code of the first, which all run with arguments and results of their own.
inline constexpr llvm::StringLiteral kMembersAttr = "rt.members";

/// On a reduction in a kernel's body (linalg.generic): what it combines may be combined in any
/// order. A combiner with the `reassoc` flag says so, too, and to LLVM, where lanes of one thread
/// are to share it.
inline constexpr llvm::StringLiteral kAnyOrderAttr = "weft.any_order";

} // namespace weft

#endif // WEFT_INTERFACES_KERNELATTRIBUTES_H
