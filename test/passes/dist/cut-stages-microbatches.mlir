// RUN: weft-opt %s --dist-insert-reshards "--dist-cut-stages=stages=second schedule=1f1b" --dist-verify-spmd | FileCheck %s
// RUN: weft-opt %s --dist-insert-reshards "--dist-cut-stages=stages=second schedule=1f1b" | tr '{' '\n' | FileCheck %s --check-prefix=ROWS

#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
#rows = #dist.placement<#mesh, [8{"mb"}, 8]>
module attributes {dist.mesh = #mesh} {
// A weight is read first and, on the second stage, in the middle. Its gradient's addend there reads what only that stage has, and is accumulated
// there: the sum crosses, and not what each microbatch adds to it.
// So both stages keep a sum of 256 bytes for it, beside that of the second one's own weight.
// ROWS: dist.chunk_rows = [
// ROWS-NEXT: bytes_in = 0 : i64,{{.*}} gradient_bytes = 256 : i64,
// ROWS-NEXT: bytes_in = 128 : i64,{{.*}} gradient_bytes = 512 : i64,
// CHECK-LABEL: func.func @in_the_middle
// CHECK: nn.log {{.*}}held = "pp"[0]>>
// CHECK: dist.reshard {{.*}}held = "pp"[0]>> -> {{.*}}held = "pp"[1]>>
// CHECK: nn.role = "input_gradient"
// CHECK-NEXT: %[[DW:.+]] = nn.contract {{.*}}nn.role = "weight_gradient"{{.*}}partial = sum["mb"], held = "pp"[1]>>
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[DW]] {{.*}}partial = sum["mb"], held = "pp"[1]>> -> tensor<8x8xf32, #dist.placement<#mesh, [8, 8], held = "pp"[1]>>
// CHECK: %[[SENT:.+]] = dist.reshard %[[SUM]] {{.*}}[8, 8], held = "pp"[1]>> -> {{.*}}[8, 8], held = "pp"[0]>>
// CHECK-NEXT: nn.add %[[SENT]]
func.func @in_the_middle(%x: tensor<8x8xf32> {nn.name = "x", dist.placement = #rows}, %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32},
                         %v: tensor<8x8xf32> {nn.name = "v", nn.initial = 0.0 : f32})
    -> (tensor<8x8xf32> {nn.updates = "w"}, tensor<8x8xf32> {nn.updates = "v"}) {
  %h = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("first")
  %s = nn.log %h : tensor<8x8xf32>
  %t = nn.exp %s : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("second")
  %y = nn.contract %t, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = nn.contract %y, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dv = nn.contract %y, %z lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dy = nn.contract %z, %v lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %last = nn.contract %t, %dy lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dt = nn.contract %dy, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %ds = nn.mul %dt, %t {nn.role = "input_gradient"} : tensor<8x8xf32>
  %dh = nn.mul %ds, %h {nn.role = "input_gradient"} : tensor<8x8xf32>
  %first = nn.contract %x, %dh lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = nn.add %last, %first {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w1 = nn.sub %w, %dw {nn.role = "optimizer"} : tensor<8x8xf32>
  %v1 = nn.sub %v, %dv {nn.role = "optimizer"} : tensor<8x8xf32>
  return %w1, %v1 : tensor<8x8xf32>, tensor<8x8xf32>
}
}
