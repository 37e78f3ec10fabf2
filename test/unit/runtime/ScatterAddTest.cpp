// Scatter-add against plain loops, bit for bit: the order of additions is part of what it does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <limits>

namespace {

enum class Operand { None, Apart, InPlace };

struct ScatterCase {
  int64_t rows, width;
  int64_t outer, inner; // positions of the indices; in memory the inner ones are outermost
  int64_t gap;          // elements between rows of updates and of the result
  Operand operand;
};

/// In memory as the command sees it.
template <typename T, typename Index> struct Values {
  std::vector<T> operand, updates;
  std::vector<Index> indices;

  explicit Values(const ScatterCase &c)
      : operand(randomValues<T>(c.rows * (c.width + c.gap), 1, 9)),
        updates(randomValues<T>(c.outer * c.inner * (c.width + c.gap), 2, 9)) {
    // Few rows for many updates; some outside at either end.
    for (int64_t i = 0; i < c.outer * c.inner; ++i)
      indices.push_back(Index(i * 5 % (c.rows + 3)));
    indices.front() = Index(-1);
    indices.back() = std::numeric_limits<Index>::max();
  }
};

template <typename T> T sumOf(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(uint64_t(a) + uint64_t(b));
  else if constexpr (std::is_same_v<T, double>)
    return a + b;
  else
    return T(float(a) + float(b));
}

template <typename T, typename Index>
std::vector<T> plainLoops(const ScatterCase &c, const Values<T, Index> &x) {
  int64_t pitch = c.width + c.gap;
  std::vector<T> result(c.rows * c.width, T(0));
  if (c.operand != Operand::None)
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t w = 0; w < c.width; ++w)
        result[r * c.width + w] = x.operand[r * pitch + w];
  for (int64_t o = 0; o < c.outer; ++o)
    for (int64_t i = 0; i < c.inner; ++i) {
      int64_t at = i * c.outer + o, row = int64_t(x.indices[at]);
      if (row < 0 || row >= c.rows)
        continue;
      for (int64_t w = 0; w < c.width; ++w) {
        T &sum = result[row * c.width + w];
        sum = sumOf<T>(sum, x.updates[at * pitch + w]);
      }
    }
  return result;
}

template <typename T, typename Index>
std::vector<T> runScatter(const ScatterCase &c, DType dtype, DType indexType,
                          const Values<T, Index> &x, unsigned threads) {
  Harness h;
  h.options.threads_per_rank = threads;
  int64_t pitch = c.width + c.gap;
  Id indices = h.input("indices", indexType, {c.outer * c.inner});
  Id updates = h.input("updates", dtype, {c.outer * c.inner * pitch});
  Id operand = h.input("operand", dtype, {c.rows * pitch});
  Id work = h.buffer("work", dtype, {c.rows * pitch});
  Id out = h.output("out", dtype, {c.rows, c.width});
  h.begin();
  ProgramBuilder &p = h.builder;
  auto rows = [&](Id id) { return p.view(id, dtype, 0, {c.rows, c.width}, {pitch, 1}); };
  std::vector<View> views = {
      p.view(indices, indexType, 0, {c.outer, c.inner, 1}, {1, c.outer, 1}),
      p.view(updates, dtype, 0, {c.outer, c.inner, c.width}, {pitch, c.outer * pitch, 1}),
      rows(work)};
  if (c.operand == Operand::Apart)
    views.push_back(rows(operand));
  if (c.operand == Operand::InPlace) {
    p.add({}, Copy{}, {rows(operand), rows(work)});
    views.push_back(rows(work));
  }
  p.add({0, "scatter_add"}, ScatterAdd{}, views);
  p.add({}, Copy{}, {rows(work), p.view(out, dtype, 0, {c.rows, c.width}, {c.width, 1})});
  EXPECT_OK(h.open());
  h.set("indices", x.indices), h.set("updates", x.updates), h.set("operand", x.operand);
  EXPECT_OK(h.run());
  return h.get<T>("out", c.rows * c.width);
}

