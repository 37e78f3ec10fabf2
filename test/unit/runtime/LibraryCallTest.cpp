// Library calls against plain loops in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include "kernels/DenseKernels.h"

#include <random>

using namespace weft::runtime;

namespace {

struct GemmCase {
  int64_t batch, m, n, k;
  bool transposeA, transposeB, broadcastA, broadcastB;
  int64_t gap; // extra elements between rows: strides unlike the sizes
};

template <typename T> void testGemm(const GemmCase &c, DType dtype, double limit) {
  Harness h;
  auto stored = [&](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  auto strides = [&](int64_t rows, int64_t columns, bool transposed, bool broadcast) {
    auto [r, s] = stored(rows, columns, transposed);
    int64_t pitch = s + c.gap;
    int64_t each = broadcast ? 0 : r * pitch;
    return transposed ? Harness::Ints{each, 1, pitch} : Harness::Ints{each, pitch, 1};
  };
  auto count = [&](int64_t rows, int64_t columns, bool transposed, bool broadcast) {
    auto [r, s] = stored(rows, columns, transposed);
    return (broadcast ? 1 : c.batch) * r * (s + c.gap);
  };
  int64_t countA = count(c.m, c.k, c.transposeA, c.broadcastA);
  int64_t countB = count(c.k, c.n, c.transposeB, c.broadcastB);
  int64_t countC = count(c.m, c.n, false, false);
  Id a = h.input("a", dtype, {countA}), b = h.input("b", dtype, {countB});
  Id old = h.input("old", dtype, {countC});
  Id out = h.output("c", dtype, {countC});
  h.begin();
  Gemm params{};
  params.accumulator = dtype == DType::F64 ? DType::F64 : DType::F32;
  Harness::Ints sa = strides(c.m, c.k, c.transposeA, c.broadcastA),
                sb = strides(c.k, c.n, c.transposeB, c.broadcastB),
                sc = strides(c.m, c.n, false, false);
  ProgramBuilder &p = h.builder;
  std::vector<View> views = {p.view(a, dtype, 0, {c.batch, c.m, c.k}, sa),
                             p.view(b, dtype, 0, {c.batch, c.k, c.n}, sb),
                             p.view(out, dtype, 0, {c.batch, c.m, c.n}, sc)};
  p.add({}, Copy{}, {p.view(old), p.view(out)});
  p.add({0, "gemm"}, params, views);
  ASSERT_OK(h.open());
  auto va = randomValues<T>(countA, 1), vb = randomValues<T>(countB, 2);
  auto vOld = randomValues<T>(countC, 5);
  h.set("a", va), h.set("b", vb), h.set("old", vOld);
  ASSERT_OK(h.run());
  auto found = h.get<T>("c", countC);
  std::vector<double> exact(vOld.begin(), vOld.end());
  for (int64_t e = 0; e < c.batch; ++e)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int64_t q = 0; q < c.k; ++q)
          sum += double(va[e * sa[0] + i * sa[1] + q * sa[2]]) *
                 double(vb[e * sb[0] + q * sb[1] + j * sb[2]]);
        exact[e * sc[0] + i * sc[1] + j] = sum;
      }
  EXPECT_LE(errorOf(found, exact), limit)
      << c.m << "x" << c.n << "x" << c.k << " of " << dtypeName(dtype);
}

TEST(Gemm, AgreesWithPlainLoops) {
  const int64_t sizes[][3] = {{1, 1, 1},    {5, 7, 3},    {12, 32, 16},  {13, 33, 65},
                              {1, 100, 40}, {100, 1, 40}, {64, 96, 200}, {130, 70, 300}};
  for (auto [m, n, k] : sizes)
    for (unsigned variant = 0; variant < 8; ++variant) {
      GemmCase c{};
      c.batch = 1 + variant % 3;
      c.m = m, c.n = n, c.k = k;
      c.transposeA = variant & 1, c.transposeB = variant & 2;
      c.broadcastA = variant == 5, c.broadcastB = variant == 6;
      c.gap = variant == 4 ? 3 : 0;
      testGemm<float>(c, DType::F32, 2e-6);
      testGemm<double>(c, DType::F64, 1e-14);
      testGemm<BFloat16>(c, DType::BF16, 5e-3);
      testGemm<Float16>(c, DType::F16, 6e-4);
    }
}

