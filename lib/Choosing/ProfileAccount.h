// What a step takes with other software.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_PROFILEACCOUNT_H
#define WEFT_LIB_CHOOSING_PROFILEACCOUNT_H

#include "weft/Compiler/PhaseOptions.h"
#include "weft/Cost/Profile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace weft::choosing {

/// The account that a profile has of the transformer that the program is, split as `phases` says.
/// An error is a Failure (weft/Choosing/Failure.h): the program is not the training of one, or the
/// profile has nothing for it.
llvm::Expected<cost::StepAccount>
accountOfProfile(const cost::Profile &profile, mlir::ModuleOp program, const PhaseOptions &phases);

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_PROFILEACCOUNT_H
