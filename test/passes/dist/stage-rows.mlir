// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=2" --dist-insert-reshards "--dist-cut-stages=schedule=interleaved:2 stages='b;sum;d'" | tr '{' '\n' | FileCheck %s

// A row for each chunk; stage 0 has chunks 0 and 2. What the first makes is read in all others: stage 1 gets it for chunk 1, and has it then
// for chunk 3; chunk 2 is on the stage that made it. A tied weight counts on both stages that hold it, and in each chunk that reads it.
// CHECK: dist.chunk_rows = [
// CHECK-NEXT: bytes_in = 0 : i64, first = "a", forward = [[A:[0-9.E+-]+]] : f64, gradient_bytes = 0 : i64, in_flight = 1 : i64, last = "a", optimizer_bytes = 0 : i64, other_bytes = 0 : i64, parameter_bytes = 4096 : i64, parameters = 1024 : i64, stage = 0 : i64, weight = 0.0
// CHECK-NEXT: bytes_in = 16384 : i64, first = "b",{{.*}} last = "act",{{.*}} parameter_bytes = 4096 : i64, parameters = 1024 : i64, stage = 1 : i64
// CHECK-NEXT: bytes_in = 16384 : i64, first = "sum",{{.*}} last = "c",{{.*}} parameter_bytes = 4096 : i64, parameters = 1024 : i64, stage = 0 : i64
// CHECK-NEXT: bytes_in = 16384 : i64, first = "d",{{.*}} last = "e",{{.*}} parameters = 1024 : i64, stage = 1 : i64
func.func @skips(%x: tensor<128x32xf32> {nn.name = "x"}, %v: tensor<32x32xf32> {nn.name = "v", nn.initial = 0.0 : f32},
                 %w: tensor<32x32xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<128x32xf32> {nn.name = "y"}) {
  %a = nn.contract %x, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<128x32xf32> loc("a")
  %b = nn.contract %a, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<128x32xf32> loc("b")
  %b2 = nn.abs %b : tensor<128x32xf32> loc("act")
  %s = nn.add %b2, %a : tensor<128x32xf32> loc("sum")
  %c = nn.contract %s, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<128x32xf32> loc("c")
  %d = nn.contract %c, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<128x32xf32> loc("d")
  %e = nn.add %d, %a : tensor<128x32xf32> loc("e")
  return %e : tensor<128x32xf32>
}
