// Runs a `local` program on all devices at once, on host tensors in fp64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_SPMD_INTERPRETER_H
#define WEFT_TESTING_SPMD_INTERPRETER_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace weft {

/// Slices `inputs` (whole tensors) by the placements of the arguments, runs every
/// op on every device in lockstep, collectives from their geometry alone, and
/// puts the results together. Padding that no placement vouches for is NaN
/// after every op, so that a leak is visible in the result. Devices that
/// should hold the same element must agree to `tolerance` of the largest; on
/// failure `why` says what went wrong.
///
/// Shares with the verifier only the definition of positions.
std::optional<std::vector<HostTensor>> interpretSpmd(mlir::func::FuncOp function,
                                                     llvm::ArrayRef<HostTensor> inputs,
                                                     double tolerance, std::string *why);

/// The same of what `dist-project-stages` makes: the programs of all stages, in order. Inputs and
/// results have names: those of arguments, and of results or of the states that they update. Values
/// go where sends and receives take them; that stages wait for each other is a failure. What the
/// steps of loops say of microbatches is not looked at.
llvm::Expected<llvm::StringMap<HostTensor>>
interpretStages(llvm::ArrayRef<mlir::func::FuncOp> programs,
                const llvm::StringMap<HostTensor> &inputs, double tolerance);

} // namespace weft

#endif // WEFT_TESTING_SPMD_INTERPRETER_H
