// RUN: weft-opt %s --dist-place="rules=qkv=dim1:3*tp;^out=dim0:dp+tp,dim1:- batch-axes=dp" | FileCheck %s

module attributes {dist.mesh = #dist.mesh<["dp"=2, "tp"=2]>} {
// Rules name values; the batch is the dim of that name; state is not split by it.
// CHECK-LABEL: func @forward
// CHECK-SAME: %{{.+}}: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8, 4{"dp"}]>
// CHECK-SAME: %{{.+}}: tensor<8x12xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [8, 3*4{"tp"}]>
// CHECK-SAME: %{{.+}}: tensor<4xf32> {nn.name = "other"
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x", nn.dims = ["seq", "batch"]},
                   %w: tensor<8x12xf32> {nn.name = "h.0.qkv.weight"},
                   %s: tensor<4xf32> {nn.name = "other", nn.source = #nn.source<file = "", offset = 0, length = 0>}) {
  // CHECK: nn.negate %{{.+}} {dist.closed, dist.placements = [#dist.placement<#mesh, [8{"dp","tp"}, 4]>]}
  %0 = nn.negate %x : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("out_proj")
  // What training makes of the node has its name, not its shape.
  // CHECK: nn.transpose
  // CHECK-NOT: dist.placements
  // CHECK: return
  %1 = nn.transpose %0 permutation = [1, 0] {nn.role = "weight_gradient"} : tensor<8x4xf32> -> tensor<4x8xf32> loc("out_proj")
  return
}
}
