// The published schemes come out by cost alone, on a transformer block with heads, a fused QKV and tp=2.
// RUN: weft-opt %s --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2,tp=2},dist-place{batch-axes=dp},dist-propagate,func.func(dist-assign-axis{axis=tp}),dist-insert-reshards,dist-partition,dist-simplify-collectives,dist-verify-spmd)" | FileCheck %s --check-prefix=PLAIN
// RUN: weft-opt %s --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2,tp=2},dist-place{batch-axes=dp rules=^x$=dim0:dp,dim1:tp},dist-propagate,func.func(dist-assign-axis{axis=tp sequence-parallel=true}),dist-insert-reshards,dist-partition,dist-simplify-collectives,dist-verify-spmd)" | FileCheck %s --check-prefix=SEQ

// Megatron-LM (Shoeybi et al., 2019): weights in column/row pairs, QKV on heads; two all_reduce of 2x8x24 f32.
// PLAIN: %arg3: tensor<24x36xf32, #dist.local<#mesh, [24, 3*24{"tp"}]>>
// PLAIN-SAME: %arg4: tensor<36xf32, #dist.local<#mesh, [3*24{"tp"}]>>
// PLAIN-SAME: %arg5: tensor<12x24xf32, #dist.local<#mesh, [24{"tp"}, 24]>>
// PLAIN-SAME: %arg7: tensor<24x48xf32, #dist.local<#mesh, [24, 96{"tp"}]>>
// PLAIN-SAME: %arg8: tensor<48x24xf32, #dist.local<#mesh, [96{"tp"}, 24]>>
// PLAIN-NOT: dist.{{all_|reduce_|slice}}
// PLAIN: dist.all_reduce {{.*}} ["tp"] accumulate f32 {{.*}} : tensor<2x8x24xf32,
// PLAIN-NOT: dist.{{all_|reduce_|slice}}
// PLAIN: dist.all_reduce {{.*}} ["tp"] accumulate f32 {{.*}} : tensor<2x8x24xf32,
// PLAIN-NOT: dist.{{all_|reduce_|slice}}
// PLAIN: return

