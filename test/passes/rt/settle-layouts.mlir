// RUN: weft-opt %s --rt-settle-layouts --split-input-file | FileCheck %s
// Library calls write values as all their readers want them.

// Gradients of the parts of a value, each with zeros around it, tile it: they are a concatenation, in the order of their places.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[A:.+]]: tensor<2x3xf32>, %[[B:.+]]: tensor<2x4xf32>, %[[C:.+]]: tensor<2x5xf32>
// CHECK-NEXT: %[[ALL:.+]] = nn.concat %[[C]], %[[A]], %[[B]] dim = 1 {nn.role = "input_gradient"}
// CHECK-NEXT: return %[[ALL]]
func.func @parts(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<2x5xf32>) -> tensor<2x12xf32> {
  %0 = nn.pad %b low = [0, 8] high = [0, 0] value = 0.0 : f32 {nn.role = "input_gradient"} : tensor<2x4xf32> -> tensor<2x12xf32>
  %1 = nn.pad %a low = [0, 5] high = [0, 4] value = 0.0 : f32 {nn.role = "input_gradient"} : tensor<2x3xf32> -> tensor<2x12xf32>
  %2 = nn.add %0, %1 {nn.role = "input_gradient"} : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
  %3 = nn.pad %c low = [0, 0] high = [0, 7] value = 0.0 : f32 {nn.role = "input_gradient"} : tensor<2x5xf32> -> tensor<2x12xf32>
  %4 = nn.add %2, %3 {nn.role = "input_gradient"} : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
  return %4 : tensor<2x12xf32>
}

// -----

