// RUN: weft-opt %s --rt-fuse-kernels --split-input-file | FileCheck %s
// A view that must be dense is a copy where the target's command copies it: rows in one call on a GPU, anything on a CPU.

// CHECK-LABEL: func.func @rows
// CHECK: rt.dense
module attributes {weft.target = "cuda"} {
  func.func @rows(%x: tensor<300x400xf32>) -> tensor<300x100xf32> {
    %0 = nn.slice %x starts = [0, 40] strides = [1, 1] : tensor<300x400xf32> -> tensor<300x100xf32>
    return %0 : tensor<300x100xf32>
  }
}

// -----

// CHECK-LABEL: func.func @columns
// CHECK-NOT: rt.dense
// CHECK: rt.fusion kernel
// CHECK: nn.transpose
module attributes {weft.target = "cuda"} {
  func.func @columns(%x: tensor<300x400xf32>) -> tensor<400x300xf32> {
    %0 = nn.transpose %x permutation = [1, 0] : tensor<300x400xf32> -> tensor<400x300xf32>
    return %0 : tensor<400x300xf32>
  }
}

// -----

// CHECK-LABEL: func.func @same_number
// CHECK-NOT: rt.dense
// CHECK: rt.fusion kernel
module attributes {weft.target = "cuda"} {
  func.func @same_number(%x: tensor<f64>) -> tensor<3x100xf64> {
    %0 = nn.broadcast %x dims = [] : tensor<f64> -> tensor<3x100xf64>
    return %0 : tensor<3x100xf64>
  }
}

// -----

// CHECK-LABEL: func.func @on_a_cpu
// CHECK: rt.dense
func.func @on_a_cpu(%x: tensor<300x400xf32>) -> tensor<400x300xf32> {
  %0 = nn.transpose %x permutation = [1, 0] : tensor<300x400xf32> -> tensor<400x300xf32>
  return %0 : tensor<400x300xf32>
}
