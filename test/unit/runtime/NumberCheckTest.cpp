// Which command made the first number that is not finite.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "session/FirstNotFinite.h"

#include <cstring>

using namespace weft::runtime;

namespace {

/// to = from * scalar / 1024, of floats.
void scaleKernel(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  const auto *from = static_cast<const float *>(pointers[0]);
  auto *to = static_cast<float *>(pointers[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = from[i] * (float(scalars[0]) / 1024);
}
/// to -= from, so that an infinity less itself is none.
void reduceKernel(int64_t begin, int64_t end, void *const *pointers, const int64_t *) {
  const auto *from = static_cast<const float *>(pointers[0]);
  auto *to = static_cast<float *>(pointers[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] -= from[i];
}

/// y = (x * factor) - (x * factor), by two ranks: no number unless the product is finite.
class Chain : public Harness {
public:
  explicit Chain(bool checks) {
    options.check_numbers = checks;
    kernels = {{"scale", scaleKernel}, {"reduce", reduceKernel}};
    ProgramBuilder &b = builder;
    Id tp = b.addMeshAxis("tp", 2);
    Id split = b.addPlacement({{{8, {tp}}}});
    Id x = input("x", DType::F32, {4}, {8}, split), y = output("y", DType::F32, {4}, {8}, split);
    Id wide = buffer("wide", DType::F32, {4});
    begin(2, 1);
    b.launch({0, "grow"}, b.addKernel("scale"), 4, 4, {b.view(x), b.view(wide)},
             {b.constant(1 << 20)}, 1);
    b.add({0, "event"}, EventRecord{0}, {});
    b.add({1, "event"}, EventWait{0}, {});
    b.add({1, "hand on"}, Copy{}, {b.view(wide), b.view(y)});
    b.launch({1, "take away"}, b.addKernel("reduce"), 4, 4, {b.view(wide), b.view(y)}, {}, 1);
  }

  void runWith(const std::vector<float> &x) {
    ASSERT_OK(open());
    set("x", x);
    ASSERT_OK(run());
  }

  std::string first() {
    std::string text;
    Status status = firstNotFinite(*session, text);
    EXPECT_TRUE(status.ok()) << status.text();
    return text;
  }
};

std::vector<float> ones() { return std::vector<float>(8, 1); }

TEST(NumberCheck, TellsNothingOfFiniteNumbers) {
  Chain chain(true);
  chain.runWith(ones());
  EXPECT_EQ(chain.first(), "");
}

TEST(NumberCheck, NamesWhoMadeTheFirstNan) {
  Chain chain(true);
  std::vector<float> x = ones();
  x[5] = x[6] = 3e38F;
  chain.runWith(x);
  EXPECT_EQ(chain.first(), "rank 1: command 4 (launch of node 'take away') of 'p' made 2 of 4 "
                           "numbers NaN; before that, on rank 1: command 0 (launch of node 'grow') "
                           "of 'p' made 2 of 4 numbers infinite");
  // What was first stays, until it is forgotten.
  chain.set("x", ones());
  ASSERT_OK(chain.run());
  EXPECT_NE(chain.first(), "");
  for (const std::unique_ptr<RankContext> &rank : chain.session->ranks)
    rank->numberCheck()->forget();
  ASSERT_OK(chain.run());
  EXPECT_EQ(chain.first(), "");
}

TEST(NumberCheck, TellsWhatCameFromOutside) {
  Chain chain(true);
  std::vector<float> x = ones();
  x[0] = NAN;
  chain.runWith(x);
  EXPECT_EQ(chain.first(), "rank 0: command 0 (launch of node 'grow') of 'p' wrote 1 of 4 numbers "
                           "NaN, having read such in 'x'");
  // An infinity may be meant.
  Chain infinite(true);
  x[0] = INFINITY;
  infinite.runWith(x);
  EXPECT_EQ(infinite.first(), "rank 0: command 4 (launch of node 'take away') of 'p' made 1 of 4 "
                              "numbers NaN");
}

TEST(NumberCheck, LooksAtNothingUnlessAsked) {
  Chain chain(false);
  chain.runWith(std::vector<float>(8, NAN));
  EXPECT_EQ(chain.session->ranks[0]->numberCheck(), nullptr);
  EXPECT_EQ(chain.first(), "");
}

// Each dtype's largest number, smallest infinity and a NaN, through a view backwards with gaps;
// integers have none of these.
TEST(NumberCheck, CountsInAllTypesAndViews) {
  struct Case {
    DType dtype;
    std::vector<uint64_t> finite, infinite, nan;
  };
  const std::vector<Case> cases = {
      {DType::F64, {0x7FEFFFFFFFFFFFFF, 0}, {0xFFF0000000000000}, {0x7FF0000000000001}},
      {DType::F32, {0xFF7FFFFF, 0x80000000}, {0x7F800000}, {0xFFC00000}},
      {DType::BF16, {0x7F7F, 0x8000}, {0xFF80}, {0x7F81}},
      {DType::F16, {0xFBFF, 0x0001}, {0x7C00}, {0xFE00}},
      {DType::I32, {0x7F800000, 0x7FC00000}, {}, {}},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(dtypeName(one.dtype));
    for (const auto &[bits, expected] :
         {std::pair(one.finite, std::string()), {one.infinite, "infinite"}, {one.nan, "NaN"}}) {
      if (bits.empty())
        continue;
      Harness h;
      h.options.check_numbers = 1;
      const int64_t width = dtypeBytes(one.dtype);
      // 2 x 3 numbers; a copy writes the middle ones from the last to the first.
      Id data = h.input("data", DType::U8, {2 * width});
      Id wide = h.output("wide", DType::U8, {6 * width});
      h.begin();
      ProgramBuilder &b = h.builder;
      b.add({0, "copy"}, Copy{},
            {b.view(data, one.dtype, 0, {2}), b.view(wide, one.dtype, 4 * width, {2}, {-3})});
      ASSERT_OK(h.open());
      std::vector<uint8_t> bytes(size_t(2 * width));
      for (size_t i = 0; i < 2; ++i)
        std::memcpy(&bytes[i * size_t(width)], &bits[i % bits.size()], size_t(width));
      h.set("data", bytes);
      ASSERT_OK(h.run());
      std::string text;
      ASSERT_TRUE(firstNotFinite(*h.session, text).ok());
      // An infinity that is handed on is not told.
      EXPECT_EQ(text, expected == "NaN" ? "rank 0: command 0 (copy of node 'copy') of 'p' wrote 2 "
                                          "of 2 numbers NaN, having read such in 'data'"
                                        : "");
      NumberCheck check;
      SeenView view{};
      view.buffer = wide;
      view.isWritten = true;
      view.offset =
          int64_t(h.session->ranks[0]->buffer(h.session->view().Ports()[1]).offset) + 4 * width;
      view.dtype = one.dtype;
      view.rank = 1;
      view.sizes[0] = 2;
      view.strides[0] = -3;
      ASSERT_TRUE(check.look(h.session->ranks[0]->device(), {0, 0}, {view}).ok());
      EXPECT_EQ(check.infinite() ? check.infinite()->count : 0, expected == "infinite" ? 2U : 0U);
      EXPECT_EQ(check.nan() ? check.nan()->count : 0, expected == "NaN" ? 2U : 0U);
    }
  }
}

} // namespace
