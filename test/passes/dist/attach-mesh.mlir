// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=4x2,tp=2" | FileCheck %s
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=2,dp=2" 2>&1 | FileCheck %s --check-prefix=TWICE

// A product becomes sub-axes, outer first.
// CHECK: #mesh = #dist.mesh<["dp.0"=4, "dp.1"=2, "tp"=2]>
// CHECK: module attributes {dist.mesh = #mesh}
// ZERO: cannot read mesh 'dp=0': size of axis 'dp' must be a positive integer, found '0'
// TWICE: cannot read mesh 'dp=2,dp=2': axis 'dp' is given twice
module {}
