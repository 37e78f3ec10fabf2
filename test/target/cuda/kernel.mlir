// A kernel for the tests here, and PTX of it.
// RUN: rm -rf %t && mkdir %t
// RUN: weft-cuda-kernels %s cuda --ptx %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=PTX < %t/gelu.ptx
// Equal modules give equal bytes.
// RUN: mkdir %t/again
// RUN: weft-cuda-kernels %s cuda --ptx %t/again
// RUN: cmp %t/gelu.ptx.image %t/again/gelu.ptx.image
// REQUIRES: ptxas

// CHECK: 0 stack    0 spills {{.*}} 100.0 100.0 %   1.00 times  gelu
// CHECK: 1 kernels for cuda, {{[0-9]+}} bytes of code, 100.0 % wide in the least of the hot ones, 0 wrong

// PTX: .target sm_90
// PTX: .visible .entry gelu(
// PTX: .{{req|max}}ntid 256
// PTX: ld.global.nc.v4.b32
// PTX: st.global.v4.b32
func.func @gelu(%x: tensor<4096xbf16>) -> tensor<4096xbf16> {
  %0 = nn.gelu %x : (tensor<4096xbf16>) -> tensor<4096xbf16>
  return %0 : tensor<4096xbf16>
}
