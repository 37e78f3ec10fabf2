// What each device can make its part of alone, however it is split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_MADEANYWHERE_H
#define WEFT_LIB_FOUNDATION_SEARCH_MADEANYWHERE_H

#include "AxisCandidates.h"

#include "llvm/ADT/SetVector.h"

namespace weft {

/// In program order.
using OpsMadeAnywhere = llvm::SetVector<mlir::Operation *>;

/// Constants, positions, and what is made of these alone, as masks and angles are: each reader has
/// its part for free, so that their splits must not multiply the frontiers while they wait for a
/// reader, which may be in every layer.
OpsMadeAnywhere findMadeAnywhere(mlir::Block &program, const AxisCandidates &candidates);

/// Of what the search left whole: makes split what all its readers want so, if its op can.
void splitAsRead(const OpsMadeAnywhere &ops, const AxisCandidates &candidates,
                 AxisSearchResult &result);

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_MADEANYWHERE_H
