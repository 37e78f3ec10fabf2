// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{names axis "tp" twice}}
rt.mesh ["tp", "tp"] sizes [2, 2]

// -----

// expected-error @below {{axis "tp" has size 0, expected at least 1}}
rt.mesh ["tp"] sizes [0]

// -----

// The local buffer is what the placement leaves of the global tensor.
rt.mesh ["tp"] sizes [2]
// expected-error @below {{has local size 3 in dimension 0, expected 4}}
rt.state @w global tensor<8xf32> local memref<3xf32> placement <[8:"tp"]> pieces []

// -----

rt.mesh ["tp"] sizes [2]
// expected-error @below {{has parts of product 6 in dimension 0, expected the global size 8}}
rt.state @w global tensor<8xf32> local memref<3xf32> placement <[6:"tp"]> pieces []

// -----

// expected-error @below {{splits dimension 0 over axis "tp", which the mesh does not have}}
rt.state @w global tensor<8xf32> local memref<8xf32> placement <[8:"tp"]> pieces []

// -----

rt.mesh ["tp"] sizes [2]
// expected-error @below {{uses axis "tp" twice}}
rt.state @w global tensor<8x8xf32> local memref<4x4xf32> placement <[8:"tp"], [8:"tp"]> pieces []

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "x" input : memref<8xf32>
  // expected-error @below {{reaches elements 4 to 11 of a buffer of 8}}
  %1 = rt.view %0 : memref<8xf32> to memref<8xf32, strided<[1], offset: 4>>
}

// -----

rt.program @p streams 1 events 0 {
  // expected-error @below {{has offset 32, expected a multiple of 64}}
  %0 = rt.buffer "x" input offset 32 : memref<8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4x8xf32>
  %1 = rt.buffer "c" output : memref<4x4xf32>
  // expected-error @below {{has sizes that do not contract}}
  rt.gemm %0, %0 -> %1 accumulate f32 stream 0 : memref<4x8xf32>, memref<4x8xf32> -> memref<4x4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4x8xf32>
  %1 = rt.buffer "c" output : memref<8x4xf32>
  // expected-error @below {{expected equal sizes and element types}}
  rt.copy %0 -> %1 stream 0 : memref<4x8xf32> -> memref<8x4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  // expected-error @below {{names axis "tp", which the mesh does not have}}
  rt.collective all_reduce sum %0 -> %0 axes ["tp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 0
    : memref<4xf32> -> memref<4xf32>
}

// -----

rt.mesh ["tp"] sizes [2]
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  // expected-error @below {{target has 4 elements, expected 8}}
  rt.collective all_gather sum %0 -> %0 axes ["tp"] shape [1, 8, 1, 1, 1] accumulate f32 stream 0
    : memref<4xf32> -> memref<4xf32>
}

// -----

rt.mesh ["tp"] sizes [2]
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  // expected-error @below {{has a shape of 5 sizes for 2 tensors, expected five a tensor}}
  rt.collective all_reduce sum %0, %0 -> %0, %0 axes ["tp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 0
    : memref<4xf32>, memref<4xf32> -> memref<4xf32>, memref<4xf32>
}

// -----

rt.mesh ["tp"] sizes [2]
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  %1 = rt.buffer "b" input : memref<4xf64>
  // expected-error @below {{expected one element type for all tensors}}
  rt.collective all_reduce sum %0, %1 -> %0, %1 axes ["tp"] shape [1, 4, 1, 1, 1, 1, 4, 1, 1, 1] accumulate f32 stream 0
    : memref<4xf32>, memref<4xf64> -> memref<4xf32>, memref<4xf64>
}

// -----

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!sum = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
!max = tensor<4xf32, #dist.local<#mesh, [4], partial = max["dp"]>>
func.func @f(%0: !sum, %1: !max) -> (!whole, !whole) {
  %2:2 = rt.bucket(%0, %1 : !sum, !max) -> (!whole, !whole) {
  ^bb0(%a: !sum, %b: !max):
    // expected-note @below {{one kind, group, element type, reduction and padding is needed}}
    %3 = dist.all_reduce %a ["dp"] accumulate f32 : !sum -> !whole
    // expected-error @below {{may not share messages with the first of its bucket}}
    %4 = dist.all_reduce %b ["dp"] accumulate f32 : !max -> !whole
    rt.yield %3, %4 : !whole, !whole
  }
  return %2#0, %2#1 : !whole, !whole
}

