// Convolutions and what their gradients are made of, against plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

using namespace weft::runtime;

namespace {

struct ConvolutionCase {
  int64_t n, c, m, groups;
  Harness::Ints in, taps, strides, dilations, inputDilations, pads, out;
  /// Everything lies in memory with n and channels exchanged, and taps from
  /// the last to the first: what gradients of convolutions read and write.
  bool exchanged = false;
};

template <typename T>
void testConvolution(const ConvolutionCase &c, DType dtype, double limit, unsigned threads) {
  Harness h;
  h.options.threads_per_rank = threads;
  size_t spatial = c.in.size();
  auto count = [](const Harness::Ints &shape) {
    int64_t n = 1;
    for (int64_t size : shape)
      n *= size;
    return n;
  };
  int64_t inPer = c.c / c.groups, outPer = c.m / c.groups;
  int64_t numIn = c.n * c.c * count(c.in), numOut = c.n * c.m * count(c.out);
  int64_t numTaps = count(c.taps), numWeights = c.m * inPer * numTaps;
  Id x = h.input("x", dtype, {numIn}), w = h.input("w", dtype, {numWeights});
  Id y = h.output("y", dtype, {numOut});
  h.begin();
  ProgramBuilder &p = h.builder;
  Convolution params{};
  params.groups = uint32_t(c.groups);
  params.strides = p.ints(c.strides);
  params.dilations = p.ints(c.dilations);
  params.inputDilations = p.ints(c.inputDilations);
  params.padsBegin = p.ints(c.pads);
  // [a, b, rest..], or the same with a and b exchanged in memory.
  auto view = [&](Id id, int64_t a, int64_t b, const Harness::Ints &rest, bool reversed) {
    Harness::Ints sizes{a, b}, strides(rest.size());
    int64_t step = 1, offset = 0, one = count(rest);
    for (size_t d = rest.size(); d-- > 0; step *= rest[d])
      strides[d] = reversed ? -step : step;
    sizes.insert(sizes.end(), rest.begin(), rest.end());
    Harness::Ints leading = c.exchanged ? Harness::Ints{one, a * one} : Harness::Ints{b * one, one};
    strides.insert(strides.begin(), leading.begin(), leading.end());
    if (reversed)
      offset = (one - 1) * int64_t(dtypeBytes(dtype));
    return p.view(id, dtype, offset, sizes, strides);
  };
  std::vector<View> views = {view(x, c.n, c.c, c.in, false),
                             view(w, c.m, inPer, c.taps, c.exchanged),
                             view(y, c.n, c.m, c.out, false)};
  p.add({0, "conv"}, params, views);
  ASSERT_OK(h.open());
  auto vx = randomValues<T>(numIn, 1), vw = randomValues<T>(numWeights, 2);
  h.set("x", vx), h.set("w", vw);
  ASSERT_OK(h.run());
  auto found = h.get<T>("y", numOut);
  auto place = [&](int64_t i, int64_t j, int64_t a, int64_t b, int64_t each) {
    return (c.exchanged ? j * a + i : i * b + j) * each;
  };
  auto unravel = [&](int64_t index, const Harness::Ints &shape) {
    Harness::Ints at(shape.size());
    for (size_t d = shape.size(); d-- > 0; index /= shape[d])
      at[d] = index % shape[d];
    return at;
  };
  std::vector<double> exact(numOut);
  for (int64_t o = 0; o < count(c.out); ++o)
    for (int64_t t = 0; t < numTaps; ++t) {
      Harness::Ints at = unravel(o, c.out), tap = unravel(t, c.taps);
      int64_t source = 0;
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t i = at[d] * c.strides[d] + tap[d] * c.dilations[d] - c.pads[d];
        inside &= i >= 0 && i % c.inputDilations[d] == 0;
        i /= c.inputDilations[d];
        inside &= i < c.in[d];
        source = source * c.in[d] + i;
      }
      if (!inside)
        continue;
      int64_t tapAt = c.exchanged ? numTaps - 1 - t : t;
      for (int64_t n = 0; n < c.n; ++n)
        for (int64_t m = 0; m < c.m; ++m)
          for (int64_t k = 0; k < inPer; ++k)
            exact[place(n, m, c.n, c.m, count(c.out)) + o] +=
                double(vx[place(n, m / outPer * inPer + k, c.n, c.c, count(c.in)) + source]) *
                double(vw[place(m, k, c.m, inPer, numTaps) + tapAt]);
    }
  EXPECT_LE(errorOf(found, exact), limit);
}

