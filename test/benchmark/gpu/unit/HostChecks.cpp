// Checks of the kit's own arithmetic, which a GPU machine's minutes must not
// be spent on: references, conventions, comparison.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/AttentionReference.h"
#include "common/Check.h"
#include "common/CollectiveReference.h"
#include "common/Gemm.h"
#include "common/Random.h"
#include "common/Report.h"
#include "parts/CollectiveRank.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

using namespace weft::gpukit;

namespace {

int checks = 0, failures = 0;

void expect(bool holds, const std::string &what) {
  ++checks;
  if (holds)
    return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

void expectNear(double found, double wanted, double tolerance, const std::string &what) {
  expect(std::fabs(found - wanted) <= tolerance,
         what + format(": %.12g, wanted %.12g", found, wanted));
}

void checkComparison() {
  std::vector<double> reference;
  for (uint64_t i = 0; i < 1000; ++i)
    reference.push_back(normalAt(1, i, 1));
  auto with = [&](auto &&change) {
    std::vector<double> out = reference;
    change(out);
    return compare(out, reference, bf16Tolerance).ok;
  };
  expect(with([](auto &) {}), "equal values pass");
  expect(with([](auto &out) {
           for (double &value : out)
             value = bf16Value(bf16Bits(float(value)));
         }),
         "values rounded to bf16 pass");
  expect(!with([](auto &out) { out[500] += 0.1; }),
         "one element off by a tenth of the scale fails");
  expect(!with([](auto &out) { std::swap(out[3], out[4]); }), "two exchanged elements fail");
  expect(!with([](auto &out) {
    for (double &value : out)
      value *= 1.01;
  }),
         "one percent everywhere fails");
  expect(!with([](auto &out) { out[999] = NAN; }), "a NaN fails");
  expect(!with([](auto &out) { out[0] = INFINITY; }), "an infinity fails");
  expect(!with([](auto &out) { out.pop_back(); }), "a missing element fails");
  expect(!with([](auto &out) { std::fill(out.begin(), out.end(), 0.0); }), "zeros fail");
  expect(!compare({}, {}, bf16Tolerance).ok, "nothing compared is no success");
  expect(!compare({1e-30}, {0}, bf16Tolerance).ok, "a zero reference wants an exact zero");
}

void checkRowComparison() {
  constexpr size_t width = 16;
  std::vector<double> reference;
  for (uint64_t i = 0; i < 8 * width; ++i)
    reference.push_back(normalAt(3, i, i < width ? 100.0f : 0.5f));
  auto ok = [&](auto &&change) {
    std::vector<double> out = reference;
    change(out);
    return compareRows(out, reference, width, bf16Tolerance, 1e-3).ok;
  };
  expect(ok([](auto &) {}), "equal rows pass");
  auto spoilSmall = [](auto &out) { out[5 * width] += 0.2; };
  expect(!ok(spoilSmall), "a fault in a small row fails");
  std::vector<double> spoilt = reference;
  spoilSmall(spoilt);
  expect(compare(spoilt, reference, bf16Tolerance).ok,
         "which one scale for all rows would not see");
  expect(!ok([](auto &out) { out[20] = NAN; }), "a NaN in a row fails");
  expect(!ok([](auto &out) { out.resize(7 * width); }), "a missing row fails");
  for (size_t i = 0; i < width; ++i)
    reference[2 * width + i] = 0;
  expect(ok([](auto &out) { out[2 * width] = 1e-6; }), "noise in a row of zeros passes");
  expect(!ok([](auto &out) { out[2 * width] = 1; }), "more than noise in a row of zeros fails");
}

void checkRandom() {
  expect(bf16Bits(1.0f) == 0x3F80 && bf16Bits(-2.0f) == 0xC000, "bf16 of powers of two");
  expect(bf16Bits(1.00390625f) == 0x3F80,
         "a tie goes to the even neighbour below"); // 1 + 2^-8
  expect(bf16Bits(1.01171875f) == 0x3F82,
         "a tie goes to the even neighbour above"); // 1 + 3 * 2^-8
  double sum = 0, squares = 0;
  std::set<uint64_t> distinct;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    double value = normalAt(7, uint64_t(i), 2);
    sum += value;
    squares += value * value;
    distinct.insert(mixBits(7, uint64_t(i)));
  }
  expectNear(sum / count, 0, 0.03, "mean of random values");
  expectNear(std::sqrt(squares / count), 2, 0.03, "their standard deviation");
  expect(distinct.size() == count, "bits repeat");
  expect(normalAt(1, 5, 1) != normalAt(2, 5, 1), "seeds give different data");
}

void checkStats() {
  std::vector<double> values;
  for (int i = 21; i-- > 0;)
    values.push_back(i);
  Stats stats = statsOf(values);
  expect(stats.samples == 21 && stats.median == 10 && stats.p25 == 5 && stats.p75 == 15 &&
             stats.min == 0 && stats.max == 20,
         "median and quartiles");
  bool refused = false;
  try {
    result(statsOf({1, 2, 3}), 1, "GB/s", Check());
  } catch (const Failure &) {
    refused = true;
  }
  expect(refused, "fewer than 20 samples are no result");
}

/// What cuBLASLt's documentation says its matmul computes, column-major with
/// leading dimensions.
double ltElement(const LtForm &form, const std::vector<double> &a, const std::vector<double> &b,
                 int64_t row, int64_t col) {
  double sum = 0;
  for (int64_t k = 0; k < form.k; ++k) {
    double left =
        form.transposeA ? a[size_t(k + row * form.rowsA)] : a[size_t(row + k * form.rowsA)];
    double right =
        form.transposeB ? b[size_t(col + k * form.rowsB)] : b[size_t(k + col * form.rowsB)];
    sum += left * right;
  }
  return sum;
}

void checkGemm() {
  const int64_t tokens = 5, in = 7, out = 3;
  for (Pass pass : {Pass::forward, Pass::inputGrad, Pass::weightGrad}) {
    GemmShape shape{"test", tokens, in, out, pass, Epilogue::none};
    LtForm form = ltForm(shape);
    GemmData data = gemmData(form, Type::bf16);
    std::vector<double> a, b;
    for (uint64_t i = 0; i < form.elementsA(); ++i)
      a.push_back(valueAt(data.seedA, i, data.sigmaA, data.type));
    for (uint64_t i = 0; i < form.elementsB(); ++i)
      b.push_back(valueAt(data.seedB, i, data.sigmaB, data.type));
    // The buffers as the model sees them, row-major: which of them is A and
    // which B is part of the convention.
    auto x = [&](int64_t t, int64_t k) {
      return (pass == Pass::weightGrad ? a : b)[size_t(t * in + k)];
    };
    auto w = [&](int64_t n, int64_t k) { return a[size_t(n * in + k)]; };
    auto dy = [&](int64_t t, int64_t n) { return b[size_t(t * out + n)]; };
    int64_t rows = pass == Pass::weightGrad ? out : tokens,
            columns = pass == Pass::forward ? out : in;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        double wanted = 0;
        if (pass == Pass::forward)
          for (int64_t k = 0; k < in; ++k)
            wanted += x(r, k) * w(c, k);
        else if (pass == Pass::inputGrad)
          for (int64_t n = 0; n < out; ++n)
            wanted += dy(r, n) * w(n, c);
        else
          for (int64_t t = 0; t < tokens; ++t)
            wanted += dy(t, r) * x(t, c);
        // Element (r, c) of the row-major result is element (c, r) of the
        // column-major one.
        expectNear(ltElement(form, a, b, c, r), wanted, 1e-12,
                   toString(pass) + ", cuBLASLt's form");
        expectNear(referenceAt(form, data, Epilogue::none, c, r), wanted, 1e-12,
                   toString(pass) + ", reference");
        expect(form.m == columns && form.n == rows, toString(pass) + ", extents");
      }
  }
  GemmShape fc{"fc", tokens, in, out, Pass::forward, Epilogue::geluAuxBias};
  LtForm form = ltForm(fc);
  GemmData data = gemmData(form, Type::bf16);
  expect(form.biasLength(fc.epilogue) == out, "a bias has one element per output feature");
  double aux = 0, fused = referenceAt(form, data, Epilogue::geluAuxBias, 2, 1, &aux);
  double biased = referenceAt(form, data, Epilogue::bias, 2, 1);
  expectNear(aux, biased, 1e-12, "aux is the biased product");
  expectNear(fused, gelu(biased), 1e-12, "GELU of the biased product");
  expectNear(biased - referenceAt(form, data, Epilogue::none, 2, 1),
             valueAt(data.seedBias, 2, data.sigmaBias, data.type), 1e-12,
             "the bias is that of the row");
  LtForm weight = ltForm({"fc", tokens, in, out, Pass::weightGrad, Epilogue::weightBiasGrad});
  double sum = 0;
  for (int64_t t = 0; t < tokens; ++t)
    sum +=
        valueAt(data.seedB, uint64_t(t * out + 1), gemmData(weight, Type::bf16).sigmaB, Type::bf16);
  expectNear(referenceBiasGradAt(weight, gemmData(weight, Type::bf16), 1), sum, 1e-12,
             "bias gradient");
  expect(weight.biasLength(Epilogue::weightBiasGrad) == out, "and its length");

