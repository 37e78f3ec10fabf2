// Checks that the lists of all stages fit together: nobody can wait for ever.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_STAGEVERIFIER_H
#define WEFT_RUNTIME_LIB_PROGRAM_STAGEVERIFIER_H

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// Of a checked program's bodies: each send has a receive that comes as the same one in its order,
/// of as many bytes, of one type and channel; members of a group do the same collectives in one
/// order; and the lists of all stages - streams, events, transfers as meetings of both ends, and
/// collectives as meetings of all - can be gone through whatever the timing. As nothing branches,
/// one order in which they can shows that none of them hangs.
///
/// Ranks of a stage run one list, so one rank a stage stands for all where transfers are along axes
/// of stages; else all ranks are followed.
Status verifyStages(const ProgramView &program, const Program &entry);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_STAGEVERIFIER_H
