// The gradient of attention against plain loops in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "base/Convert.h"

#include <cmath>

using namespace weft::runtime;

namespace {

struct GradientCase {
  int64_t b, h, g, s, t, d, e;
  bool causal, mask;
  double softcap;
};

/// The gradients of q, k and v, of [b, length, heads, width] each.
template <typename T> struct Gradients {
  std::vector<T> q, k, v;
};

/// What goes in, laid out in the same way; the mask is [s, t].
template <typename T> struct Values {
  std::vector<T> q, k, v, out, upper, mask;

  explicit Values(const GradientCase &c)
      : q(randomValues<T>(c.b * c.s * c.h * c.d, 1, 2)),
        k(randomValues<T>(c.b * c.t * c.g * c.d, 2, 2)),
        v(randomValues<T>(c.b * c.t * c.g * c.e, 3)),
        out(randomValues<T>(c.b * c.s * c.h * c.e, 4)),
        upper(randomValues<T>(c.b * c.s * c.h * c.e, 5)), mask(randomValues<T>(c.s * c.t, 6)) {}
};

template <typename T>
Gradients<T> runGradient(const GradientCase &c, DType dtype, const Values<T> &values,
                         unsigned threads, const std::vector<float> &logSums = {}) {
  Harness h;
  h.options.threads_per_rank = threads;
  Id q = h.input("q", dtype, {c.b, c.s, c.h, c.d});
  Id k = h.input("k", dtype, {c.b, c.t, c.g, c.d});
  Id v = h.input("v", dtype, {c.b, c.t, c.g, c.e});
  Id out = h.input("out", dtype, {c.b, c.s, c.h, c.e});
  Id upper = h.input("upper", dtype, {c.b, c.s, c.h, c.e});
  Id mask = h.input("mask", dtype, {c.s, c.t});
  Id sums = h.input("sums", DType::F32, {c.b, c.h, c.s});
  Id dq = h.output("dq", dtype, {c.b, c.s, c.h, c.d});
  Id dk = h.output("dk", dtype, {c.b, c.t, c.g, c.d});
  Id dv = h.output("dv", dtype, {c.b, c.t, c.g, c.e});
  h.begin();
  ProgramBuilder &p = h.builder;
  // [b, s, h, d] in memory, as models have it: strides unlike the view's order.
  auto heads = [&](Id id, int64_t heads, int64_t length, int64_t width) {
    return p.view(id, dtype, 0, {c.b, heads, length, width},
                  {length * heads * width, width, heads * width, 1});
  };
  AttentionGradient params{};
  params.scale = 1 / std::sqrt(double(c.d));
  params.causal = c.causal;
  params.softcap = c.softcap;
  std::vector<View> views = {heads(q, c.h, c.s, c.d),     heads(k, c.g, c.t, c.d),
                             heads(v, c.g, c.t, c.e),     heads(out, c.h, c.s, c.e),
                             heads(upper, c.h, c.s, c.e), heads(dq, c.h, c.s, c.d),
                             heads(dk, c.g, c.t, c.d),    heads(dv, c.g, c.t, c.e)};
  if (c.mask)
    views.push_back(p.view(mask, dtype, 0, {c.b, c.h, c.s, c.t}, {0, 0, c.t, 1}));
  if (!logSums.empty()) {
    views.insert(views.begin() + 5, p.view(sums));
    p.add({0, "attention_gradient"}, AttentionWithSumsGradient{params}, views);
  } else {
    p.add({0, "attention_gradient"}, params, views);
  }
  EXPECT_OK(h.open());
  h.set("q", values.q), h.set("k", values.k), h.set("v", values.v);
  h.set("out", values.out), h.set("upper", values.upper);
  h.set("mask", values.mask);
  if (!logSums.empty())
    h.set("sums", logSums);
  EXPECT_OK(h.run());
  return {h.get<T>("dq", values.q.size()), h.get<T>("dk", values.k.size()),
          h.get<T>("dv", values.v.size())};
}

/// And the logarithms of the sums of rows.
template <typename T>
Gradients<double> plainLoops(const GradientCase &c, const Values<T> &x,
                             std::vector<float> &logSums) {
  Gradients<double> sum{std::vector<double>(x.q.size()), std::vector<double>(x.k.size()),
                        std::vector<double>(x.v.size())};
  double scale = 1 / std::sqrt(double(c.d));
  for (int64_t b = 0; b < c.b; ++b)
    for (int64_t head = 0; head < c.h; ++head)
      for (int64_t i = 0; i < c.s; ++i) {
        int64_t group = head / (c.h / c.g);
        int64_t ofQuery = ((b * c.s + i) * c.h + head) * c.d;
        int64_t ofOut = ((b * c.s + i) * c.h + head) * c.e;
        auto key = [&](int64_t j) { return (b * c.t + j) * c.g + group; };
        std::vector<double> weight(c.t, -HUGE_VAL), cap(c.t, 1);
        double most = -HUGE_VAL, total = 0, inner = 0;
        for (int64_t j = 0; j < c.t; ++j) {
          if (c.causal && j > i + c.t - c.s)
            continue;
          double score = 0;
          for (int64_t d = 0; d < c.d; ++d)
            score += double(x.q[ofQuery + d]) * double(x.k[key(j) * c.d + d]);
          score *= scale;
          if (c.softcap > 0) {
            double squashed = std::tanh(score / c.softcap);
            cap[j] = 1 - squashed * squashed;
            score = c.softcap * squashed;
          }
          if (c.mask)
            score += double(x.mask[i * c.t + j]);
          weight[j] = score;
          most = std::fmax(most, score);
        }
        if (most == -HUGE_VAL)
          continue;
        for (double &w : weight)
          total += w = std::exp(w - most);
        logSums.push_back(float(most + std::log(total)));
        for (int64_t e = 0; e < c.e; ++e)
          inner += double(x.upper[ofOut + e]) * double(x.out[ofOut + e]);
        for (int64_t j = 0; j < c.t; ++j) {
          double p = weight[j] / total, slope = -inner;
          for (int64_t e = 0; e < c.e; ++e) {
            slope += double(x.upper[ofOut + e]) * double(x.v[key(j) * c.e + e]);
            sum.v[key(j) * c.e + e] += p * double(x.upper[ofOut + e]);
          }
          slope *= p * scale * cap[j];
          for (int64_t d = 0; d < c.d; ++d) {
            sum.q[ofQuery + d] += slope * double(x.k[key(j) * c.d + d]);
            sum.k[key(j) * c.d + d] += slope * double(x.q[ofQuery + d]);
          }
        }
      }
  return sum;
}

template <typename T>
void testGradient(const GradientCase &c, DType dtype, double limit, bool withSums = false) {
  Values<T> values(c);
  std::vector<float> logSums;
  Gradients<double> exact = plainLoops(c, values, logSums);
  if (!withSums)
    logSums.clear();
  Gradients<T> found = runGradient(c, dtype, values, 1, logSums);
  std::string what = std::to_string(c.s) + " of " + std::to_string(c.t) + " as " + dtypeName(dtype);
  EXPECT_LE(errorOf(found.q, exact.q), limit) << "query, " << what;
  EXPECT_LE(errorOf(found.k, exact.k), limit) << "key, " << what;
  EXPECT_LE(errorOf(found.v, exact.v), limit) << "value, " << what;
  // Each key head is one thread's: the bits do not depend on how many.
  Gradients<T> again = runGradient(c, dtype, values, 3, logSums);
  EXPECT_EQ(std::memcmp(again.k.data(), found.k.data(), found.k.size() * sizeof(T)), 0);
  EXPECT_EQ(std::memcmp(again.q.data(), found.q.data(), found.q.size() * sizeof(T)), 0);
}

TEST(AttentionGradient, AgreesWithPlainLoops) {
  const GradientCase cases[] = {
      {1, 1, 1, 1, 1, 4, 4, false, false, 0},
      {2, 3, 3, 17, 17, 16, 16, false, false, 0},
      {1, 4, 2, 40, 40, 32, 24, true, false, 0},
      {1, 6, 1, 5, 300, 64, 64, true, false, 0},   // one key head, bottom right
      {1, 2, 2, 150, 300, 16, 40, true, false, 0}, // several blocks of each
      {1, 2, 2, 20, 9, 8, 8, true, false, 0},      // rows that see nothing
      {2, 2, 1, 33, 150, 16, 16, false, true, 0},  // additive mask
      {1, 2, 2, 70, 150, 16, 16, false, false, 5}, // softcap, two blocks
      {1, 2, 1, 33, 50, 16, 12, true, true, 3},    // all of it
  };
  for (const GradientCase &c : cases) {
    testGradient<float>(c, DType::F32, 1e-5);
    testGradient<double>(c, DType::F64, 1e-13);
    testGradient<BFloat16>(c, DType::BF16, 6e-3);
    testGradient<Float16>(c, DType::F16, 1e-3);
  }
}

TEST(AttentionGradient, OfSmallTypesIsDoneByEveryDevice) {
  const GradientCase cases[] = {
      {2, 3, 3, 17, 17, 16, 16, true, false, 0},
      {1, 4, 2, 40, 40, 32, 32, true, false, 0}, // shared key heads
      {2, 6, 1, 9, 30, 8, 8, false, false, 0},   // as many as there are
  };
  for (const GradientCase &c : cases) {
    for (bool withSums : {false, true}) {
      testGradient<BFloat16>(c, DType::BF16, 8e-3, withSums);
      testGradient<Float16>(c, DType::F16, 1e-3, withSums);
    }
  }
}

TEST(AttentionGradient, RefusesWhatDoesNotFit) {
  Harness h;
  Id x = h.input("x", DType::F32, {1, 2, 3, 4});
  Id y = h.output("y", DType::F32, {1, 2, 3, 5});
  h.begin();
  AttentionGradient params{};
  auto whole = [&](Id id) { return h.builder.view(id); };
  h.builder.add({0, "wrong"}, params,
                {whole(x), whole(x), whole(x), whole(x), whole(x), whole(y), whole(x), whole(x)});
  weft_status status = h.open();
  EXPECT_NE(status.code, 0);
  EXPECT_NE(std::string(status.text).find("gradient of other sizes"), std::string::npos)
      << status.text;
}

} // namespace