/// Every way to have an operand, on one thread and on three.
template <typename T, typename Index> void expectScatter(DType dtype, DType indexType) {
  for (Operand operand : {Operand::None, Operand::Apart, Operand::InPlace})
    for (auto [width, gap] : {std::pair(1, 0), std::pair(70, 0), std::pair(33, 7)}) {
      ScatterCase c{11, width, 7, 5, gap, operand};
      Values<T, Index> values(c);
      std::vector<T> exact = plainLoops(c, values);
      for (unsigned threads : {1u, 3u}) {
        std::vector<T> found = runScatter<T, Index>(c, dtype, indexType, values, threads);
        EXPECT_EQ(std::memcmp(found.data(), exact.data(), exact.size() * sizeof(T)), 0)
            << dtypeName(dtype) << " width " << width << " operand " << int(operand) << " threads "
            << threads;
      }
    }
}

} // namespace

TEST(ScatterAdd, EveryDtypeAddsInOrder) {
  expectScatter<double, int64_t>(DType::F64, DType::I64);
  expectScatter<float, int64_t>(DType::F32, DType::I64);
  expectScatter<BFloat16, int64_t>(DType::BF16, DType::I64);
  expectScatter<Float16, int64_t>(DType::F16, DType::I64);
  expectScatter<int8_t, int64_t>(DType::I8, DType::I64);
  expectScatter<int16_t, int64_t>(DType::I16, DType::I64);
  expectScatter<int32_t, int64_t>(DType::I32, DType::I64);
  expectScatter<int64_t, int64_t>(DType::I64, DType::I64);
  expectScatter<uint8_t, int64_t>(DType::U8, DType::I64);
  expectScatter<uint16_t, int64_t>(DType::U16, DType::I64);
  expectScatter<uint32_t, int64_t>(DType::U32, DType::I64);
  expectScatter<uint64_t, int64_t>(DType::U64, DType::I64);
}

TEST(ScatterAdd, EveryIndexType) {
  expectScatter<float, int8_t>(DType::F32, DType::I8);
  expectScatter<float, int16_t>(DType::F32, DType::I16);
  expectScatter<float, int32_t>(DType::F32, DType::I32);
  expectScatter<float, uint8_t>(DType::F32, DType::U8);
  expectScatter<float, uint16_t>(DType::F32, DType::U16);
  expectScatter<float, uint32_t>(DType::F32, DType::U32);
  expectScatter<float, uint64_t>(DType::F32, DType::U64);
}

/// Many rows and columns, so that threads share both.
TEST(ScatterAdd, LargeOneHasTheSameBitsOnAnyNumberOfThreads) {
  ScatterCase c{1000, 600, 40, 30, 0, Operand::None};
  Values<float, int64_t> values(c);
  std::vector<float> exact = plainLoops(c, values);
  for (unsigned threads : {1u, 2u, 5u})
    EXPECT_EQ((runScatter<float, int64_t>(c, DType::F32, DType::I64, values, threads)), exact)
        << threads;
}

/// What opening a program says of a scatter-add of these views.
static std::string refusal(const std::vector<int64_t> &indices, const std::vector<int64_t> &updates,
                           const std::vector<int64_t> &result, DType element = DType::F32) {
  Harness h;
  Id i = h.input("i", DType::I64, indices), u = h.input("u", element, updates);
  Id r = h.output("r", element, result);
  h.begin();
  h.builder.add({}, ScatterAdd{}, {h.builder.view(i), h.builder.view(u), h.builder.view(r)});
  return h.open().text;
}

TEST(ScatterAdd, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({4, 1}, {4, 3}, {7, 3}), "");
  EXPECT_NE(refusal({4, 2}, {4, 3}, {7, 3}).find("not one for each index"), std::string::npos);
  EXPECT_NE(refusal({5, 1}, {4, 3}, {7, 3}).find("not one for each index"), std::string::npos);
  EXPECT_NE(refusal({4, 1}, {4, 2}, {7, 3}).find("rows of different sizes"), std::string::npos);
  EXPECT_NE(refusal({4, 1}, {4, 3}, {7, 3}, DType::Bool).find("dtypes that no library adds"),
            std::string::npos);
}
