// RUN: weft-opt %s --dist-place="rules=h.7.fc=dim0:tp;fc=dim0:dp,dim1:3*tp;in=dim0:dp batch-axes= part" | FileCheck %s
// RUN: not weft-opt %s --dist-place="rules=fc=dim1:tp;h.7.fc=dim0:tp" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: placement 'h.7.fc=dim0:tp' matches no value; did you mean 'h.0.fc'?

// Of a few blocks on one axis: rules for the other blocks name nothing, and over the other axes nothing is split.
module attributes {dist.mesh = #dist.mesh<["tp"=2]>} {
// CHECK-LABEL: func @forward
// CHECK-SAME: %{{.+}}: tensor<8x4xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [8, 4]>
// CHECK-SAME: %{{.+}}: tensor<4x12xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [4, 3*4{"tp"}]>
func.func @forward(%x: tensor<8x4xf32> {nn.name = "in", nn.dims = ["batch", "seq"]},
                   %w: tensor<4x12xf32> {nn.name = "h.0.fc", nn.source = #nn.source<file = "", offset = 0, length = 0>}) {
  return
}
}
