// RUN: weft-opt %s --split-input-file --dist-attach-mesh="mesh=pp=3 stages=pp" --dist-insert-reshards --dist-cut-stages --dist-verify-spmd -o %t.mlir 2>&1 | FileCheck %s --check-prefix=TOLD
// RUN: FileCheck %s < %t.mlir

// What a model asks for is a hint: what cannot be is told, and the model is cut as without.
// CHECK-LABEL: func.func @back
// CHECK: nn.add {{.*}}held = "pp"[0]>>
// CHECK: nn.exp {{.*}}held = "pp"[1]>>
// CHECK: nn.log {{.*}}held = "pp"[2]>>
module attributes {dist.node_stages = {a = 1, c = 0}} {
  func.func @back(%x: tensor<64x64xf32> {nn.name = "x"}, %w: tensor<64x64xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<64x64xf32> {nn.name = "y"}) {
    %a = nn.add %x, %w : tensor<64x64xf32> loc("a")
    %b = nn.exp %a : tensor<64x64xf32> loc("b")
// TOLD: warning: the model's device configuration asks for stage 0 here, behind 'a' of stage 1, but the chunks of the model are on stages 0, 1, 2, in this order: its stages are not used
    %c = nn.log %b : tensor<64x64xf32> loc("c")
    return %c : tensor<64x64xf32>
  }
}

// -----

// Stage 1 would have nothing to do.
// CHECK-LABEL: func.func @skipped
// CHECK: nn.add {{.*}}held = "pp"[0]>>
// CHECK: nn.exp {{.*}}held = "pp"[1]>>
// CHECK: nn.log {{.*}}held = "pp"[2]>>
module attributes {dist.node_stages = {a = 0, b = 2, c = 2}} {
  func.func @skipped(%x: tensor<64x64xf32> {nn.name = "x"}, %w: tensor<64x64xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<64x64xf32> {nn.name = "y"}) {
    %a = nn.add %x, %w : tensor<64x64xf32> loc("a")
// TOLD: warning: the model's device configuration asks for stage 2 here, and with its other stages leaves some chunk without a node, but the chunks of the model are on stages 0, 1, 2, in this order: its stages are not used
    %b = nn.exp %a : tensor<64x64xf32> loc("b")
    %c = nn.log %b : tensor<64x64xf32> loc("c")
    return %c : tensor<64x64xf32>
  }
}
