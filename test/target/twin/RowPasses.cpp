// Texts of kernels over [groups, rows, size]: a block has a group, a warp a row at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowPasses.h"

#include "../../numerics/kernels/OpCases.h"

#include <map>

namespace weft::test {

namespace {
constexpr int64_t kGroups = 2;

/// What stands for `$letter` in a text.
using Words = std::map<char, std::string>;

/// Of %x and %y: %a and %b in f32; of %a what remains, %d, of its rows of %n numbers when the mean
/// is taken off, and %w, the variance.
constexpr char kVariance[] = R"(%a = nn.cast %x : ($x) -> $f
  %b = nn.cast %y : ($y) -> $f
  %m = nn.reduce sum %a dims = [2] : $f -> $r
  %n = nn.constant dense<$s.0> : $r : $r
  %mean = nn.div %m, %n : $r
  %means = nn.broadcast %mean dims = [0, 1] : $r -> $f
  %d = nn.sub %a, %means : $f
  %q = nn.mul %d, %d : $f
  %v = nn.reduce sum %q dims = [2] : $f -> $r
  %w = nn.div %v, %n : $r
)";
} // namespace

static std::string fill(const char *text, const Words &words) {
  std::string filled;
  for (; *text; ++text)
    filled += *text == '$' ? words.at(*++text) : std::string(1, *text);
  return filled;
}

/// $f, $r, $c: f32 of all, of a number for each row, and for each column; $s: the size.
static Words wordsOf(const std::string &name, int64_t rows, int64_t size) {
  return {{'n', name + "_" + std::to_string(rows) + "_" + std::to_string(size)},
          {'f', CaseBuilder::type({kGroups, rows, size}, "f32")},
          {'r', CaseBuilder::type({kGroups, rows}, "f32")},
          {'c', CaseBuilder::type({kGroups, size}, "f32")},
          {'s', std::to_string(size)}};
}

static std::string all(int64_t rows, int64_t size, const std::string &element) {
  return CaseBuilder::type({kGroups, rows, size}, element);
}

/// Sums of what was rounded to 16 bits differ where one rounding does.
static double slackOf(const std::string &element) {
  return element == "bf16" || element == "f16" ? 400 : 4;
}

static KernelCase rowsAndColumns(int64_t rows, int64_t size, const std::string &element) {
  Words words = wordsOf("rows_and_columns_" + element, rows, size);
  words['x'] = words['y'] = all(rows, size, element);
  words['A'] = fill(kVariance, words);
  return {words['n'],
          fill(R"(func.func @$n(%x: $x, %y: $x) -> ($x, $c, $c) {
$A  %one = nn.constant dense<1.0> : $r : $r
  %u = nn.add %w, %one : $r
  %s = nn.rsqrt %u : $r
  %scales = nn.broadcast %s dims = [0, 1] : $r -> $f
  %h = nn.mul %d, %scales : $f
  %p = nn.mul %h, %b : $f
  %t = nn.reduce sum %p dims = [2] : $f -> $r
  %k = nn.div %t, %n : $r
  %ks = nn.broadcast %k dims = [0, 1] : $r -> $f
  %g = nn.mul %h, %ks : $f
  %z = nn.sub %b, %g : $f
  %o = nn.cast %z : ($f) -> $x
  %e = nn.reduce sum %p dims = [1] : $f -> $c
  %l = nn.cast %o : ($x) -> $f
  %i = nn.reduce sum %l dims = [1] : $f -> $c
  return %o, %e, %i : $x, $c, $c
})",
               words),
          {{-2, 2}},
          slackOf(element)};
}

/// A pass over a part of each row reads four elements at a time where one over all of it reads
/// eight.
static KernelCase partFirst() {
  return {"part_first",
          R"(func.func @part_first(%x: tensor<2x16x32x8xf32>)
    -> (tensor<2x16x32x8xbf16>, tensor<2x32x8xf32>) {
  %p = nn.slice %x starts = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<2x16x32x8xf32> -> tensor<2x16x32x4xf32>
  %s = nn.reduce sum %p dims = [2, 3] : tensor<2x16x32x4xf32> -> tensor<2x16xf32>
  %b = nn.broadcast %s dims = [0, 1] : tensor<2x16xf32> -> tensor<2x16x32x8xf32>
  %d = nn.sub %x, %b : tensor<2x16x32x8xf32>
  %o = nn.cast %d : (tensor<2x16x32x8xf32>) -> tensor<2x16x32x8xbf16>
  %l = nn.cast %o : (tensor<2x16x32x8xbf16>) -> tensor<2x16x32x8xf32>
  %c = nn.reduce sum %l dims = [1] : tensor<2x16x32x8xf32> -> tensor<2x32x8xf32>
  return %o, %c : tensor<2x16x32x8xbf16>, tensor<2x32x8xf32>
})",
          {{-2, 2}},
          slackOf("bf16")};
}

std::vector<KernelCase> rowsAndColumns() {
  std::vector<KernelCase> cases;
  for (const char *element : {"f32", "bf16"})
    for (int64_t rows : {1, 3, 16, 40})
      for (int64_t size : {33, 128, 256, 768, 1000, 2080})
        cases.push_back(rowsAndColumns(rows, size, element));
  cases.push_back(partFirst());
  return cases;
}

