// Who is to blame when ranks wait in vain.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_JUDGE_H
#define WEFT_RUNTIME_LIB_JOB_JUDGE_H

#include "job/Board.h"

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// "step 17, command 7 (gemm of node 'x') of program 'step'".
std::string describePlace(const ProgramView &program, const BoardSlot &slot);

/// Whether a rank's process ended without having said why.
bool isLost(const BoardSlot &slot);

/// A rank that waits sees only whom it waits for, which may itself wait for
/// somebody. So `failure`, a hang or a lost rank as `witness` saw it, is told
/// anew from what all ranks show: the dead; else those that are stopped or give
/// no sign of life; else those that do not wait, or have left; else the witness itself, if one of
/// its streams waits for another that computes. If all wait it stays as it is.
Status judge(const Board &board, const ProgramView &program, int64_t witness, const Status &failure,
             double timeout);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_JUDGE_H
