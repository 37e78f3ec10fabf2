// Kernels that go over the rows of a block several times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TARGET_TWIN_ROWPASSES_H
#define WEFT_TEST_TARGET_TWIN_ROWPASSES_H

#include "../../numerics/kernels/KernelRunner.h"

namespace weft::test {

/// What remains of a row when its mean is taken off and it is scaled, and sums of both over groups
/// of rows, as gradients of norms have them: passes over the same row, and then along columns.
std::vector<KernelCase> rowsAndColumns();

/// The same where a result overwrites what passes before it read (`rt.in_place`): rows, with other
/// elements a lane than the passes have, and of several element types; a number of each row; a row
/// in which an element is looked up.
std::vector<KernelCase> rowsInPlace();

} // namespace weft::test

#endif // WEFT_TEST_TARGET_TWIN_ROWPASSES_H
