// Reads states from their sources, transformed on the way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_STATELOADER_H
#define WEFT_RUNTIME_LIB_SESSION_STATELOADER_H

#include "files/FileCache.h"

#include "weft/runtime/Placement.h"

namespace weft::runtime {

/// Fills `target`, all of the shard that the rank of `map` has of the state. Only the
/// blocks of sources that hold this rank's elements are read, and the hash of
/// each is compared once in this process.
Status loadState(const ProgramView &program, const State &state, const ShardMap &map,
                 const std::string &modelDirectory, FileCache &files, char *target);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_STATELOADER_H