TEST(Gemm, EmptyContractionIsZero) {
  GemmCase c{1, 4, 5, 0, false, false, false, false, 0};
  testGemm<float>(c, DType::F32, 0);
}

/// One product of random values; `addend`: none, in a buffer of its own, where the result is, a
/// row that all rows get, or that and then the one where the result is. The result is by rows or by
/// columns (transposeA), `gap` elements apart; between them is what there was. T: of the elements;
/// sums are in `accumulator`.
enum class Addend { None, Apart, InPlace, Row, RowAndInPlace };
template <typename T>
std::vector<T> productWithAddend(const GemmCase &c, DType dtype, DType accumulator, Addend addend) {
  Harness h;
  int64_t step = 1 + c.gap, count = c.batch * c.m * c.n * step;
  Id a = h.input("a", dtype, {c.batch, c.m, c.k}), b = h.input("b", dtype, {c.k * c.n});
  Id old = h.input("old", dtype, {count}), out = h.output("c", dtype, {count});
  h.begin();
  Gemm params{};
  params.accumulator = accumulator;
  ProgramBuilder &p = h.builder;
  auto result = [&](Id buffer) {
    Harness::Ints strides = {c.m * c.n * step, c.transposeA ? step : c.n * step,
                             c.transposeA ? c.m * step : step};
    return p.view(buffer, dtype, 0, {c.batch, c.m, c.n}, strides);
  };
  std::vector<View> views = {p.view(a), p.view(b, dtype, 0, {c.batch, c.k, c.n}, {0, c.n, 1}),
                             result(out)};
  if (addend == Addend::Row || addend == Addend::RowAndInPlace)
    views.push_back(p.view(old, dtype, 0, {c.batch, c.m, c.n}, {0, 0, 1}));
  if (addend == Addend::Apart)
    views.push_back(result(old));
  if (addend == Addend::InPlace || addend == Addend::RowAndInPlace)
    views.push_back(result(out));
  p.add({}, Copy{}, {p.view(old), p.view(out)});
  p.add({0, "gemm"}, params, views);
  EXPECT_OK(h.open());
  h.set("a", randomValues<T>(c.batch * c.m * c.k, 1)), h.set("b", randomValues<T>(c.k * c.n, 2));
  h.set("old", randomValues<T>(count, 5));
  EXPECT_OK(h.run());
  return h.get<T>("c", count);
}

/// Sum: the type of sums.
template <typename T, typename Sum>
void testAddend(const GemmCase &c, DType dtype, DType accumulator) {
  std::vector<T> product = productWithAddend<T>(c, dtype, accumulator, Addend::None),
                 old = randomValues<T>(int64_t(product.size()), 5);
  for (Addend where : {Addend::Apart, Addend::InPlace, Addend::Row, Addend::RowAndInPlace}) {
    std::vector<T> found = productWithAddend<T>(c, dtype, accumulator, where);
    for (size_t i = 0; i < product.size(); ++i) {
      size_t element = i / size_t(1 + c.gap);
      size_t column = c.transposeA ? element / size_t(c.m) % size_t(c.n) : element % size_t(c.n);
      T wanted = product[i];
      bool isBetween = i % size_t(1 + c.gap) != 0;
      if (!isBetween && (where == Addend::Row || where == Addend::RowAndInPlace))
        wanted = T(Sum(wanted) + Sum(old[column]));
      if (!isBetween && where != Addend::Row)
        wanted = T(Sum(wanted) + Sum(old[i]));
      ASSERT_EQ(Sum(found[i]), Sum(wanted))
          << c.m << "x" << c.n << "x" << c.k << " of " << dtypeName(dtype) << ", element " << i
          << (c.transposeA ? " by columns" : "")
          << (where == Addend::Apart     ? " apart"
              : where == Addend::InPlace ? " in place"
              : where == Addend::Row     ? " of a row"
                                         : " of a row, then in place");
    }
  }
}