/// The result overwrites `x` or, of the other element type, `y`.
static KernelCase rowInPlace(int64_t rows, int64_t size, const std::string &x, const std::string &y,
                             int64_t overwrites) {
  Words words =
      wordsOf("row_in_place_" + x + "_" + y + "_" + std::to_string(overwrites), rows, size);
  const std::string &result = overwrites ? y : x;
  words['x'] = all(rows, size, x);
  words['y'] = all(rows, size, y);
  words['o'] = all(rows, size, result);
  words['p'] = std::to_string(overwrites);
  words['A'] = fill(kVariance, words);
  return {
      words['n'],
      fill(
          R"(func.func @$n(%x: $x, %y: $y) -> ($o, $c) attributes {rt.in_place = array<i64: $p, -1>} {
$A  %ws = nn.broadcast %w dims = [0, 1] : $r -> $f
  %h = nn.mul %d, %ws : $f
  %z = nn.add %h, %b : $f
  %o = nn.cast %z : ($f) -> $o
  %l = nn.cast %o : ($o) -> $f
  %e = nn.reduce sum %l dims = [1] : $f -> $c
  return %o, %e : $o, $c
})",
          words),
      {{-2, 2}},
      slackOf(result)};
}

/// A number of each row is added to, and taken off the row, which `overwrites` itself (1) or
/// nothing (-1).
static KernelCase numberInPlace(int64_t rows, int64_t size, const std::string &element,
                                int64_t overwrites) {
  Words words = wordsOf("number_in_place_" + element + (overwrites < 0 ? "" : "_row"), rows, size);
  words['x'] = all(rows, size, element);
  words['p'] = std::to_string(overwrites);
  return {
      words['n'],
      fill(
          R"(func.func @$n(%m: $r, %x: $x) -> ($r, $x, $c) attributes {rt.in_place = array<i64: 0, $p, -1>} {
  %a = nn.cast %x : ($x) -> $f
  %s = nn.reduce sum %a dims = [2] : $f -> $r
  %n = nn.add %m, %s : $r
  %ns = nn.broadcast %n dims = [0, 1] : $r -> $f
  %z = nn.sub %a, %ns : $f
  %o = nn.cast %z : ($f) -> $x
  %l = nn.cast %o : ($x) -> $f
  %e = nn.reduce sum %l dims = [1] : $f -> $c
  return %n, %o, %e : $r, $x, $c
})",
          words),
      {{-2, 2}},
      slackOf(element)};
}

/// A loss whose gradient overwrites the logits, in which it has looked up the label's.
static KernelCase lossInPlace(int64_t rows, int64_t size, const std::string &element) {
  Words words = wordsOf("loss_in_place_" + element, rows, size);
  words['x'] = all(rows, size, element);
  words['i'] = CaseBuilder::type({kGroups, rows, 1}, "i64");
  words['y'] = CaseBuilder::type({kGroups, rows}, element);
  return {
      words['n'],
      fill(
          R"(func.func @$n(%x: $x, %i: $i) -> ($r, $x, $c) attributes {rt.in_place = array<i64: -1, 0, -1>} {
  %a = nn.cast %x : ($x) -> $f
  %m = nn.reduce max %a dims = [2] : $f -> $r
  %ms = nn.broadcast %m dims = [0, 1] : $r -> $f
  %d = nn.sub %a, %ms : $f
  %h = nn.exp %d : $f
  %t = nn.reduce sum %h dims = [2] : $f -> $r
  %y = nn.gather %x, %i indexed = [2] operand_batch = [0, 1] indices_batch = [0, 1] : ($x, $i) -> $y
  %b = nn.cast %y : ($y) -> $r
  %g = nn.log %t : $r
  %k = nn.add %g, %m : $r
  %w = nn.sub %k, %b : $r
  %ts = nn.broadcast %t dims = [0, 1] : $r -> $f
  %z = nn.div %h, %ts : $f
  %o = nn.cast %z : ($f) -> $x
  %l = nn.cast %o : ($x) -> $f
  %e = nn.reduce sum %l dims = [1] : $f -> $c
  return %w, %o, %e : $r, $x, $c
})",
          words),
      {{-2, 2}, {-1, double(size)}},
      slackOf(element)};
}

std::vector<KernelCase> rowsInPlace() {
  std::vector<KernelCase> cases;
  // Fewer rows than warps; rows that are kept, and read again by whole warps and not.
  for (auto [rows, size] : {std::pair(3, 256), {16, 256}, {9, 1000}, {40, 2080}}) {
    for (auto [x, y] : {std::pair("f32", "f32"), {"f32", "bf16"}, {"bf16", "f32"}, {"f16", "f32"}})
      for (int64_t overwrites : {0, 1})
        cases.push_back(rowInPlace(rows, size, x, y, overwrites));
    for (const char *element : {"f32", "bf16"}) {
      cases.push_back(numberInPlace(rows, size, element, -1));
      cases.push_back(numberInPlace(rows, size, element, 1));
      cases.push_back(lossInPlace(rows, size, element));
    }
  }
  return cases;
}

} // namespace weft::test
