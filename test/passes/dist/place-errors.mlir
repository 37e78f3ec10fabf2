// RUN: not weft-opt %s --dist-place="rules=nothing=dim0:tp" 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// RUN: not weft-opt %s --dist-place="rules=x=dim0:cp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not weft-opt %s --dist-place="rules=x=dim2:tp" 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not weft-opt %s --dist-place="rules=x=dim0:tp,dim1:tp" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not weft-opt %s --dist-place="rules=x=dim0:3*tp" 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: not weft-opt %s --dist-place="rules=x=dim0" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not weft-opt %s --dist-place="rules=(=dim0:tp" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not weft-opt %s --dist-place="rules=x=dim0:2*4" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt %s --dist-place="batch-axes=tp+tp" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not weft-opt %s --dist-place="rules=x=" 2>&1 | FileCheck %s --check-prefix=EMPTY

// RUN: sed 's/"tp"=2/"tp"=2, temporal "mb"=2/' %s | not weft-opt --dist-place="rules=x=dim0:mb" 2>&1 | FileCheck %s --check-prefix=TIME

// TIME: placement 'x=dim0:mb': axis 'mb' counts microbatches, which are parts of what each device has of a batch anyway; leave it out
// BATCH: batch-axes: axis 'tp' is named twice
// EMPTY: placement 'x=': expected REGEX=dimN:AXES,..., found no dim
// UNMATCHED: placement 'nothing=dim0:tp' matches no value
// AXIS: axis 'cp' is not on the mesh
// DIM: placement 'x=dim2:tp' names dim 2 of a value of tensor rank 2
// TWICE: axis "tp" appears twice
// DIVIDE: 3 does not divide dim 0 of size 8
// SYNTAX: expected dimN:AXES, found 'dim0'
// NONE: placement 'x=dim0:2*4': '2*4' must name axes in exactly one part
// REGEX: bad regular expression
module attributes {dist.mesh = #dist.mesh<["tp"=2]>} {
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x"}) {
  return
}
}
