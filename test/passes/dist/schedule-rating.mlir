// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards "--dist-cut-stages=schedule=" | FileCheck %s --check-prefix=ONE
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule=" | FileCheck %s --check-prefix=EIGHT
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule= stages=blocks:1,1,1,1" | FileCheck %s --check-prefix=FOUR
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards --dist-cut-stages=schedule=zb-h1 | FileCheck %s --check-prefix=ASKED
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule= stages=blocks:1,1,2" 2>&1 | FileCheck %s --check-prefix=THREE

// Four equal blocks. One microbatch runs through the stages one after the other, however many chunks there are: the simplest schedule is as good as any.
// ONE: dist.schedule = "weft schedule 1\0Aranks 2  chunks 2  microbatches 1\0A
// ONE-SAME: dist.schedule_reason = "gpipe of 2 stages: ranks idle 5{{[0-9.]+}} % of a step, {{[0-9.]+}} % of their own time; others by modelled times: 1f1b +0.0 %,

// Of eight the bubble is half as long where each stage has two chunks; without gradients all orders are alike.
// EIGHT: dist.place = array<i64: 0, 1, 0, 1>
// EIGHT-SAME: dist.schedule_reason = "interleaved:2 of 2 stages with 4 chunks: ranks idle {{[0-9.]+}} % of a step, {{[0-9.]+}} % of their own time; others by modelled times: {{.*}}gpipe +{{[1-9]}}

// A cut by hand says how many chunks there are; only schedules of so many are looked at.
// FOUR: dist.schedule_reason = "{{(interleaved:2|zb-v|dualpipev)}} of 2 stages with 4 chunks:
// FOUR-NOT: {{gpipe|1f1b|zb-h}}
// THREE: error: --stages says of 3 chunks how many blocks each has, but there are 2

// One that is asked for is told alone.
// ASKED: dist.schedule_reason = "zb-h1 of 2 stages: ranks idle {{[0-9.]+}} % of a step, {{[0-9.]+}} % of their own time"
func.func @four(%x: tensor<4096x1024xf32> {nn.name = "x"}, %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<4096x1024xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.0.product")
  %1 = nn.abs %0 : tensor<4096x1024xf32> loc("layers.0.act")
  %2 = nn.contract %1, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.1.product")
  %3 = nn.abs %2 : tensor<4096x1024xf32> loc("layers.1.act")
  %4 = nn.contract %3, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.2.product")
  %5 = nn.abs %4 : tensor<4096x1024xf32> loc("layers.2.act")
  %6 = nn.contract %5, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("layers.3.product")
  %7 = nn.abs %6 : tensor<4096x1024xf32> loc("layers.3.act")
  return %7 : tensor<4096x1024xf32>
}
