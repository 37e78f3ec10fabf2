// A target that no machine is: to show what a new one writes, and that nothing else changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TARGET_TOY_TOYTARGET_H
#define WEFT_TEST_TARGET_TOY_TOYTARGET_H

#include "weft/Target/Target.h"

namespace weft::toy {

/// Target "toy": pages as alignment, tiny kernels, one stream, no library. An image is the text of
/// its kernel in linalg, and an executable a text with all of them.
std::unique_ptr<Target> createToyTarget();
/// Targets "faulty", whose own code fails with a message, and "mute", without one.
std::unique_ptr<Target> createFaultyTarget(bool speaks);

} // namespace weft::toy

#endif // WEFT_TEST_TARGET_TOY_TOYTARGET_H