  expectNear(gelu(1), 0.841192, 1e-6, "GELU of 1, tanh form");
  for (double point : {-3.0, -0.5, 0.0, 0.7, 2.0})
    expectNear(geluDerivative(point), (gelu(point + 1e-6) - gelu(point - 1e-6)) / 2e-6, 1e-8,
               "GELU's derivative");

  std::vector<uint64_t> places = samplePlaces({40, 30, 8, false, false, 40, 8, 8, 30}, 64, 3);
  std::set<uint64_t> set(places.begin(), places.end());
  expect(set.size() == places.size() && places.back() < 1200 && places.size() >= 64,
         "places are distinct and inside");
  expect(set.count(0) && set.count(39) && set.count(1160) && set.count(1199),
         "the corners are among them");
}

/// sum(O * dO) of the plainest attention there is, whose differences are the
/// gradients.
double attentionLoss(const AttentionShape &shape, const std::vector<double> &packed,
                     const std::vector<double> &gradient, std::vector<double> *output = nullptr) {
  double loss = 0;
  if (output)
    output->assign(size_t(shape.outputElements()), 0);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.queryHeads; ++h)
      for (int64_t t = 0; t < shape.time; ++t) {
        int64_t group = h * shape.keyHeads / shape.queryHeads;
        std::vector<double> weights;
        double total = 0;
        for (int64_t j = 0; j < (shape.causal ? t + 1 : shape.time); ++j) {
          double score = 0;
          for (int64_t i = 0; i < shape.depth; ++i)
            score += packed[size_t(shape.packedRow(b, t, h)) + size_t(i)] *
                     packed[size_t(shape.packedRow(b, j, shape.queryHeads + group)) + size_t(i)];
          weights.push_back(std::exp(score / std::sqrt(double(shape.depth))));
          total += weights.back();
        }
        for (int64_t i = 0; i < shape.depth; ++i) {
          double value = 0;
          for (size_t j = 0; j < weights.size(); ++j)
            value += weights[j] / total *
                     packed[size_t(shape.packedRow(b, int64_t(j),
                                                   shape.queryHeads + shape.keyHeads + group)) +
                            size_t(i)];
          size_t place = size_t(shape.outputRow(b, t, h)) + size_t(i);
          loss += value * gradient[place];
          if (output)
            (*output)[place] = value;
        }
      }
  return loss;
}