// Whatever the sizes, threads and blocks: addends are added to the finished sum, of the result's
// type, one after the other, bit for bit.
TEST(Gemm, AddsBehindTheSum) {
  const int64_t sizes[][3] = {{1, 1, 1},    {3, 70, 40},  {5, 7, 3},      {13, 33, 65},
                              {1, 100, 40}, {100, 1, 40}, {130, 600, 90}, {130, 70, 1001}};
  for (auto [m, n, k] : sizes)
    for (unsigned variant = 0; variant < 4; ++variant) {
      GemmCase c{};
      c.batch = 2, c.m = m, c.n = n, c.k = k;
      c.transposeA = variant & 1, c.gap = variant / 2;
      testAddend<float, float>(c, DType::F32, DType::F32);
      testAddend<double, double>(c, DType::F64, DType::F64);
      testAddend<BFloat16, float>(c, DType::BF16, DType::F32);
      testAddend<Float16, float>(c, DType::F16, DType::F32);
    }
}

/// Of any shape, in any order in memory, to the last bit.
template <typename From, typename Sum>
void testIntegers(DType operand, DType result, int64_t m, int64_t n, int64_t k, bool transposeA,
                  bool transposeB) {
  Harness h;
  Id a = h.input("a", operand, {m * k}), b = h.input("b", operand, {k * n});
  Id c = h.output("c", result, {m, n});
  h.begin();
  Gemm params{};
  params.accumulator = result;
  Harness::Ints sa = transposeA ? Harness::Ints{1, m} : Harness::Ints{k, 1};
  Harness::Ints sb = transposeB ? Harness::Ints{1, k} : Harness::Ints{n, 1};
  ProgramBuilder &p = h.builder;
  p.add({0, "gemm"}, params,
        {p.view(a, operand, 0, {m, k}, sa), p.view(b, operand, 0, {k, n}, sb), p.view(c)});
  ASSERT_OK(h.open());
  std::mt19937_64 bits(m * n + k);
  auto drawn = [&](int64_t count) {
    std::vector<From> values(count);
    for (From &value : values)
      value = From(bits());
    return values;
  };
  std::vector<From> va = drawn(m * k), vb = drawn(k * n);
  h.set("a", va), h.set("b", vb);
  ASSERT_OK(h.run());
  std::vector<Sum> exact(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      uint64_t sum = 0;
      for (int64_t q = 0; q < k; ++q)
        sum += uint64_t(va[i * sa[0] + q * sa[1]]) * uint64_t(vb[q * sb[0] + j * sb[1]]);
      exact[i * n + j] = Sum(sum);
    }
  EXPECT_EQ(h.get<Sum>("c", m * n), exact)
      << m << "x" << n << "x" << k << " of " << dtypeName(operand) << " in " << dtypeName(result);
}

TEST(Gemm, OfIntegersIsExact) {
  const int64_t sizes[][3] = {{1, 1, 1}, {3, 40, 9}, {1, 100, 40}, {13, 33, 65}, {30, 70, 401}};
  for (auto [m, n, k] : sizes)
    for (unsigned order = 0; order < 4; ++order) {
      bool a = order & 1, b = order & 2;
      testIntegers<int8_t, int32_t>(DType::I8, DType::I32, m, n, k, a, b);
      testIntegers<uint8_t, int32_t>(DType::U8, DType::I32, m, n, k, a, b);
      testIntegers<int16_t, int64_t>(DType::I16, DType::I64, m, n, k, a, b);
      testIntegers<uint16_t, int32_t>(DType::U16, DType::I32, m, n, k, a, b);
      testIntegers<int32_t, int32_t>(DType::I32, DType::I32, m, n, k, a, b);
      testIntegers<int32_t, int64_t>(DType::I32, DType::I64, m, n, k, a, b);
      testIntegers<uint32_t, int64_t>(DType::U32, DType::I64, m, n, k, a, b);
      testIntegers<int64_t, int64_t>(DType::I64, DType::I64, m, n, k, a, b);
      testIntegers<int64_t, int32_t>(DType::I64, DType::I32, m, n, k, a, b);
      testIntegers<uint64_t, int64_t>(DType::U64, DType::I64, m, n, k, a, b);
    }
}

