// Data parallelism and the ZeRO stages come from where state is stored (Inputs/mlp-adamw.mlir).
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=1},dist-place{batch-axes=dp},dist-propagate,dist-place-state{},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=DDP
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=1},dist-place{batch-axes=dp},dist-propagate,dist-place-state{slots=sharded},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=ZERO1
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=1},dist-place{batch-axes=dp},dist-propagate,dist-place-state{slots=sharded gradients=sharded parameters=sharded},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=ZERO3
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2x2 microbatches=1},dist-place{batch-axes=dp},dist-propagate,dist-place-state{axis=dp.1 slots=sharded gradients=sharded parameters=sharded},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=HSDP
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=4 microbatches=1},dist-place{batch-axes=dp},dist-propagate,dist-place-state{slots=sharded parameters=sharded},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=UNEVEN

// Each gradient is reduced once; nothing else moves but the loss.
// DDP-LABEL: func.func @step
// DDP-NOT: dist.{{all_gather|reduce_scatter|slice}}
// DDP: dist.all_reduce {{.*}} -> tensor<f32,
// DDP: dist.all_reduce {{.*}} -> tensor<10x6xf32,
// DDP: dist.all_reduce {{.*}} -> tensor<10xf32,
// DDP: dist.all_reduce {{.*}} -> tensor<12x10xf32,
// DDP-NOT: dist.{{all_|reduce_}}
// DDP-LABEL: func.func @eval

// Gradients are scattered, the optimizer works on shards, new parameters are gathered; the squares of all gradients meet in
// one all_reduce. Slots of both programs' parameters are where the parameter says.
// ZERO1-LABEL: func.func @step
// ZERO1-SAME: %arg0: tensor<12x10xf32, #dist.local<#mesh, [12, 10]>> {nn.name = "w1"
// ZERO1-SAME: tensor<6x10xf32, #dist.local<#mesh, [12{"dp"}, 10]>> {nn.class = "optimizer", nn.initial = 0.000000e+00 : f32, nn.name = "w1#exp_avg"
// ZERO1: dist.all_reduce {{.*}} -> tensor<f32,
// ZERO1: dist.reduce_scatter {{.*}} ["dp"] dim 0 {{.*}} -> tensor<5x6xf32,
// ZERO1: dist.reduce_scatter {{.*}} ["dp"] dim 0 {{.*}} -> tensor<5xf32,
// ZERO1: dist.reduce_scatter {{.*}} ["dp"] dim 0 {{.*}} -> tensor<6x10xf32,
// ZERO1-NOT: dist.{{all_|reduce_}}
// ZERO1: dist.all_reduce {{.*}} -> tensor<f32,
// ZERO1-NOT: dist.{{all_|reduce_}}
// ZERO1: dist.all_gather {{.*}} -> tensor<12x10xf32,
// ZERO1: dist.all_gather {{.*}} -> tensor<10xf32,
// ZERO1: dist.all_gather {{.*}} -> tensor<10x6xf32,
// ZERO1-NOT: dist.{{all_|reduce_}}
// ZERO1-LABEL: func.func @eval
// ZERO1-SAME: %arg0: tensor<12x10xf32, #dist.local<#mesh, [12, 10]>>

// Parameters are gathered for the forward ops, and again for the gradient ops that read them; no new parameter is.
// ZERO3-LABEL: func.func @step
// ZERO3-SAME: %arg0: tensor<6x10xf32, #dist.local<#mesh, [12{"dp"}, 10]>> {nn.name = "w1"
// ZERO3: dist.all_gather %arg0 {{.*}}dist.step_part = "forward"
// ZERO3: dist.all_gather %arg1 {{.*}}dist.step_part = "forward"
// ZERO3: dist.all_gather %arg2 {{.*}}dist.step_part = "forward"
// ZERO3: dist.reduce_scatter {{.*}} -> tensor<5x6xf32,
// ZERO3: dist.all_gather %arg2 {{.*}}dist.step_part = "backward"
// ZERO3: dist.reduce_scatter {{.*}} -> tensor<5xf32,
// ZERO3: dist.reduce_scatter {{.*}} -> tensor<6x10xf32,
// ZERO3-NOT: dist.all_gather
// ZERO3-LABEL: func.func @eval
// ZERO3-SAME: %arg0: tensor<6x10xf32, #dist.local<#mesh, [12{"dp"}, 10]>>
// ZERO3: dist.all_gather %arg0

// Shards within dp.1, whole copies across dp.0.
// HSDP-LABEL: func.func @step
// HSDP-SAME: %arg0: tensor<6x10xf32, #dist.local<#mesh, [12{"dp.1"}, 10]>>
// HSDP: dist.all_gather %arg0 ["dp.1"]

// Ten rows on four devices: three each, and padding that no norm sees.
// UNEVEN-LABEL: func.func @step
// UNEVEN: dist.reduce_scatter {{.*}} -> tensor<3x6xf32, #dist.local<#mesh, [10{"dp"}, 6]
// UNEVEN: dist.mask {{.*}} padding = sum
