// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=4x2,tp=2" | FileCheck %s
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=2 microbatches=4" | FileCheck %s --check-prefix=MB
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=2 microbatches=0" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt %s --dist-attach-mesh="mesh=mb=2 microbatches=2" 2>&1 | FileCheck %s --check-prefix=TAKEN

// Microbatches are no devices: what is printed is read, however many there are.
// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=16384 microbatches=128" | weft-opt | FileCheck %s --check-prefix=LARGE
// LARGE: #mesh = #dist.mesh<["dp"=16384, temporal "mb"=128]>

// Microbatches are an axis in time.
// MB: #mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
// NONE: the number of microbatches must be in [1, 2^20], found 0
// TAKEN: mesh 'mb=2' names an axis 'mb', which is the axis of microbatches

// A product becomes sub-axes, outer first.
// CHECK: #mesh = #dist.mesh<["dp.0"=4, "dp.1"=2, "tp"=2]>
// CHECK: module attributes {dist.mesh = #mesh}
// ZERO: cannot read mesh 'dp=0': size of axis 'dp' must be a positive integer, found '0'
// TWICE: cannot read mesh 'dp=2,dp=2': axis 'dp' is given twice
module {}