TEST(Gemm, IntegersWrap) {
  Harness h;
  Id a = h.input("a", DType::I8, {2, 3}), b = h.input("b", DType::I8, {3, 2});
  Id c = h.output("c", DType::I32, {2, 2});
  h.begin();
  Gemm params{};
  params.accumulator = DType::I32;
  ProgramBuilder &p = h.builder;
  p.add({}, params, {p.view(a), p.view(b), p.view(c)});
  ASSERT_OK(h.open());
  h.set<int8_t>("a", {-128, 127, 1, 2, -3, 4});
  h.set<int8_t>("b", {-128, 1, 127, 2, 3, 4});
  ASSERT_OK(h.run());
  EXPECT_EQ(h.get<int32_t>("c", 4),
            (std::vector<int32_t>{16384 + 16129 + 3, -128 + 254 + 4, -256 - 381 + 12, 2 - 6 + 16}));
}

// One sum per element in one order: cutting rows or columns changes no bit, so
// tensor-parallel columns agree with the whole product.
TEST(Gemm, PartsHaveTheBitsOfTheWhole) {
  auto product = [](int64_t m, int64_t n, int64_t firstColumn, bool transposed) {
    const int64_t k = 1001; // more than one block of sums
    Harness h;
    Id a = h.input("a", DType::F32, {m, k});
    Id b = h.input("b", DType::F32, {k * 96});
    Id c = h.output("c", DType::F32, {m, n});
    h.begin();
    Gemm params{};
    params.accumulator = DType::F32;
    ProgramBuilder &p = h.builder;
    View part = transposed ? p.view(b, DType::F32, firstColumn * k * 4, {k, n}, {1, k})
                           : p.view(b, DType::F32, firstColumn * 4, {k, n}, {96, 1});
    p.add({}, params, {p.view(a), part, p.view(c)});
    EXPECT_OK(h.open());
    h.set("a", randomValues<float>(m * k, 7));
    std::vector<float> values = randomValues<float>(k * 96, 8);
    if (transposed) {
      std::vector<float> turned(values.size());
      for (int64_t q = 0; q < k; ++q)
        for (int64_t j = 0; j < 96; ++j)
          turned[j * k + q] = values[q * 96 + j];
      values = turned;
    }
    h.set("b", values);
    EXPECT_OK(h.run());
    return h.get<float>("c", m * n);
  };
  std::vector<float> whole = product(50, 96, 0, false);
  for (bool transposed : {false, true})
    for (int64_t first : {0, 16, 48, 83})
      for (int64_t m : {1, 2, 3, 4, 7, 17, 50}) {
        int64_t n = first == 83 ? 13 : first == 48 ? 40 : 16;
        std::vector<float> part = product(m, n, first, transposed);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(part[i * n + j], whole[i * 96 + first + j])
                << m << " rows, transposed " << transposed;
      }
}

struct AttentionCase {
  int64_t b, h, g, s, t, d, e;
  bool causal;
  int mask; // 0 none, 1 additive, 2 bool, 3 bool with fully masked rows
  double softcap;
};

