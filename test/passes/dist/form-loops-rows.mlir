// RUN: weft-opt %s --split-input-file --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=4},dist-place{batch-axes=dp},dist-propagate,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-form-loops,dist-verify-spmd)" --verify-diagnostics | FileCheck %s
// RUN: weft-opt %s --split-input-file --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=4},dist-place{batch-axes=dp whole-microbatches=true},dist-propagate,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-form-loops,dist-verify-spmd)" 2>/dev/null | FileCheck %s --check-prefix=WHOLE
// What a program returns of each row is put in place by the loop, whose sums are sums.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<4x4xf32, #dist.local<#mesh, [8{"dp"}, 4]>> {nn.name = "y"}, tensor<f32,
// CHECK: %[[MADE:.+]]:2 = dist.repeat "mb" {
// CHECK: %[[X:.+]] = dist.slice %arg0 ["mb"] dim 0
// CHECK: %[[Y:.+]] = nn.contract %[[X]], %arg1
// CHECK: %[[S:.+]] = nn.reduce sum %[[Y]]
// CHECK: dist.accumulate %[[S]], %[[Y]] in [f32, f32] : {{.*}} tensor<1x4xf32, #dist.local<#mesh, [8{"dp","mb"}, 4]>>
// CHECK: } : tensor<f32, #dist.local<#mesh, [], partial = sum["dp"]>>, tensor<4x4xf32, #dist.local<#mesh, [8{"dp"}, 4]>>
// CHECK: %[[SUM:.+]] = dist.all_reduce %[[MADE]]#0 ["dp"]
// CHECK: return %[[MADE]]#1, %[[SUM]]

// Rows of microbatches that are counted before shards go where they came from: no device sends any.
// WHOLE-LABEL: func.func @forward
// WHOLE-SAME: %arg0: tensor<4x4xf32, #dist.local<#mesh, [4*2{"dp"}, 4]>>
// WHOLE-SAME: -> (tensor<4x4xf32, #dist.local<#mesh, [4*2{"dp"}, 4]>> {nn.name = "y"}
// WHOLE-NOT: all_gather
// WHOLE: dist.slice %arg0 ["mb"] dim 0 {{.*}} -> tensor<1x4xf32, #dist.local<#mesh, [8{"mb","dp"}, 4]>>
// WHOLE-NOT: all_gather
// WHOLE: return
func.func @forward(%x: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
    %w: tensor<4x4xf32> {nn.name = "w", nn.source = #nn.source<file = "", offset = 0, length = 64>})
    -> (tensor<8x4xf32> {nn.name = "y"}, tensor<f32> {nn.name = "sum"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.reduce sum %0 dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %0, %1 : tensor<8x4xf32>, tensor<f32>
}

// -----

// What mixes rows runs once, behind the loop that makes them, and tells what that costs.
// CHECK-LABEL: func.func @mixes
// CHECK: %[[ROWS:.+]] = dist.repeat "mb" {
// CHECK: nn.contract
// CHECK: %[[ALL:.+]] = dist.all_gather %[[ROWS]] ["dp"]
// CHECK: nn.softmax %[[ALL]]
func.func @mixes(%x: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
    %w: tensor<4x4xf32> {nn.name = "w", nn.source = #nn.source<file = "", offset = 0, length = 64>}) -> (tensor<8x4xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-warning @below {{'nn.softmax' needs the rows of all microbatches at once: it runs once, on the whole batch, and 64 bytes are kept for it}}
  %1 = nn.softmax %0 dim = 0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Rows are put together by the loop that makes them, though a later one is there: the product runs once.
// CHECK-LABEL: func.func @early
// CHECK: %[[FIRST:.+]]:2 = dist.repeat "mb" {
// CHECK: %[[Y:.+]] = nn.contract
// CHECK: dist.accumulate
// CHECK: dist.repeat "mb" {
// CHECK-NOT: nn.contract
// CHECK: return %[[FIRST]]#
func.func @early(%x: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
    %w: tensor<4x4xf32> {nn.name = "w", nn.source = #nn.source<file = "", offset = 0, length = 64>})
    -> (tensor<8x4xf32> {nn.name = "y"}, tensor<8x4xf32> {nn.name = "z"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.reduce sum %0 dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %3 = nn.sub %x, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// One sample has no parts.
// CHECK-LABEL: func.func @one
// CHECK-NOT: dist.repeat
// expected-warning @below {{takes no microbatches: no input of it has a batch of several rows}}
func.func @one(%x: tensor<1x4xf32> {nn.dims = ["batch", ""], nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  %0 = nn.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}