void checkAttention() {
  for (const AttentionShape &shape :
       {AttentionShape{2, 2, 2, 5, 4, true}, {1, 4, 2, 6, 4, true}, {1, 2, 1, 4, 8, false}}) {
    AttentionData data;
    data.roundsOutput = false;
    std::vector<double> packed, gradient, output;
    for (uint64_t i = 0; i < shape.packedElements(); ++i)
      packed.push_back(bf16NormalAt(data.seedPacked, i, data.sigma));
    for (uint64_t i = 0; i < shape.outputElements(); ++i)
      gradient.push_back(bf16NormalAt(data.seedGradient, i, data.sigma));
    attentionLoss(shape, packed, gradient, &output);
    auto difference = [&](uint64_t place) {
      constexpr double step = 1e-5;
      std::vector<double> moved = packed;
      moved[size_t(place)] += step;
      double above = attentionLoss(shape, moved, gradient);
      moved[size_t(place)] -= 2 * step;
      return (above - attentionLoss(shape, moved, gradient)) / (2 * step);
    };
    int64_t b = shape.batch - 1, head = shape.keyHeads - 1;
    AttentionReference reference(shape, data, b, head);
    for (int64_t t = 0; t < shape.time; ++t)
      for (int64_t i = 0; i < shape.depth; ++i) {
        for (int64_t member = 0; member < reference.groupSize(); ++member) {
          int64_t h = reference.queryHead(member);
          expectNear(reference.output(member, t)[size_t(i)],
                     output[size_t(shape.outputRow(b, t, h)) + size_t(i)], 1e-12,
                     "attention output");
          expectNear(reference.queryGradient(member, t)[size_t(i)],
                     difference(shape.packedRow(b, t, h) + uint64_t(i)), 1e-7,
                     "gradient of queries");
        }
        expectNear(reference.keyGradient(t)[size_t(i)],
                   difference(shape.packedRow(b, t, shape.queryHeads + head) + uint64_t(i)), 1e-7,
                   "gradient of keys");
        expectNear(reference.valueGradient(t)[size_t(i)],
                   difference(shape.packedRow(b, t, shape.queryHeads + shape.keyHeads + head) +
                              uint64_t(i)),
                   1e-7, "gradient of values");
      }
    // exp(score - statistics) sums to one over a row.
    expect(reference.stats(0, 0) == reference.stats(0, 0), "statistics are numbers");
  }
  AttentionShape shape{2, 8, 2, 16, 4, true};
  expect(shape.keyHeadOf(0) == 0 && shape.keyHeadOf(3) == 0 && shape.keyHeadOf(4) == 1 &&
             shape.keyHeadOf(7) == 1,
         "consecutive query heads share a key head");
  expectNear(shape.forwardFlops(), 4.0 * 2 * 8 * 16 * 16 * 4 / 2, 0, "flops of causal attention");
}

