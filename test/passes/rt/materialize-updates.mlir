// RUN: weft-opt %s --split-input-file --verify-diagnostics --rt-materialize-updates | FileCheck %s

// A new value is copied at the end; a state that does not change is its own argument.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[W:.+]]: tensor<4xf32> {{.*}}, %[[U:.+]]: tensor<4xf32> {{.*}}, %[[X:.+]]: tensor<4xf32>
// CHECK: %[[NEW:.+]] = rt.call @k
// CHECK: %[[COPY:.+]] = rt.dense %[[NEW]]
// CHECK: return %[[NEW]], %[[COPY]], %[[U]]
func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %a : tensor<4xf32>
}
func.func @step(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %u: tensor<4xf32> {nn.name = "u", nn.initial = 0.0 : f32},
                %x: tensor<4xf32> {nn.name = "x"})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.updates = "w"}, tensor<4xf32> {nn.updates = "u"}) {
  %0 = rt.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.dense %u : tensor<4xf32>
  return %0, %0, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// States that change places go through buffers of their own.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: (%[[A:.+]]: tensor<4xf32> {{.*}}, %[[B:.+]]: tensor<4xf32>
// CHECK: %[[OLDB:.+]] = rt.dense %[[B]]
// CHECK: %[[OLDA:.+]] = rt.dense %[[A]]
// CHECK: %[[NEWA:.+]] = rt.dense %[[OLDB]]
// CHECK: %[[NEWB:.+]] = rt.dense %[[OLDA]]
// CHECK: return %[[NEWA]], %[[NEWB]]
func.func @swap(%a: tensor<4xf32> {nn.name = "a", nn.initial = 1.0 : f32}, %b: tensor<4xf32> {nn.name = "b", nn.initial = 0.0 : f32})
    -> (tensor<4xf32> {nn.updates = "a"}, tensor<4xf32> {nn.updates = "b"}) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{updates "v", which is no state of it}}
func.func @unknown(%a: tensor<4xf32> {nn.name = "a", nn.initial = 1.0 : f32}) -> (tensor<4xf32> {nn.updates = "v"}) {
  return %a : tensor<4xf32>
}

// -----

// expected-note @below {{its first new value is made here}}
// expected-note @below {{its second new value is made here}}
// expected-error @below {{updates "a" twice}}
func.func @twice(%a: tensor<4xf32> {nn.name = "a", nn.initial = 1.0 : f32})
    -> (tensor<4xf32> {nn.updates = "a"}, tensor<4xf32> {nn.updates = "a"}) {
  return %a, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-note @below {{the value is made here}}
// expected-error @below {{updates "a" of type 'tensor<4xf32>' with a value of type 'tensor<2xf32>'}}
func.func @other_type(%a: tensor<4xf32> {nn.name = "a", nn.initial = 1.0 : f32}, %x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.updates = "a"}) {
  return %x : tensor<2xf32>
}
