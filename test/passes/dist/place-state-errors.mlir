// RUN: not weft-opt %s --pass-pipeline="builtin.module(dist-place-state{slots=split})" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not weft-opt %s --pass-pipeline="builtin.module(dist-place-state{slots=sharded})" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not weft-opt %s --pass-pipeline="builtin.module(dist-place-state{slots=sharded axis=ep})" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not weft-opt %s --pass-pipeline="builtin.module(dist-place-state{parameters=sharded axis=tp})" 2>&1 | FileCheck %s --check-prefix=SLOTS
// Options that ask for what the mesh does not have, or for parts without what they need.

// WORD: error: option 'slots' must be replicated or sharded, found 'split'
// BATCH: error: state is split over the axes of the batch, and no axis of the mesh has it; name an axis to split over
// AXIS: error: state cannot be split over axis 'ep', which is not on the mesh
// SLOTS: error: parameters and gradients are split only where slots are
module attributes {dist.mesh = #dist.mesh<["tp"=2]>} {
}
