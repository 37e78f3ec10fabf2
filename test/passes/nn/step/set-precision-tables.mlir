// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=bf16}))' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=f16}))' | FileCheck %s --check-prefix=F16

// Tables are rounded to nearest, halfway to even (1 + 2^-8, 1 + 3 * 2^-8, and 1 + 2^-8 with one bit more), to the
// largest number where they are finite and too large, and to zero; what is infinite or none stays it.
// CHECK: nn.constant dense<[1.000000e+00, 1.015630e+00, -1.007810e+00, 3.389530e+38, -3.389530e+38, 3.389530e+38, 0.000000e+00, -0.000000e+00, 9.183550e-41, 0x7F80, 0xFF80, 0x7FC0]> : tensor<12xbf16>
// F16: nn.constant dense<[1.003910e+00, 1.011720e+00, -1.003910e+00, 6.550400e+04, -6.550400e+04, 6.550400e+04, 0.000000e+00, -0.000000e+00, 0.000000e+00, 0x7C00, 0xFC00, 0x7E00]> : tensor<12xf16>
func.func @forward(%x: tensor<12xf32> {nn.name = "x"}) -> tensor<12xf32> {
  %table = nn.constant dense<[0x3F808000, 0x3F818000, 0xBF808001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F7F8000, 0x00000001, 0x80000001,
                              0x00010000, 0x7F800000, 0xFF800000, 0x7FC00001]> : tensor<12xf32> : tensor<12xf32>
  %0 = nn.mul %x, %table : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
