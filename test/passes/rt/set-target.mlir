// RUN: weft-opt %s --rt-set-target | FileCheck %s
// RUN: not weft-opt %s --rt-set-target=target=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The default is said by saying nothing; test/target/toy has another.
// CHECK-NOT: weft.target
// CHECK: func.func @forward
// UNKNOWN: error: the program is for target 'tpu', which is not one of: cpu
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