// Not so: parts that overlap, that leave a gap, that end early, with something else than zeros around them, along two dims, that
// are read again, another addend.
// CHECK-LABEL: func.func @no_parts
// CHECK-NOT: nn.concat
// CHECK: return
func.func @no_parts(%a: tensor<4x4xf32>)
    -> (tensor<4x8xf32>, tensor<4x9xf32>, tensor<4x9xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %low = nn.pad %a low = [0, 0] high = [0, 4] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %over = nn.pad %a low = [0, 3] high = [0, 1] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %0 = nn.add %low, %over : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %first = nn.pad %a low = [0, 0] high = [0, 5] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x9xf32>
  %last = nn.pad %a low = [0, 5] high = [0, 0] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x9xf32>
  %1 = nn.add %first, %last : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %start = nn.pad %a low = [0, 0] high = [0, 5] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x9xf32>
  %middle = nn.pad %a low = [0, 4] high = [0, 1] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x9xf32>
  %2 = nn.add %start, %middle : (tensor<4x9xf32>, tensor<4x9xf32>) -> tensor<4x9xf32>
  %ones = nn.pad %a low = [0, 0] high = [0, 4] value = 1.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %zeros = nn.pad %a low = [0, 4] high = [0, 0] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %3 = nn.add %ones, %zeros : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %corner = nn.pad %a low = [0, 0] high = [4, 4] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<8x8xf32>
  %other = nn.pad %a low = [4, 4] high = [0, 0] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<8x8xf32>
  %4 = nn.add %corner, %other : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %read = nn.pad %a low = [0, 0] high = [0, 4] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %once = nn.pad %a low = [0, 4] high = [0, 0] value = 0.0 : f32 : tensor<4x4xf32> -> tensor<4x8xf32>
  %5 = nn.add %read, %once : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = nn.add %5, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2, %3, %4, %5, %read, %6 : tensor<4x8xf32>, tensor<4x9xf32>, tensor<4x9xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Heads that a product reads as one dim must lie beside each other. The gradient reads them through the permutation, so
// that only one order of them is in memory.
// CHECK-LABEL: func.func @heads
// CHECK: %[[OUT:.+]] = nn.attention
// CHECK-NEXT: %[[T:.+]] = nn.transpose %[[OUT]] permutation = [0, 2, 1, 3] {rt.written}
// CHECK-NEXT: %[[R:.+]] = nn.reshape %[[T]]
// CHECK-NEXT: nn.contract %[[R]]
// CHECK-NEXT: %[[BACK:.+]] = nn.transpose %[[T]] permutation = [0, 2, 1, 3] {nn.role = "input_gradient"}
// CHECK-NEXT: nn.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %[[BACK]],
func.func @heads(%q: tensor<2x4x8x16xf32>, %w: tensor<64x64xf32>, %g: tensor<2x4x8x16xf32>)
    -> (tensor<2x8x64xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) {
  %a = nn.attention %q, %q, %q scale = 0.25 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %t = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = nn.reshape %t : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %o = nn.contract %r, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %a, %g scale = 0.25 {nn.role = "input_gradient"}
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  return %o, %dq, %dk, %dv : tensor<2x8x64xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
}

// -----

// What the call writes is of its own section and pass, though a reader of a later one asks for the permutation.
// CHECK-LABEL: func.func @sections
// CHECK: nn.attention
// CHECK-NEXT: %[[T:.+]] = nn.transpose %{{.+}} permutation = [0, 2, 1, 3] {dist.section = 1 : i64, rt.written}
// CHECK: nn.transpose %[[T]] permutation = [0, 2, 1, 3] {dist.section = 1 : i64}
// CHECK: nn.contract {{.*}}{dist.section = 2 : i64, nn.role = "input_gradient"}
func.func @sections(%q: tensor<2x4x8x16xf32>, %w: tensor<64x64xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x64xf32>) {
  %a = nn.attention %q, %q, %q scale = 0.25 {dist.section = 1 : i64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %t = nn.transpose %a permutation = [0, 2, 1, 3] {dist.section = 1 : i64} : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = nn.reshape %t {dist.section = 1 : i64} : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %o = nn.contract %r, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 {dist.section = 1 : i64}
    : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  %u = nn.transpose %a permutation = [0, 2, 1, 3] {dist.section = 2 : i64, nn.role = "input_gradient"} : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %s = nn.reshape %u {dist.section = 2 : i64, nn.role = "input_gradient"} : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %p = nn.contract %s, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 {dist.section = 2 : i64, nn.role = "input_gradient"}
    : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  return %o, %p : tensor<2x8x64xf32>, tensor<2x8x64xf32>
}

// -----

// Where another reader needs it as it is there would be a copy all the same; where all read it through views there is none.
// CHECK-LABEL: func.func @kept
// CHECK: %[[OUT:.+]] = nn.attention
// CHECK: nn.transpose %[[OUT]] permutation = [0, 2, 1, 3] :
// CHECK-NOT: nn.transpose
// CHECK: %[[SECOND:.+]] = nn.attention
// CHECK: nn.transpose %[[SECOND]]
// CHECK: nn.exp %[[SECOND]]
// CHECK: return %[[OUT]]
func.func @kept(%q: tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x8x64xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x16xf32>) {
  %a = nn.attention %q, %q, %q scale = 0.25 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %t = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = nn.reshape %t : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %0 = nn.exp %r : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  %b = nn.attention %q, %q, %q scale = 0.5 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %u = nn.transpose %b permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = nn.exp %u : (tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  %2 = nn.exp %b : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %a, %0, %1, %2 : tensor<2x4x8x16xf32>, tensor<2x8x64xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x16xf32>
}

// -----

// In a loop over microbatches it is the same.
#mesh = #dist.mesh<[temporal "mb"=2]>
!batch = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!part = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4]>>
!padded = tensor<2x8xf32, #dist.local<#mesh, [4{"mb"}, 8]>>
!whole = tensor<4x8xf32, #dist.local<#mesh, [4, 8]>>
module attributes {dist.mesh = #mesh} {
// CHECK-LABEL: func.func @loop
// CHECK: dist.slice
// CHECK-NEXT: nn.concat %{{.+}}, %{{.+}} dim = 1
// CHECK-NEXT: dist.accumulate
func.func @loop(%x: !batch) -> !whole {
  %0 = dist.repeat "mb" {
    %a = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %low = nn.pad %a low = [0, 0] high = [0, 4] value = 0.0 : f32 : !part -> !padded
    %high = nn.pad %a low = [0, 4] high = [0, 0] value = 0.0 : f32 : !part -> !padded
    %1 = nn.add %low, %high : (!padded, !padded) -> !padded
    dist.accumulate %1 in [f32] : !padded
  } : !whole
  return %0 : !whole
}
}
