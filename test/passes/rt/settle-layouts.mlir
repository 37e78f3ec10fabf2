// RUN: weft-opt %s --rt-settle-layouts --split-input-file | FileCheck %s
// Library calls write the parts of a value where they stand in it.

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
