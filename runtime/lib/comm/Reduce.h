// How elements of several members become one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_REDUCE_H
#define WEFT_RUNTIME_LIB_COMM_REDUCE_H

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// result[i] = ((sources[0][i] op sources[1][i]) op sources[2][i]) ... for i in
/// [begin, end), in the accumulation dtype, rounded once at the end; `result`
/// may be one of the sources. So an element's bits do not depend on how ranges
/// are cut.
using ReduceSpan = void (*)(Reduction, const void *const *sources, int64_t members, int64_t begin,
                            int64_t end, void *result);

/// Null if no reduction has these types.
ReduceSpan reductionFor(DType type, DType accumulator);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_REDUCE_H