TEST(Convolution, AgreesWithPlainLoops) {
  const ConvolutionCase cases[] = {
      {2, 3, 8, 1, {12, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {12, 10}},
      {1, 4, 6, 2, {11, 11}, {3, 2}, {2, 2}, {1, 1}, {1, 1}, {0, 1}, {5, 6}},
      {1, 6, 6, 6, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {1, 1}, {2, 2}, {9, 9}},
      {3, 2, 5, 1, {20}, {5}, {3}, {1}, {1}, {2}, {7}},
      {1, 2, 3, 1, {5, 6, 7}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}, {4, 3, 5}},
      {1, 4, 3, 1, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}, {11, 9}},
      {2, 4, 6, 2, {5}, {4}, {1}, {2}, {3}, {6}, {19}},
      {1, 16, 16, 1, {8, 8}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {8, 8}},
      // One and two outputs a group: steps, more columns and more taps than a box has, images.
      {2, 37, 37, 37, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {7, 7}},
      {1, 5, 10, 5, {50, 60}, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {50, 60}},
      {1, 3, 3, 3, {30, 31}, {21, 21}, {1, 1}, {1, 1}, {1, 1}, {10, 10}, {30, 31}},
      {2, 6, 6, 6, {2500, 1}, {3, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 0}, {2500, 1}},
      {3, 8, 8, 8, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {7, 9}, true},
      // What is read where it lies: no padding, neighbours in memory or not, the last element.
      {2, 30, 13, 1, {9, 7}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {9, 7}},
      {1, 20, 9, 1, {40, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {38, 39}},
      {2, 24, 16, 2, {10, 8}, {1, 1}, {2, 1}, {1, 1}, {1, 1}, {0, 0}, {5, 8}},
      // More rows, columns and terms than one box has; strides and taps that do
      // not meet.
      {3, 50, 70, 1, {17, 19}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {9, 10}},
      {5, 40, 30, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {7, 7}},
      {2, 3, 5, 1, {6, 700}, {1, 3}, {1, 3}, {1, 2}, {1, 1}, {0, -1}, {6, 230}},
      // Few channels with taps beyond a box, as the gradient of a filter has
      // them.
      {6, 2, 13, 1, {27, 27}, {25, 25}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {3, 3}, true},
      {4, 3, 9, 1, {27, 26}, {12, 12}, {1, 1}, {2, 2}, {1, 1}, {1, 1}, {5, 5}, true},
      // The gradient of a strided convolution's input; one residue has no taps.
      {2, 20, 9, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}, {14, 14}, true},
      {2, 7, 3, 1, {7, 6}, {1, 1}, {1, 1}, {1, 1}, {2, 3}, {0, 0}, {14, 17}, true},
      {1, 3, 4, 1, {5, 6}, {3, 4}, {1, 2}, {2, 1}, {4, 1}, {3, 1}, {19, 3}, true}};
  for (const ConvolutionCase &c : cases) {
    testConvolution<float>(c, DType::F32, 2e-6, 1);
    testConvolution<float>(c, DType::F32, 2e-6, 3);
    testConvolution<double>(c, DType::F64, 1e-14, 2);
    testConvolution<BFloat16>(c, DType::BF16, 5e-3, 2);
    testConvolution<Float16>(c, DType::F16, 1e-3, 2);
  }
}

} // namespace
