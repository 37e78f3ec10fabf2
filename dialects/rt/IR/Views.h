// What views of buffers are of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_VIEWS_H
#define WEFT_DIALECTS_RT_IR_VIEWS_H

#include "dialects/rt/IR/Rt.h"

namespace weft::rt {

/// The buffer or state that a view is of, through views of views.
mlir::Value bufferOfView(mlir::Value view);

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_VIEWS_H
