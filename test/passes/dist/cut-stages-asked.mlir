// RUN: weft-opt %s --split-input-file --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule=" --dist-verify-spmd | FileCheck %s
// RUN: weft-opt %s --split-input-file --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule= stages='layers.1.product|^b$'" 2>&1 | FileCheck %s --check-prefix=SAID

// A model's device configuration asks for stages of nodes: the cut is there, not where times would have it, and the rest follows.
// CHECK: module attributes
// CHECK-NOT: dist.node_stages
// CHECK: func.func @uneven
// CHECK: nn.contract {{.*}}held = "pp"[0]>>
// CHECK: nn.abs {{.*}}held = "pp"[0]>>
// CHECK: nn.contract {{.*}}held = "pp"[0]>>
// CHECK: nn.contract {{.*}}held = "pp"[0]>>
// CHECK-NEXT: dist.reshard
// CHECK-NEXT: nn.contract {{.*}}held = "pp"[1]>>
// What is said for this run wins, and a warning names the first node that is elsewhere.
// SAID: warning: --stages 'layers.1.product|^b$' puts it on stage 1 and overrules the model's device configuration, which asks for stage 0
module attributes {dist.node_stages = {layers.0.act = 0, layers.0.product = 0, layers.1.product = 0, layers.2.product = 0, layers.3.product = 1}} {
  func.func @uneven(%x: tensor<4096x1024xf32> {nn.name = "x"}, %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32})
      -> (tensor<4096x1024xf32> {nn.name = "y"}) {
    %0 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.0.product")
    %1 = nn.abs %0 : tensor<4096x1024xf32> loc("layers.0.act")
    %2 = nn.contract %1, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.1.product")
    %3 = nn.contract %2, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.2.product")
    %4 = nn.contract %3, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.3.product")
    return %4 : tensor<4096x1024xf32>
  }
}

// -----

// Stages may take turns: then only schedules with chunks in this order are looked at.
// CHECK: module attributes
// CHECK-SAME: dist.place = array<i64: 0, 1, 0, 1, 0, 1>
// CHECK-SAME: dist.schedule_reason = "interleaved:3 of 2 stages with 6 chunks
// CHECK: func.func @turns
module attributes {dist.node_stages = {a = 0, b = 1, c = 0, d = 1, e = 0, f = 1}} {
  func.func @turns(%x: tensor<64x64xf32> {nn.name = "x"}, %w: tensor<64x64xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<64x64xf32> {nn.name = "y"}) {
    %a = nn.add %x, %w : tensor<64x64xf32> loc("a")
    %b = nn.exp %a : tensor<64x64xf32> loc("b")
    %c = nn.exp %b : tensor<64x64xf32> loc("c")
    %d = nn.exp %c : tensor<64x64xf32> loc("d")
    %e = nn.exp %d : tensor<64x64xf32> loc("e")
    %f = nn.exp %e : tensor<64x64xf32> loc("f")
    return %f : tensor<64x64xf32>
  }
}
