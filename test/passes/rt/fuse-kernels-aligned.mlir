// RUN: weft-opt %s --rt-fuse-kernels | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: sed 's/weft.target = "cuda"//' %s | weft-opt --rt-fuse-kernels | FileCheck %s --check-prefixes=CHECK,CPU

module attributes {weft.target = "cuda"} {

// Where kernels read 16 bytes at a time, a routine is given nothing that starts in between: that is copied.
// CHECK-LABEL: func.func @parts
// CHECK: %[[EVEN:.+]] = nn.slice %{{.+}} starts = [4]
// CHECK: rt.call @double(%[[EVEN]])
// CHECK: %[[ODD:.+]] = nn.slice %{{.+}} starts = [3]
// CPU-NOT: rt.dense
// CPU: rt.call @double(%[[ODD]])
// GPU: %[[OWN:.+]] = rt.dense %[[ODD]]
// GPU: rt.call @double(%[[OWN]])
func.func @parts(%x: tensor<7xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = nn.slice %x starts = [4] strides = [1] : tensor<7xi64> -> tensor<3xi64>
  %1 = rt.call @double(%0) : (tensor<3xi64>) -> tensor<3xi64>
  %2 = nn.slice %x starts = [3] strides = [1] : tensor<7xi64> -> tensor<3xi64>
  %3 = rt.call @double(%2) : (tensor<3xi64>) -> tensor<3xi64>
  return %1, %3 : tensor<3xi64>, tensor<3xi64>
}

// The second part starts well in the whole, but not in the first, which is copied: so both are.
// CHECK-LABEL: func.func @nested
// GPU: %[[PARTS:.+]]:2 = rt.fusion kernel(%{{.+}} : tensor<8xi64>) -> (tensor<7xi64>, tensor<3xi64>)
// GPU: rt.call @double(%[[PARTS]]#1)
// GPU: rt.call @double7(%[[PARTS]]#0)
// CPU-NOT: rt.fusion
// CHECK: return
func.func @nested(%x: tensor<8xi64>) -> (tensor<3xi64>, tensor<7xi64>) {
  %0 = nn.slice %x starts = [1] strides = [1] : tensor<8xi64> -> tensor<7xi64>
  %1 = nn.slice %0 starts = [1] strides = [1] : tensor<7xi64> -> tensor<3xi64>
  %2 = rt.call @double(%1) : (tensor<3xi64>) -> tensor<3xi64>
  %3 = rt.call @double7(%0) : (tensor<7xi64>) -> tensor<7xi64>
  return %2, %3 : tensor<3xi64>, tensor<7xi64>
}
func.func private @double7(%x: tensor<7xi64>) -> tensor<7xi64> attributes {rt.routine} {
  %0 = nn.add %x, %x : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  return %0 : tensor<7xi64>
}
func.func private @double(%x: tensor<3xi64>) -> tensor<3xi64> attributes {rt.routine} {
  %0 = nn.add %x, %x : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
}
