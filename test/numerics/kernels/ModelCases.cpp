// Kernels that models are made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

namespace weft::test {

std::vector<KernelCase> modelFusions() {
  std::vector<KernelCase> cases;
  auto add = [&](const char *name, const char *text, std::vector<Range> ranges) {
    cases.push_back({name, text, std::move(ranges)});
  };
  add("residual and layer_norm", R"(
func.func @residual(%a: tensor<70x768xf32>, %b: tensor<70x768xf32>, %s: tensor<768xf32>, %t: tensor<768xf32>) -> (tensor<70x768xf32>, tensor<70x768xf32>) {
  %c = nn.add %a, %b : (tensor<70x768xf32>, tensor<70x768xf32>) -> tensor<70x768xf32>
  %r = nn.layer_norm %c, %s, %t dim = 1 epsilon = 1.0e-5 : (tensor<70x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<70x768xf32>
  return %c, %r : tensor<70x768xf32>, tensor<70x768xf32>
})",
      {});
  add("causal softmax", R"(
func.func @causal(%a: tensor<2x3x40x40xf32>, %m: tensor<40x40xi1>) -> tensor<2x3x40x40xf32> {
  %mm = nn.broadcast %m dims = [2, 3] : tensor<40x40xi1> -> tensor<2x3x40x40xi1>
  %low = nn.constant dense<-1.0e9> : tensor<2x3x40x40xf32> : tensor<2x3x40x40xf32>
  %b = nn.select %mm, %a, %low : (tensor<2x3x40x40xi1>, tensor<2x3x40x40xf32>, tensor<2x3x40x40xf32>) -> tensor<2x3x40x40xf32>
  %r = nn.softmax %b dim = 3 : (tensor<2x3x40x40xf32>) -> tensor<2x3x40x40xf32>
  return %r : tensor<2x3x40x40xf32>
})",
      {});
  add("split heads of a fused projection, with bias and rope", R"(
func.func @heads(%a: tensor<2x10x96xf32>, %b: tensor<96xf32>, %c: tensor<10x8xf32>, %s: tensor<10x8xf32>) -> (tensor<2x2x10x16xf32>, tensor<2x2x10x16xf32>) {
  %bb = nn.broadcast %b dims = [2] : tensor<96xf32> -> tensor<2x10x96xf32>
  %d = nn.add %a, %bb : (tensor<2x10x96xf32>, tensor<2x10x96xf32>) -> tensor<2x10x96xf32>
  %e = nn.reshape %d : tensor<2x10x96xf32> -> tensor<2x10x3x2x16xf32>
  %q = nn.slice %e starts = [0, 0, 0, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x10x3x2x16xf32> -> tensor<2x10x1x2x16xf32>
  %k = nn.slice %e starts = [0, 0, 1, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x10x3x2x16xf32> -> tensor<2x10x1x2x16xf32>
  %q1 = nn.reshape %q : tensor<2x10x1x2x16xf32> -> tensor<2x10x2x16xf32>
  %k1 = nn.reshape %k : tensor<2x10x1x2x16xf32> -> tensor<2x10x2x16xf32>
  %q2 = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<2x10x2x16xf32> -> tensor<2x2x10x16xf32>
  %k2 = nn.transpose %k1 permutation = [0, 2, 1, 3] : tensor<2x10x2x16xf32> -> tensor<2x2x10x16xf32>
  %cc = nn.broadcast %c dims = [2, 3] : tensor<10x8xf32> -> tensor<2x2x10x8xf32>
  %ss = nn.broadcast %s dims = [2, 3] : tensor<10x8xf32> -> tensor<2x2x10x8xf32>
  %q3 = nn.rope %q2, %cc, %ss : (tensor<2x2x10x16xf32>, tensor<2x2x10x8xf32>, tensor<2x2x10x8xf32>) -> tensor<2x2x10x16xf32>
  %k3 = nn.rope %k2, %cc, %ss {interleaved} : (tensor<2x2x10x16xf32>, tensor<2x2x10x8xf32>, tensor<2x2x10x8xf32>) -> tensor<2x2x10x16xf32>
  return %q3, %k3 : tensor<2x2x10x16xf32>, tensor<2x2x10x16xf32>
})",
      {});
  add("embeddings", R"(
func.func @embed(%t: tensor<50x64xf32>, %p: tensor<30x64xf32>, %i: tensor<3x20x1xi64>) -> tensor<3x20x64xf32> {
  %e = nn.gather %t, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<50x64xf32>, tensor<3x20x1xi64>) -> tensor<3x20x64xf32>
  %q = nn.slice %p starts = [0, 0] strides = [1, 1] : tensor<30x64xf32> -> tensor<20x64xf32>
  %qq = nn.broadcast %q dims = [1, 2] : tensor<20x64xf32> -> tensor<3x20x64xf32>
  %r = nn.add %e, %qq : (tensor<3x20x64xf32>, tensor<3x20x64xf32>) -> tensor<3x20x64xf32>
  return %r : tensor<3x20x64xf32>
})",
      {{}, {}, {-2, 52}});
  add("cross entropy and its gradient", R"(
func.func @loss(%x: tensor<33x100xf32>, %y: tensor<33x1xi64>) -> (tensor<33xf32>, tensor<33x100xf32>) {
  %l = nn.softmax %x dim = 1 {log} : (tensor<33x100xf32>) -> tensor<33x100xf32>
  %i = nn.iota : tensor<33xi64>
  %i1 = nn.reshape %i : tensor<33xi64> -> tensor<33x1xi64>
  %at = nn.concat %i1, %y dim = 1 : (tensor<33x1xi64>, tensor<33x1xi64>) -> tensor<33x2xi64>
  %p = nn.gather %l, %at indexed = [0, 1] operand_batch = [] indices_batch = [] : (tensor<33x100xf32>, tensor<33x2xi64>) -> tensor<33xf32>
  %n = nn.negate %p : (tensor<33xf32>) -> tensor<33xf32>
  %e = nn.exp %l : (tensor<33x100xf32>) -> tensor<33x100xf32>
  %c = nn.iota : tensor<100xi64>
  %cc = nn.broadcast %c dims = [1] : tensor<100xi64> -> tensor<33x100xi64>
  %y1 = nn.reshape %y : tensor<33x1xi64> -> tensor<33xi64>
  %yy = nn.broadcast %y1 dims = [0] : tensor<33xi64> -> tensor<33x100xi64>
  %hit = nn.compare eq %cc, %yy : (tensor<33x100xi64>, tensor<33x100xi64>) -> tensor<33x100xi1>
  %one = nn.cast %hit : (tensor<33x100xi1>) -> tensor<33x100xf32>
  %g = nn.sub %e, %one : (tensor<33x100xf32>, tensor<33x100xf32>) -> tensor<33x100xf32>
  return %n, %g : tensor<33xf32>, tensor<33x100xf32>
})",
      {{-9, 9}, {0, 99}});
  add("column sums of a product", R"(
func.func @columns(%g: tensor<70x600xf32>, %x: tensor<70x600xf32>) -> (tensor<600xf32>, tensor<600xf32>) {
  %p = nn.mul %g, %x : (tensor<70x600xf32>, tensor<70x600xf32>) -> tensor<70x600xf32>
  %a = nn.reduce sum %p dims = [0] : tensor<70x600xf32> -> tensor<600xf32>
  %b = nn.reduce sum %g dims = [0] : tensor<70x600xf32> -> tensor<600xf32>
  return %a, %b : tensor<600xf32>, tensor<600xf32>
})",
      {{0.1, 1}});
  add("elementwise around a column sum", R"(
func.func @update(%g: tensor<40x300xf32>, %w: tensor<300xf32>) -> tensor<300xf32> {
  %b = nn.reduce sum %g dims = [0] : tensor<40x300xf32> -> tensor<300xf32>
  %t = nn.tanh %b : (tensor<300xf32>) -> tensor<300xf32>
  %r = nn.sub %w, %t : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  return %r : tensor<300xf32>
})",
      {});
  add("gelu into a product", R"(
func.func @mlp(%x: tensor<9x40xf32>, %w: tensor<40x30xf32>) -> tensor<9x30xf32> {
  %h = nn.gelu %x : (tensor<9x40xf32>) -> tensor<9x40xf32>
  %r = nn.contract %h, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<9x40xf32>, tensor<40x30xf32>) -> tensor<9x30xf32>
  %s = nn.silu %r : (tensor<9x30xf32>) -> tensor<9x30xf32>
  return %s : tensor<9x30xf32>
})",
      {});
  add("the tail of gelu, a hundredth of whose operand has more than its digits", R"(
func.func @tail(%x: tensor<3x50xf32>) -> (tensor<3x50xf32>, tensor<3x50xf32>) {
  %c = nn.constant dense<100.0> : tensor<3x50xf32> : tensor<3x50xf32>
  %e = nn.gelu %x : (tensor<3x50xf32>) -> tensor<3x50xf32>
  %t = nn.gelu %x {tanh} : (tensor<3x50xf32>) -> tensor<3x50xf32>
  %a = nn.mul %e, %c : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>
  %b = nn.mul %t, %c : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>
  %r = nn.add %x, %a : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>
  %s = nn.add %x, %b : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>
  return %r, %s : tensor<3x50xf32>, tensor<3x50xf32>
})",
      {{-12, -2}});
  add("a chain in bf16 rounds at every op", R"(
func.func @rounding(%x: tensor<5x70xbf16>, %y: tensor<5x70xbf16>) -> tensor<5x70xbf16> {
  %a = nn.mul %x, %y : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  %b = nn.add %a, %x : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  %c = nn.mul %b, %b : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  return %c : tensor<5x70xbf16>
})",
      {});
  add("routing", R"(
func.func @route(%x: tensor<37x8xf32>) -> (tensor<37x2xf32>, tensor<37x2xi64>) {
  %p = nn.softmax %x dim = 1 : (tensor<37x8xf32>) -> tensor<37x8xf32>
  %v, %i = nn.top_k %p dim = 1 : (tensor<37x8xf32>) -> (tensor<37x2xf32>, tensor<37x2xi64>)
  %s = nn.reduce sum %v dims = [1] : tensor<37x2xf32> -> tensor<37xf32>
  %ss = nn.broadcast %s dims = [0] : tensor<37xf32> -> tensor<37x2xf32>
  %r = nn.div %v, %ss : (tensor<37x2xf32>, tensor<37x2xf32>) -> tensor<37x2xf32>
  return %r, %i : tensor<37x2xf32>, tensor<37x2xi64>
})",
      {});
  add("one value read twice and returned twice", R"(
func.func @twice(%x: tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %a = nn.exp %x : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %t = nn.transpose %a permutation = [1, 0] : tensor<6x6xf32> -> tensor<6x6xf32>
  return %a, %t, %a, %x : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
})",
      {});
  add("single elements that are results and read again", R"(
func.func @again(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %a = nn.gelu %x : (tensor<1xf32>) -> tensor<1xf32>
  %b = nn.max %a, %x : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %c = nn.tanh %b : (tensor<1xf32>) -> tensor<1xf32>
  %d = nn.reshape %a : tensor<1xf32> -> tensor<1xf32>
  %e = nn.slice %b starts = [0] strides = [1] : tensor<1xf32> -> tensor<1xf32>
  return %d, %c, %e : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
})",
      {});
  add("a row too long for the stack", R"(
func.func @long(%x: tensor<2x400000xf32>) -> tensor<2x400000xf32> {
  %a = nn.softmax %x dim = 1 : (tensor<2x400000xf32>) -> tensor<2x400000xf32>
  %r = nn.tanh %a : (tensor<2x400000xf32>) -> tensor<2x400000xf32>
  return %r : tensor<2x400000xf32>
})",
      {});
  add("nothing to do", R"(
func.func @nothing(%x: tensor<0x5xf32>, %y: tensor<3x0xf32>) -> (tensor<0x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = nn.exp %x : (tensor<0x5xf32>) -> tensor<0x5xf32>
  %b = nn.reduce sum %y dims = [1] : tensor<3x0xf32> -> tensor<3xf32>
  %c = nn.reduce max %y dims = [1] : tensor<3x0xf32> -> tensor<3xf32>
  return %a, %b, %c : tensor<0x5xf32>, tensor<3xf32>, tensor<3xf32>
})",
      {});
  add("sums of groups of rows beside what they are sums of", R"(
func.func @row_groups(%g: tensor<3x128x96xf32>, %x: tensor<3x128x96xf32>) -> (tensor<3x4x96xf32>, tensor<3x128xf32>, tensor<3x128x96xf32>, tensor<3x4x96xf32>) {
  %p = nn.mul %g, %x : (tensor<3x128x96xf32>, tensor<3x128x96xf32>) -> tensor<3x128x96xf32>
  %pp = nn.reshape %p : tensor<3x128x96xf32> -> tensor<3x4x32x96xf32>
  %a = nn.reduce sum %pp dims = [2] : tensor<3x4x32x96xf32> -> tensor<3x4x96xf32>
  %s = nn.reduce sum %p dims = [2] : tensor<3x128x96xf32> -> tensor<3x128xf32>
  %ss = nn.broadcast %s dims = [0, 1] : tensor<3x128xf32> -> tensor<3x128x96xf32>
  %d = nn.sub %g, %ss : (tensor<3x128x96xf32>, tensor<3x128x96xf32>) -> tensor<3x128x96xf32>
  %dd = nn.reshape %d : tensor<3x128x96xf32> -> tensor<3x4x32x96xf32>
  %b = nn.reduce sum %dd dims = [2] : tensor<3x4x32x96xf32> -> tensor<3x4x96xf32>
  return %a, %s, %d, %b : tensor<3x4x96xf32>, tensor<3x128xf32>, tensor<3x128x96xf32>, tensor<3x4x96xf32>
})",
      {{0.1, 1}});
  add("sums of groups of rows, by columns", R"(
func.func @wide_groups(%g: tensor<64x1100xf32>) -> (tensor<64x1100xf32>, tensor<4x1100xf32>) {
  %p = nn.exp %g : (tensor<64x1100xf32>) -> tensor<64x1100xf32>
  %pp = nn.reshape %p : tensor<64x1100xf32> -> tensor<4x16x1100xf32>
  %a = nn.reduce sum %pp dims = [1] : tensor<4x16x1100xf32> -> tensor<4x1100xf32>
  return %p, %a : tensor<64x1100xf32>, tensor<4x1100xf32>
})",
      {{0.1, 1}});
  return cases;
}

} // namespace weft::test