/// Each collective as NCCL's header describes it, over all ranks' whole
/// buffers.
void checkCollectives() {
  constexpr uint64_t count = 6;
  for (int world : {2, 4})
    for (int root : {0, world - 1})
      for (Collective collective : allCollectives) {
        auto sent = [&](int rank, uint64_t i) {
          return double(bf16NormalAt(collectiveSeed + uint64_t(rank), i, 1));
        };
        for (int rank = 0; rank < world; ++rank) {
          std::vector<double> wanted;
          auto block = [&](int from, uint64_t start) {
            for (uint64_t i = 0; i < count; ++i)
              wanted.push_back(sent(from, start + i));
          };
          auto sum = [&](uint64_t start) {
            for (uint64_t i = 0; i < count; ++i) {
              double total = 0;
              for (int from = 0; from < world; ++from)
                total += sent(from, start + i);
              wanted.push_back(total);
            }
          };
          switch (collective) {
          case Collective::allReduce:
            sum(0);
            break;
          case Collective::reduce:
            if (rank == root)
              sum(0);
            break;
          case Collective::broadcast:
            block(root, 0);
            break;
          case Collective::allGather:
            for (int from = 0; from < world; ++from)
              block(from, 0);
            break;
          case Collective::reduceScatter:
            sum(uint64_t(rank) * count);
            break;
          case Collective::allToAll:
            for (int from = 0; from < world; ++from)
              block(from, uint64_t(rank) * count);
            break;
          case Collective::gather:
            for (int from = 0; rank == root && from < world; ++from)
              block(from, 0);
            break;
          case Collective::scatter:
            block(root, uint64_t(rank) * count);
            break;
          case Collective::sendRecv:
            block(rank == 0 ? world - 1 : rank - 1, 0);
            break;
          }
          std::string name = format("%s, rank %d of %d", toString(collective).c_str(), rank, world);
          expect(collectiveSizes(collective, world, rank, root, count).receive == wanted.size(),
                 name + ": size");
          for (uint64_t i = 0; i < wanted.size(); ++i)
            expectNear(collectiveAt(collective, world, rank, root, count, i, true),
                       wanted[size_t(i)], 1e-12, name);
        }
      }
  RankResult result;
  result.name = collectiveCases(2).front().name(2);
  result.check = {true, 1e-4, 2e-3, 77, 1};
  result.times = {20, 2, 1, 3, 0.5, 9};
  auto parsed = RankResult::parse(result.line());
  expect(parsed && parsed->name == result.name && parsed->check.ok &&
             parsed->check.compared == 77 && parsed->check.notFinite == 1 &&
             parsed->times.samples == 20 && parsed->times.median == 2 && parsed->times.p75 == 3 &&
             parsed->times.max == 9,
         "a rank's line reads back");
  expect(!RankResult::parse("result\ttoo few\t1") && !RankResult::parse("NCCL WARN anything"),
         "other lines are no results");
  std::set<std::string> names;
  for (const CollectiveCase &test : collectiveCases(2))
    names.insert(test.name(2));
  expect(names.size() == collectiveCases(2).size(), "cases have names of their own");
}

} // namespace

int main() {
  checkComparison();
  checkRowComparison();
  checkRandom();
  checkStats();
  checkGemm();
  checkAttention();
  checkCollectives();
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 1000 ? 0 : 1;
}
