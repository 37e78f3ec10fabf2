// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp microbatches=8" --dist-insert-reshards "--dist-cut-stages=schedule=" | FileCheck %s

// Where no weight has a gradient none can fill the bubble, and all that hides transfers takes as long: all forward passes first, and three
// before the first that goes back. The latter keeps what three microbatches have made, the former that of all.
// CHECK: dist.schedule_reason = "zb-h2 of 2 stages: ranks idle {{[0-9.]+}} % of a step, {{[0-9.]+}} % of their own time; others by modelled times: gpipe +0.0 %
func.func @back(%x: tensor<4096x1024xf32> {nn.name = "x"}, %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32},
                %v: tensor<1024x1024xf32> {nn.name = "v", nn.initial = 0.0 : f32}) -> (tensor<4096x1024xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  %1 = nn.contract %0, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  %2 = nn.mul %1, %1 {nn.role = "input_gradient"} : tensor<4096x1024xf32>
  %3 = nn.contract %2, %v lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  %4 = nn.mul %3, %0 {nn.role = "input_gradient"} : tensor<4096x1024xf32>
  %5 = nn.contract %4, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  return %5 : tensor<4096x1024xf32>
}