// Korthikanti et al. (2022): norms and residuals split along the sequence; two all_gather and two reduce_scatter.
// SEQ: nn.layer_norm {{.*}} -> tensor<2x4x24xf32
// SEQ-NOT: dist.all_reduce
// SEQ: dist.all_gather {{.*}} ["tp"] dim 1 {{.*}} : tensor<2x4x24xf32,
// SEQ-NOT: dist.{{all_|reduce_}}
// SEQ: dist.reduce_scatter {{.*}} ["tp"] dim 1 accumulate f32 {{.*}} : tensor<2x8x24xf32,
// SEQ-NOT: dist.{{all_|reduce_}}
// SEQ: dist.all_gather {{.*}} ["tp"] dim 1 {{.*}} : tensor<2x4x24xf32,
// SEQ-NOT: dist.{{all_|reduce_}}
// SEQ: dist.reduce_scatter {{.*}} ["tp"] dim 1 accumulate f32 {{.*}} : tensor<2x8x24xf32,
// SEQ-NOT: dist.{{all_|reduce_}}
// SEQ: return {{.*}} : tensor<2x4x24xf32,
func.func @forward(%x: tensor<4x8x24xf32> {nn.name = "x"},
    %g1: tensor<24xf32> {nn.name = "ln1", nn.source = #nn.source<file = "", offset = 0, length = 96>},
    %b1: tensor<24xf32> {nn.name = "ln1b", nn.source = #nn.source<file = "", offset = 0, length = 96>},
    %qkv: tensor<24x72xf32> {nn.name = "qkv", nn.source = #nn.source<file = "", offset = 0, length = 6912>},
    %qkvb: tensor<72xf32> {nn.name = "qkvb", nn.source = #nn.source<file = "", offset = 0, length = 288>},
    %out: tensor<24x24xf32> {nn.name = "out", nn.source = #nn.source<file = "", offset = 0, length = 2304>},
    %outb: tensor<24xf32> {nn.name = "outb", nn.source = #nn.source<file = "", offset = 0, length = 96>},
    %up: tensor<24x96xf32> {nn.name = "up", nn.source = #nn.source<file = "", offset = 0, length = 9216>},
    %down: tensor<96x24xf32> {nn.name = "down", nn.source = #nn.source<file = "", offset = 0, length = 9216>})
    -> (tensor<4x8x24xf32> {nn.name = "y"}) {
  %n1 = nn.layer_norm %x, %g1, %b1 dim = 2 epsilon = 1.0e-5 : (tensor<4x8x24xf32>, tensor<24xf32>, tensor<24xf32>) -> tensor<4x8x24xf32>
  %0 = nn.contract %n1, %qkv lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x8x24xf32>, tensor<24x72xf32>) -> tensor<4x8x72xf32>
  %1 = nn.broadcast %qkvb dims = [2] : tensor<72xf32> -> tensor<4x8x72xf32>
  %2 = nn.add %0, %1 : (tensor<4x8x72xf32>, tensor<4x8x72xf32>) -> tensor<4x8x72xf32>
  %q0 = nn.slice %2 starts = [0, 0, 0] strides = [1, 1, 1] : tensor<4x8x72xf32> -> tensor<4x8x24xf32>
  %k0 = nn.slice %2 starts = [0, 0, 24] strides = [1, 1, 1] : tensor<4x8x72xf32> -> tensor<4x8x24xf32>
  %v0 = nn.slice %2 starts = [0, 0, 48] strides = [1, 1, 1] : tensor<4x8x72xf32> -> tensor<4x8x24xf32>
  %q1 = nn.reshape %q0 : tensor<4x8x24xf32> -> tensor<4x8x4x6xf32>
  %k1 = nn.reshape %k0 : tensor<4x8x24xf32> -> tensor<4x8x4x6xf32>
  %v1 = nn.reshape %v0 : tensor<4x8x24xf32> -> tensor<4x8x4x6xf32>
  %q = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<4x8x4x6xf32> -> tensor<4x4x8x6xf32>
  %k = nn.transpose %k1 permutation = [0, 2, 1, 3] : tensor<4x8x4x6xf32> -> tensor<4x4x8x6xf32>
  %v = nn.transpose %v1 permutation = [0, 2, 1, 3] : tensor<4x8x4x6xf32> -> tensor<4x4x8x6xf32>
  %a = nn.attention %q, %k, %v scale = 4.0e-1 {causal}
      : (tensor<4x4x8x6xf32>, tensor<4x4x8x6xf32>, tensor<4x4x8x6xf32>) -> tensor<4x4x8x6xf32>
  %3 = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<4x4x8x6xf32> -> tensor<4x8x4x6xf32>
  %4 = nn.reshape %3 : tensor<4x8x4x6xf32> -> tensor<4x8x24xf32>
  %5 = nn.contract %4, %out lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x8x24xf32>, tensor<24x24xf32>) -> tensor<4x8x24xf32>
  %6 = nn.broadcast %outb dims = [2] : tensor<24xf32> -> tensor<4x8x24xf32>
  %7 = nn.add %5, %6 : (tensor<4x8x24xf32>, tensor<4x8x24xf32>) -> tensor<4x8x24xf32>
  %8 = nn.add %x, %7 : (tensor<4x8x24xf32>, tensor<4x8x24xf32>) -> tensor<4x8x24xf32>
  %n2 = nn.layer_norm %8, %g1, %b1 dim = 2 epsilon = 1.0e-5 : (tensor<4x8x24xf32>, tensor<24xf32>, tensor<24xf32>) -> tensor<4x8x24xf32>
  %9 = nn.contract %n2, %up lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x8x24xf32>, tensor<24x96xf32>) -> tensor<4x8x96xf32>
  %10 = nn.gelu %9 : (tensor<4x8x96xf32>) -> tensor<4x8x96xf32>
  %11 = nn.contract %10, %down lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
      : (tensor<4x8x96xf32>, tensor<96x24xf32>) -> tensor<4x8x24xf32>
  %12 = nn.add %8, %11 : (tensor<4x8x24xf32>, tensor<4x8x24xf32>) -> tensor<4x8x24xf32>
  return %12 : tensor<4x8x24xf32>
}
