// What one layout of a program costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CHOOSING_EVALUATE_H
#define WEFT_CHOOSING_EVALUATE_H

#include "weft/Choosing/Evaluation.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Cost/Profile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace weft::choosing {

/// Takes the program on to `staged`, as its options say, and finds out what that costs. `model` is
/// what the answer calls it. With a profile costs are those of other software. `deservesTime`:
/// whether to take seconds for exact memory, asked of what is known without it; null: always. An
/// error is a Failure (Failure.h).
llvm::Expected<Evaluation>
evaluate(Compilation &compilation, const std::string &model, const cost::Profile *profile = nullptr,
         llvm::function_ref<bool(const Evaluation &)> deservesTime = nullptr);

} // namespace weft::choosing

#endif // WEFT_CHOOSING_EVALUATE_H
