// Microbatches become loops that add up gradients (Inputs/mlp-adamw.mlir).
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=4},dist-place{batch-axes=dp},dist-propagate,dist-place-state{},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=DDP
// RUN: weft-opt %S/Inputs/mlp-adamw.mlir --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=4},dist-place{batch-axes=dp},dist-propagate,dist-place-state{slots=sharded gradients=sharded parameters=sharded},dist-share-state,dist-insert-reshards,dist-verify-spmd,dist-partition,dist-simplify-collectives,cse,dist-verify-spmd,dist-form-loops,dist-verify-spmd)" | FileCheck %s --check-prefix=ZERO3

// Gradients are added up on every device and reduced once, after the loop.
// DDP-LABEL: func.func @step
// DDP: %[[SUMS:.+]]:4 = dist.repeat "mb" {
// DDP: dist.slice %arg{{.*}} ["mb"] dim 0 {{.*}} -> tensor<1x12xf32, #dist.local<#mesh, [8{"dp","mb"}, 12]>>
// DDP-NOT: dist.all_reduce
// DDP: dist.accumulate {{.*}} in [f32, f32, f32, f32]
// DDP: dist.all_reduce %[[SUMS]]#1 ["dp"] {{.*}} -> tensor<10x6xf32,
// DDP-LABEL: func.func @eval
// DDP: dist.repeat "mb"

// Parameters are gathered and gradients scattered in every microbatch.
// ZERO3-LABEL: func.func @step
// ZERO3-NOT: dist.all_gather
// ZERO3: dist.repeat "mb" {
// ZERO3: dist.all_gather %arg0 ["dp"]
// ZERO3: dist.reduce_scatter {{.*}} ["dp"] {{.*}}dist.step_part = "microbatch"
// ZERO3: dist.accumulate {{.*}} tensor<5x6xf32, #dist.local<#mesh, [10{"dp"}, 6], partial = sum["mb"]>>
// ZERO3: return
