// The elements of a tensor that each device of a mesh holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_SPMD_SHARDS_H
#define WEFT_TESTING_SPMD_SHARDS_H

#include "weft/Interfaces/HostTensor.h"
#include "weft/Sharding/Collective.h"

#include <vector>

namespace weft {

/// One local tensor for each process rank. A device on a stage that does not hold the value has a
/// tensor without element type: nothing, where reading is an error.
using Shards = std::vector<HostTensor>;
inline bool isAbsent(const HostTensor &local) { return !local.elementType; }

/// The part of `global` on each device: its elements by toGlobal, with padding
/// as the placement says; undefined padding is NaN, or an absurd integer, so that
/// a leak shows. On partial axes the first device holds the value, the others
/// the neutral element.
Shards distribute(const Mesh &mesh, const Placement &placement, const HostTensor &global);

/// Puts padding that is undefined to the poison of `distribute`.
void poisonPadding(const Mesh &mesh, const Placement &placement, Shards &shards);

/// The global tensor. Combines partial axes. Devices that should hold the same
/// element must, to `tolerance` of the largest; else `why` names one that does
/// not and the result is empty.
std::optional<HostTensor> assemble(const Mesh &mesh, const Placement &placement,
                                   const Shards &shards, double tolerance, std::string *why);

/// Runs one transition on all devices at once, as the runtime would, from its
/// geometry alone; `resultShape` is the local shape after it. Devices without operand have no
/// result, unless the transition brings it to them.
Shards runTransition(const Mesh &mesh, const CollectiveGeometry &geometry,
                     llvm::ArrayRef<int64_t> resultShape, const Shards &input);

/// Sets the padding of every device's tensor to the neutral element.
void maskPadding(const Mesh &mesh, const Placement &placement, ReduceKind kind, Shards &shards);

} // namespace weft

#endif // WEFT_TESTING_SPMD_SHARDS_H