template <typename T>
void testAttention(const AttentionCase &c, DType dtype, double limit, bool withSums = false) {
  Harness h;
  // [b, s, h, d] in memory, as models have it: strides unlike the view's order.
  Id q = h.input("q", dtype, {c.b, c.s, c.h, c.d});
  Id k = h.input("k", dtype, {c.b, c.t, c.g, c.d});
  Id v = h.input("v", dtype, {c.b, c.t, c.g, c.e});
  bool isBool = c.mask >= 2;
  DType maskType = isBool ? DType::Bool : dtype;
  Id mask = h.input("mask", maskType, {c.s, c.t});
  Id out = h.output("out", dtype, {c.b, c.s, c.h, c.e});
  Id logSums = h.output("sums", sizeof(T) == 8 ? DType::F64 : DType::F32, {c.b, c.h, c.s});
  h.begin();
  ProgramBuilder &p = h.builder;
  auto heads = [&](Id id, int64_t heads, int64_t length, int64_t width) {
    return p.view(id, dtype, 0, {c.b, heads, length, width},
                  {length * heads * width, width, heads * width, 1});
  };
  Attention params{};
  params.scale = 1 / std::sqrt(double(c.d));
  params.causal = c.causal;
  params.softcap = c.softcap;
  std::vector<View> views = {heads(q, c.h, c.s, c.d), heads(k, c.g, c.t, c.d),
                             heads(v, c.g, c.t, c.e), heads(out, c.h, c.s, c.e)};
  if (c.mask)
    views.push_back(p.view(mask, maskType, 0, {c.b, c.h, c.s, c.t}, {0, 0, c.t, 1}));
  if (withSums)
    views.push_back(p.view(logSums));
  if (withSums)
    p.add({0, "attention"}, AttentionWithSums{params}, views);
  else
    p.add({0, "attention"}, params, views);
  ASSERT_OK(h.open());
  auto vq = randomValues<T>(c.b * c.s * c.h * c.d, 1, 2),
       vk = randomValues<T>(c.b * c.t * c.g * c.d, 2, 2),
       vv = randomValues<T>(c.b * c.t * c.g * c.e, 3);
  auto additive = randomValues<T>(c.s * c.t, 4);
  std::vector<uint8_t> allowed(c.s * c.t);
  for (int64_t i = 0; i < c.s; ++i)
    for (int64_t j = 0; j < c.t; ++j)
      allowed[i * c.t + j] = (i * 7 + j * 3) % 5 != 0 && !(c.mask == 3 && i % 3 == 1);
  h.set("q", vq), h.set("k", vk), h.set("v", vv);
  if (isBool)
    h.set("mask", allowed);
  else
    h.set("mask", additive);
  ASSERT_OK(h.run());
  auto found = h.get<T>("out", c.b * c.s * c.h * c.e);
  std::vector<double> exact(found.size()), exactSums;
  for (int64_t b = 0; b < c.b; ++b)
    for (int64_t head = 0; head < c.h; ++head)
      for (int64_t i = 0; i < c.s; ++i) {
        int64_t group = head / (c.h / c.g);
        std::vector<double> weight(c.t, -HUGE_VAL);
        double most = -HUGE_VAL, total = 0;
        for (int64_t j = 0; j < c.t; ++j) {
          if (c.causal && j > i + c.t - c.s)
            continue;
          double x = 0;
          for (int64_t d = 0; d < c.d; ++d)
            x += double(vq[((b * c.s + i) * c.h + head) * c.d + d]) *
                 double(vk[((b * c.t + j) * c.g + group) * c.d + d]);
          x *= params.scale;
          if (c.softcap > 0)
            x = c.softcap * std::tanh(x / c.softcap);
          if (c.mask == 1)
            x += double(additive[i * c.t + j]);
          if (c.mask >= 2 && !allowed[i * c.t + j])
            x = -HUGE_VAL;
          weight[j] = x;
          most = std::fmax(most, x);
        }
        for (double &w : weight) {
          w = most == -HUGE_VAL ? 0 : std::exp(w - most);
          total += w;
        }
        exactSums.push_back(most + std::log(total));
        for (int64_t e = 0; e < c.e; ++e) {
          double value = 0;
          for (int64_t j = 0; j < c.t; ++j)
            if (weight[j] != 0)
              value += weight[j] / total * double(vv[((b * c.t + j) * c.g + group) * c.e + e]);
          exact[((b * c.s + i) * c.h + head) * c.e + e] = value;
        }
      }
  EXPECT_LE(errorOf(found, exact), limit) << c.s << " of " << c.t;
  if (!withSums)
    return;
  using Sum = std::conditional_t<sizeof(T) == 8, double, float>;
  EXPECT_LE(errorOf(h.get<Sum>("sums", exactSums.size()), exactSums),
            sizeof(T) == 8 ? 1e-13 : 1e-6);
}