// -----

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!sum = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
func.func @f(%0: !sum, %1: !sum) -> (!whole, !whole) {
  %2:2 = rt.bucket(%0, %1 : !sum, !sum) -> (!whole, !whole) {
  ^bb0(%a: !sum, %b: !sum):
    // expected-error @below {{is no transition from argument 0 of its bucket to result 0}}
    %3 = dist.all_reduce %b ["dp"] accumulate f32 : !sum -> !whole
    %4 = dist.all_reduce %a ["dp"] accumulate f32 : !sum -> !whole
    rt.yield %3, %4 : !whole, !whole
  }
  return %2#0, %2#1 : !whole, !whole
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "x" input : memref<8xf32>
  // expected-error @below {{launches @none, which is no function of this module}}
  rt.launch @none reads(%0 : memref<8xf32>) writes() stream 0
}

// -----

// expected-note @below {{it does not fit this}}
func.func private @k(tensor<4xf32>) -> ()
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "x" input : memref<8xf32>
  // expected-error @below {{expected a contiguous view of 'tensor<4xf32>'}}
  rt.launch @k reads(%0 : memref<8xf32>) writes() stream 0
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{output 0 is 'tensor<8xf32>', but 'tensor<4xf32>' inside}}
  %0 = rt.fusion kernel(%x : tensor<4xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>):
    rt.yield %a : tensor<4xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{names 2 axes, but gives 1 sizes}}
rt.mesh ["dp", "tp"] sizes [2]

// -----

// expected-error @below {{has a placement of 2 dimensions and a buffer of 1 for a global tensor of 1}}
rt.state @w global tensor<8xf32> local memref<8xf32> placement <[8], [1]> pieces []

// -----

// expected-error @below {{has a piece that is no #rt.piece: 1 : i64}}
rt.state @w global tensor<8xf32> local memref<8xf32> placement <[8]> pieces [1]

// -----

rt.program @p streams 1 events 0 {
  // expected-error @below {{has type 'memref<8xf32, strided<[2]>>', expected a static shape without layout}}
  %0 = rt.buffer "x" input : memref<8xf32, strided<[2]>>
}

// -----

rt.program @p streams 1 events 0 {
  // expected-error @below {{has a lifetime that is no [first, last]}}
  %0 = rt.buffer "x" input lives [3, 1] : memref<8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  // expected-error @below {{names @w, which is no state of this module}}
  %0 = rt.state_buffer @w : memref<8xf32>
}

// -----

// expected-note @below {{it does not fit this}}
rt.state @w global tensor<8xf32> local memref<8xf32> placement <[8]> pieces []
rt.program @p streams 1 events 0 {
  // expected-error @below {{has type 'memref<4xf32>', but the state is 'memref<8xf32>'}}
  %0 = rt.state_buffer @w : memref<4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "x" input : memref<8xf32>
  %1 = rt.view %0 : memref<8xf32> to memref<4xf32, strided<[2]>>
  // expected-error @below {{is of 'memref<4xf32, strided<[2]>>', expected a buffer of static shape without layout}}
  %2 = rt.view %1 : memref<4xf32, strided<[2]>> to memref<2xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "x" input : memref<8xf32>
  // expected-error @below {{has type 'memref<?xf32>', expected static sizes, strides and offset}}
  %1 = rt.view %0 : memref<8xf32> to memref<?xf32>
}

// -----

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!sum = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
func.func @f(%0: !sum) -> !whole {
  // expected-error @below {{has 1 inputs and 1 ops, expected one for each of at least two inputs}}
  %2 = rt.bucket(%0 : !sum) -> (!whole) {
  ^bb0(%a: !sum):
    %3 = dist.all_reduce %a ["dp"] accumulate f32 : !sum -> !whole
    rt.yield %3 : !whole
  }
  return %2 : !whole
}

// -----

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!sum = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
func.func @f(%0: !sum, %1: !sum) -> (!whole, !sum) {
  // expected-error @below {{has other types inside than outside}}
  %2:2 = rt.bucket(%0, %1 : !sum, !sum) -> (!whole, !sum) {
  ^bb0(%a: !sum, %b: !sum):
    %3 = dist.all_reduce %a ["dp"] accumulate f32 : !sum -> !whole
    %4 = dist.all_reduce %b ["dp"] accumulate f32 : !sum -> !whole
    rt.yield %3, %4 : !whole, !whole
  }
  return %2#0, %2#1 : !whole, !sum
}

// -----

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{has 1 inputs, but 2 arguments inside}}
  %1 = rt.body(%x : tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>, %c: tensor<1xi64>):
    rt.yield %a : tensor<3xf32>
  }
  return %1 : tensor<3xf32>
}

// -----

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{input 0 is 'tensor<3xf32>', but 'tensor<4xf32>' inside}}
  %1 = rt.body(%x : tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<4xf32>):
    rt.yield %x : tensor<3xf32>
  }
  return %1 : tensor<3xf32>
}

