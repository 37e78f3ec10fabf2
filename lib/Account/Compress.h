// Lists of items as blocks that repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_ACCOUNT_COMPRESS_H
#define WEFT_LIB_ACCOUNT_COMPRESS_H

#include "weft/Cost/StepAccount.h"

namespace weft::account {

/// The same items in the same order; where they repeat, as layers do, one block with a count.
cost::Blocks compress(std::vector<cost::Item> items);

} // namespace weft::account

#endif // WEFT_LIB_ACCOUNT_COMPRESS_H
