// What flags ask about layouts, and what is told where there is no answer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_ASKPLANNER_H
#define WEFT_LIB_DRIVER_ASKPLANNER_H

#include "Messages.h"
#include "weft/Choosing/Choose.h"
#include "weft/Driver/Plan.h"

namespace weft::driver {

/// Asks which layout a program should have that has been loaded and prepared for `options`, none of
/// which says a mesh; flags that split otherwise, as --zero, are obeyed. Returns an exit code; that
/// nothing fits is an answer.
int choose(Compilation &program, const Options &options, const QuestionFlags &flags,
           const Messages &messages, choosing::Choice &choice);

/// Asks what the layout costs that `asked` says. Returns an exit code.
int evaluate(Compilation &program, const PlanOptions &asked, const Messages &messages,
             choosing::Evaluation &evaluation);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_ASKPLANNER_H
