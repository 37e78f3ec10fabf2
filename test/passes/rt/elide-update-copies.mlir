// RUN: weft-opt %s --split-input-file --rt-materialize-updates --rt-elide-update-copies | FileCheck %s

// A pointwise kernel overwrites the state that it reads.
// CHECK-LABEL: func.func @step
// CHECK: %[[NEW:.+]] = rt.call @k(
// CHECK-NEXT: return %[[NEW]]
// CHECK-NOT: func.func private @k_
// CHECK: func.func private @k(
// CHECK-SAME: rt.in_place = array<i64: 1>
func.func @step(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %g: tensor<4xf32> {nn.name = "g"})
    -> (tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @k(%g: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The old value is read after the new one is made: the copy stays.
// CHECK-LABEL: func.func @late
// CHECK: %[[NEW:.+]] = rt.call @k(
// CHECK: %[[Y:.+]] = rt.call @k(
// CHECK: %[[COPY:.+]] = rt.dense %[[NEW]]
// CHECK: return %[[Y]], %[[COPY]]
func.func @late(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %g: tensor<4xf32> {nn.name = "g"})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.call @k(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%g: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A kernel that reads the state at other indices than it writes does not
// overwrite it; one that does not read it at all may.
// CHECK-LABEL: func.func @other
// CHECK: %[[W:.+]] = rt.call @rows(
// CHECK: %[[V:.+]] = rt.call @negate(
// CHECK: %[[COPY:.+]] = rt.dense %[[W]]
// CHECK: return %[[COPY]], %[[V]]
func.func @other(%w: tensor<4x4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %v: tensor<4xf32> {nn.name = "v", nn.initial = 1.0 : f32},
                 %g: tensor<4xf32> {nn.name = "g"}) -> (tensor<4x4xf32> {nn.updates = "w"}, tensor<4xf32> {nn.updates = "v"}) {
  %0 = rt.call @rows(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = rt.call @negate(%g) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4xf32>
}
func.func private @rows(%w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
  %0 = nn.softmax %w dim = 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @negate(%g: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.negate %g : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Two results of one kernel overwrite two states; a state read twice by its
// own kernel is not overwritten.
// CHECK-LABEL: func.func @pair
// CHECK: rt.call @both
// CHECK-NEXT: rt.call @k(
// CHECK-NEXT: rt.dense
// CHECK-NEXT: return
// CHECK-DAG: func.func private @k(
// CHECK-DAG: func.func private @both{{.*}}rt.in_place = array<i64: 1, 0>
func.func @pair(%a: tensor<4xf32> {nn.name = "a", nn.initial = 1.0 : f32}, %b: tensor<4xf32> {nn.name = "b", nn.initial = 0.0 : f32},
                %c: tensor<4xf32> {nn.name = "c", nn.initial = 0.0 : f32})
    -> (tensor<4xf32> {nn.updates = "a"}, tensor<4xf32> {nn.updates = "b"}, tensor<4xf32> {nn.updates = "c"}) {
  %0:2 = rt.call @both(%b, %a) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = rt.call @k(%c, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0#0, %0#1, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%g: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @both(%g: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {rt.kernel} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.add %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A state's new value whose rows are put in place one after the other is made beside it.
// CHECK-LABEL: func.func @rows
// CHECK: %[[ALL:.+]] = rt.put {{.*}} into
// CHECK: %[[COPY:.+]] = rt.dense %[[ALL]]
// CHECK: return %[[COPY]]
func.func @rows(%s: tensor<4xf32> {nn.name = "s", nn.initial = 1.0 : f32}, %x: tensor<1x2x1xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.updates = "s"}) {
  %0 = rt.put %x at 0 : (tensor<1x2x1xf32>) -> tensor<4xf32>
  %1 = rt.put %x at 2 into %0 : (tensor<1x2x1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