// -----

// expected-error @below {{is a routine, which is private and has a body}}
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  return %x : tensor<3xf32>
}

// -----

// expected-error @below {{has attribute rt.routine, which marks functions}}
module attributes {rt.routine} {}

// -----

// expected-error @below {{says of 2 results what they overwrite, but has 1}}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine, rt.in_place = array<i64: 0, -1>} {
  return %x : tensor<3xf32>
}

// -----

// expected-error @below {{overwrites argument 0, expected distinct ones of its 1, or -1}}
func.func private @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {rt.routine, rt.in_place = array<i64: 0, 0>} {
  return %x, %x : tensor<3xf32>, tensor<3xf32>
}

// -----

// expected-error @below {{overwrites argument 1 of type 'tensor<4xf32>' with result 0 of type 'tensor<3xf32>'}}
func.func private @f(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3xf32> attributes {rt.routine, rt.in_place = array<i64: 1>} {
  return %x : tensor<3xf32>
}

// -----

// expected-note @below {{it does not fit this}}
func.func private @r(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  return %x : tensor<3xf32>
}
func.func @types(%x: tensor<3xf32, 7>) -> tensor<3xf32> {
  // expected-error @below {{input 0 is 'tensor<3xf32, 7 : i64>', but the routine's 'tensor<3xf32>'}}
  %0 = rt.call @r(%x) : (tensor<3xf32, 7>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-note @below {{it does not fit this}}
func.func private @r(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  return %x : tensor<3xf32>
}
func.func @counts(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{has 2 inputs, but the routine 1}}
  %0 = rt.call @r(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func private @r(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  return %x : tensor<3xf32>
}
func.func private @nested(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  // expected-error @below {{calls a routine in a routine}}
  %0 = rt.call @r(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func private @r(%x: tensor<3xf32>) -> tensor<3xf32> attributes {rt.routine} {
  return %x : tensor<3xf32>
}
// expected-note @below {{it does not fit this}}
func.func private @kernel(%x: tensor<3xf32>) -> tensor<3xf32>
func.func @labels(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{has a label or a microbatch, but @kernel is no routine}}
  %0 = rt.call @kernel(%x) {label = "h.1"} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// expected-error @below {{has blocks, but is no routine}}
rt.program @p streams 1 events 0 {
^bb0(%x: memref<8xf32>):
}

// -----

// expected-error @below {{has 1 blocks for 2 results}}
rt.program @p routine [-1, -1] streams 1 events 0 {
^bb0(%x: memref<8xf32>):
}

// -----

// expected-error @below {{overwrites argument 1, expected distinct ones of its 1, or -1}}
rt.program @p routine [1] streams 1 events 0 {
^bb0(%x: memref<8xf32>):
}

// -----

// expected-error @below {{has a block of type 'memref<8xf32, strided<[2]>>', expected a memref of static shape without layout}}
rt.program @p routine [] streams 1 events 0 {
^bb0(%x: memref<8xf32, strided<[2]>>):
}

// -----

rt.program @p routine [] streams 1 events 0 {
^bb0(%x: memref<8xf32>):
  // expected-error @below {{stands in a routine, which has no states, ports, calls or transfers}}
  rt.input "x" %x global tensor<8xf32> placement <[8]> : memref<8xf32>
}

// -----

func.func @put(%x: tensor<2x2xf32>) {
  // expected-error @below {{puts 'tensor<2x2xf32>' into 'tensor<4x2xf32>', expected three dims of the same element type}}
  %0 = rt.put %x at 0 : (tensor<2x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @put(%x: tensor<1x2x2xf32>, %y: tensor<8xf32>) {
  // expected-error @below {{makes 'tensor<4x2xf32>' of 'tensor<8xf32>'}}
  %0 = rt.put %x at 0 into %y : (tensor<1x2x2xf32>, tensor<8xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @put(%x: tensor<1x2x2xf32>) {
  // expected-error @below {{puts rows 3 to 5 of 2 elements each into 8 elements}}
  %0 = rt.put %x at 3 : (tensor<1x2x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @put(%x: tensor<1x2x3xf32>) {
  // expected-error @below {{puts rows 0 to 2 of 3 elements each into 8 elements}}
  %0 = rt.put %x at 0 : (tensor<1x2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

// expected-error @below {{has stages along axis "tp", which it does not have or names twice}}
rt.mesh ["pp", "dp"] sizes [2, 2] stages ["tp"]

// -----

// expected-error @below {{has stages along axis "pp", which it does not have or names twice}}
rt.mesh ["pp", "dp"] sizes [2, 2] stages ["pp", "pp"]
