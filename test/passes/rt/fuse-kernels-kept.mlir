// RUN: weft-opt %s --rt-fuse-kernels | FileCheck %s
// Sums of small floats are kept as f32: two rows of 7168 greatest and least numbers, of which a third is made, take more
// workgroup memory than a block has, so they are no one kernel.

module attributes {weft.target = "cuda"} {
  // CHECK-LABEL: @forward
  // CHECK: rt.fusion
  // CHECK: rt.fusion
  func.func @forward(%x: tensor<4x7168xf16> {nn.name = "x"}) -> tensor<7168xf16> {
    %greatest = nn.reduce max %x dims = [0] : tensor<4x7168xf16> -> tensor<7168xf16>
    %least = nn.reduce min %x dims = [0] : tensor<4x7168xf16> -> tensor<7168xf16>
    %range = nn.sub %greatest, %least : tensor<7168xf16>
    %y = nn.softmax %range dim = 0 : (tensor<7168xf16>) -> tensor<7168xf16>
    return %y : tensor<7168xf16>
  }
}
