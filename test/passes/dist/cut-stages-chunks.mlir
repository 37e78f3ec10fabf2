// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=schedule=zb-v --dist-verify-spmd | FileCheck %s
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=schedule=interleaved:2 --dist-verify-spmd | FileCheck %s --check-prefix=ROUND

// Four products in four chunks. There and back, the first and the last chunk are on stage 0, the two between on stage 1: two
// values cross. The weight that the first and the last read is held once. Round and round, each chunk is on another stage than
// the one before, and three values cross.
// CHECK: module attributes {{{.*}}dist.mesh = #mesh, dist.place = array<i64: 0, 1, 1, 0>, dist.schedule = "{{.*}}place 0 1 1 0\0A
// CHECK-LABEL: func.func @four
// CHECK-SAME: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w"}
// CHECK-SAME: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[1]>> {nn.initial = 0.000000e+00 : f32, nn.name = "v"}
// ROUND: dist.place = array<i64: 0, 1, 0, 1>
// ROUND-SAME: dist.schedule = "{{.*}}place 0 1 0 1\0A
func.func @four(%x: tensor<256x1024xf32> {nn.name = "x"}, %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32},
                %v: tensor<1024x1024xf32> {nn.name = "v", nn.initial = 0.0 : f32}) -> (tensor<1024x1024xf32> {nn.updates = "w"}) {
  // CHECK: nn.exp {{.*}}dist.chunks = array<i64: 0>
  %s = nn.exp %x : tensor<256x1024xf32>
  // CHECK: nn.contract {{.*}}dist.chunks = array<i64: 0>{{.*}}held = "pp"[0]>>
  // CHECK: dist.reshard {{.*}}held = "pp"[0]>> -> {{.*}}held = "pp"[1]>>
  // CHECK: nn.contract {{.*}}dist.chunks = array<i64: 1>{{.*}}held = "pp"[1]>>
  // CHECK-NEXT: nn.contract {{.*}}dist.chunks = array<i64: 2>{{.*}}held = "pp"[1]>>
  // CHECK: dist.reshard {{.*}}held = "pp"[1]>> -> {{.*}}held = "pp"[0]>>
  // CHECK: nn.contract {{.*}}dist.chunks = array<i64: 3>{{.*}}held = "pp"[0]>>
  // ROUND-COUNT-3: dist.reshard
  %0 = nn.contract %s, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %1 = nn.contract %0, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %2 = nn.contract %1, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %3 = nn.contract %2, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // A gradient is of the chunk whose activation it reads.
  // CHECK: nn.contract {{.*}}dist.chunks = array<i64: 3>, nn.role = "weight_gradient"
  %4 = nn.contract %2, %3 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  // What runs once a step is of no chunk that matters: the optimizer is where its state is.
  // CHECK: nn.sub {{.*}}nn.role = "optimizer"{{.*}}held = "pp"[0]>>
  %5 = nn.sub %w, %4 {nn.role = "optimizer"} : tensor<1024x1024xf32>
  return %5 : tensor<1024x1024xf32>
}