TEST(Attention, AgreesWithPlainLoops) {
  const AttentionCase cases[] = {
      {1, 1, 1, 1, 1, 4, 4, false, 0, 0},
      {2, 3, 3, 17, 17, 16, 16, false, 0, 0},
      {1, 4, 2, 40, 40, 32, 24, true, 0, 0},
      {1, 6, 1, 5, 300, 64, 64, true, 0, 0},   // one key head, bottom right
      {1, 2, 2, 300, 300, 16, 40, true, 0, 0}, // several blocks of each
      {1, 2, 2, 20, 9, 8, 8, true, 0, 0},      // rows that see nothing
      {2, 2, 1, 33, 150, 16, 16, false, 1, 0}, // additive mask
      {1, 2, 2, 33, 150, 16, 16, false, 2, 0}, // bool mask
      {1, 2, 2, 33, 150, 16, 16, true, 3, 0},  // fully masked rows
      {1, 2, 2, 33, 50, 16, 16, false, 0, 5},  // softcap
      {1, 4, 2, 1, 131, 64, 64, true, 0, 0},   // a decode step
      {2, 6, 2, 1, 33, 16, 16, true, 1, 0},    // ... with a mask and batch
      {1, 2, 2, 3, 0, 8, 8, false, 0, 0},      // no keys at all
  };
  for (const AttentionCase &c : cases) {
    testAttention<float>(c, DType::F32, 3e-6);
    testAttention<double>(c, DType::F64, 1e-13);
    testAttention<BFloat16>(c, DType::BF16, 6e-3);
    testAttention<Float16>(c, DType::F16, 1e-3);
  }
}

/// Scores of padding stand beside them, at a place in a vector that depends on the processor.
TEST(Attention, ARowThatIsNoNumberShows) {
  constexpr int64_t kRows = 4, kDepth = 8, kBroken = 2;
  for (int64_t keys : {1, 64, 112, 115, 120, 128, 200}) {
    Harness h;
    Id q = h.input("q", DType::F32, {kRows, kDepth}), k = h.input("k", DType::F32, {keys, kDepth});
    Id v = h.input("v", DType::F32, {keys, kDepth});
    Id out = h.output("out", DType::F32, {kRows, kDepth});
    h.begin();
    auto head = [&](Id id, int64_t rows) {
      return h.builder.view(id, DType::F32, 0, {1, 1, rows, kDepth},
                            {rows * kDepth, rows * kDepth, kDepth, 1});
    };
    Attention params{};
    params.scale = 1;
    h.builder.add({0, "attention"}, params,
                  {head(q, kRows), head(k, keys), head(v, keys), head(out, kRows)});
    ASSERT_OK(h.open());
    auto rows = randomValues<float>(kRows * kDepth, 1);
    rows[kBroken * kDepth] = NAN;
    h.set("q", rows);
    h.set("k", randomValues<float>(keys * kDepth, 2));
    h.set("v", randomValues<float>(keys * kDepth, 3));
    ASSERT_OK(h.run());
    auto found = h.get<float>("out", kRows * kDepth);
    for (int64_t i = 0; i < kRows * kDepth; ++i)
      EXPECT_EQ(std::isnan(found[i]), i / kDepth == kBroken) << keys << " keys, row " << i / kDepth;
  }
}

TEST(Attention, TellsTheSumsOfItsRows) {
  for (const AttentionCase &c : {AttentionCase{1, 2, 2, 300, 300, 16, 40, true, 0, 0},
                                 {2, 4, 2, 1, 131, 64, 64, true, 0, 0}, // a decode step
                                 {1, 2, 2, 33, 50, 16, 16, false, 0, 5}}) {
    testAttention<float>(c, DType::F32, 3e-6, true);
    testAttention<double>(c, DType::F64, 1e-13, true);
  }
}

TEST(Attention, OfSmallTypesIsDoneByEveryDevice) {
  const AttentionCase cases[] = {
      {2, 3, 3, 17, 17, 16, 16, true, 0, 0},
      {1, 4, 2, 40, 40, 32, 32, true, 0, 0}, // shared key heads
      {2, 6, 1, 9, 30, 8, 8, false, 0, 0},   // as many as there are
  };
  for (const AttentionCase &c : cases) {
    for (bool withSums : {false, true}) {
      testAttention<BFloat16>(c, DType::BF16, 8e-3, withSums);
      testAttention<Float16>(c, DType::F16, 1e-3, withSums);
    }
  }
}

// A kernel has as many addends as a command may bring.
TEST(Gemm, AddendsHaveRoom) { EXPECT_EQ(viewRoles(Opcode::Gemm).most, kGemmAddend + kMostAddends); }

} // namespace
