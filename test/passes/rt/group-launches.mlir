// RUN: weft-opt %s --rt-group-launches | FileCheck %s
// RUN: weft-opt %s --rt-group-launches | sed 's/weft.target = "cuda"//' | FileCheck %s --check-prefix=KERNELS
// RUN: sed 's/weft.target = "cuda"//' %s | weft-opt --rt-group-launches | FileCheck %s --check-prefix=CPU

module attributes {weft.target = "cuda"} {

// Updates that nothing waits for are one launch of a kernel of three members: all arguments, then all results. So the first two
// may wait for the third, which waits for another gradient.
// CHECK-LABEL: func.func @updates(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8xf32> {{.*}}, %[[B:[a-z0-9]+]]: tensor<8xf32> {{.*}}, %[[C:[a-z0-9]+]]: tensor<8xf32> {{.*}}, %[[G:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[H:.+]] = rt.call @twice(%[[G]])
// CHECK-NEXT: %[[NEW:.+]]:3 = rt.call @add_x3(%[[A]], %[[G]], %[[B]], %[[G]], %[[C]], %[[H]]) {rt.roles = ["optimizer", "optimizer", "optimizer"]}
// CHECK-NEXT: return %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2
// CPU-LABEL: func.func @updates(
// CPU-COUNT-4: rt.call
// CPU-NOT: _x3
// KERNELS: func.func private @add_x3(%[[X:[a-z0-9]+]]: tensor<8xf32>, %[[Y:[a-z0-9]+]]: tensor<8xf32>, %[[Z:[a-z0-9]+]]: tensor<8xf32>
// KERNELS-SAME: attributes {rt.in_place = array<i64: 0, 2, 4>, rt.kernel, rt.members = 3 : i64}
// KERNELS: nn.add %[[X]], %[[Y]]
// KERNELS: nn.add %[[Z]],
// KERNELS: nn.add
// KERNELS-NOT: @add(
func.func @updates(%a: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "a"}, %b: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "b"},
                   %c: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "c"}, %g: tensor<8xf32>)
    -> (tensor<8xf32> {nn.updates = "a"}, tensor<8xf32> {nn.updates = "b"}, tensor<8xf32> {nn.updates = "c"}) {
  %0 = rt.call @add(%a, %g) {rt.roles = ["optimizer"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = rt.call @add(%b, %g) {rt.roles = ["optimizer"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = rt.call @twice(%g) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = rt.call @add(%c, %2) {rt.roles = ["optimizer"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// What one makes and another reads does not meet; nor do calls between which one's result is read. The last two do, where the first stands.
// CHECK-LABEL: func.func @chain(
// CHECK: rt.call @twice(%arg0)
// CHECK: rt.call @twice(
// CHECK: rt.call @scaled_x2(%arg0, %arg1)
// CHECK: rt.call @join(
func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = rt.call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = rt.call @twice(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = rt.call @scaled(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = rt.call @join(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = rt.call @scaled(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = rt.call @join(%3, %4) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// A value of 4 MiB that dies with its only reader is not kept for another one.
// CHECK-LABEL: func.func @large(
// CHECK-COUNT-2: rt.call @total(
func.func @large(%x: tensor<1048576xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = rt.call @large_twice(%x) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  %1 = rt.call @total(%0) : (tensor<1048576xf32>) -> tensor<f32>
  %2 = rt.call @large_scaled(%x) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  %3 = rt.call @total(%2) : (tensor<1048576xf32>) -> tensor<f32>
  return %1, %3 : tensor<f32>, tensor<f32>
}

// A call stays in front of what overwrites the value that it reads, here as the state's new value.
// CHECK-LABEL: func.func @overwritten(
// CHECK: rt.call @twice(%arg0)
// CHECK: rt.call @scaled(%arg1)
// CHECK: rt.call @join(
// CHECK: rt.call @twice(
func.func @overwritten(%a: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "a"}, %g: tensor<8xf32>)
    -> (tensor<8xf32> {nn.updates = "a"}, tensor<8xf32>, tensor<8xf32>) {
  %0 = rt.call @twice(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = rt.call @scaled(%g) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = rt.call @join(%1, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = rt.call @twice(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %0, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Views of what was moved stand behind it.
// CHECK-LABEL: func.func @views(
// CHECK: %[[SUMS:.+]]:2 = rt.call @twice_x2(
// CHECK-NEXT: nn.reshape %[[SUMS]]#0
func.func @views(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<2x4xf32> {
  %0 = rt.call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %v = nn.reshape %0 : tensor<8xf32> -> tensor<2x4xf32>
  %1 = rt.call @scaled(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = rt.call @twice(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = rt.call @folded(%v, %2) : (tensor<2x4xf32>, tensor<8xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

func.func private @add(%a: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel, rt.in_place = array<i64: 0>} {
  %0 = nn.add %a, %g : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel} {
  %0 = nn.add %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @scaled(%x: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel} {
  %0 = nn.mul %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @join(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel} {
  %0 = nn.sub %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @folded(%x: tensor<2x4xf32>, %y: tensor<8xf32>) -> tensor<2x4xf32> attributes {rt.kernel} {
  %0 = nn.reshape %y : tensor<8xf32> -> tensor<2x4xf32>
  %1 = nn.sub %x, %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
func.func private @large_twice(%x: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {rt.kernel} {
  %0 = nn.add %x, %x : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
func.func private @large_scaled(%x: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {rt.kernel} {
  %0 = nn.mul %x, %x : tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
func.func private @total(%x: tensor<1048576xf32>) -> tensor<f32> attributes {rt.kernel} {
  %0 = nn.reduce sum %x dims = [0] : tensor<1048576xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
