// Kernels of ops that move, look up and order values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

#include <algorithm>
#include <numeric>

namespace weft::test {

static const std::vector<std::string> someTypes = {"f64", "f32", "bf16", "f16",
                                                   "i64", "i32", "ui8",  "i1"};

static int64_t product(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
}

std::vector<KernelCase> layoutCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto type = CaseBuilder::type;
  auto list = CaseBuilder::list;
  for (unsigned i = 0; i < count; ++i) {
    std::string e = b.pick(someTypes);
    auto simple = [&](const std::string &what, const Shape &from, const Shape &to,
                      const std::string &attrs) {
      cases.push_back(
          b.one(what, {type(from, e)},
                "nn." + what + " %0 " + attrs + " : " + type(from, e) + " -> " + type(to, e),
                {type(to, e)}, {}));
    };
    { // broadcast
      Shape to = b.shape(1, 4), from, dims;
      for (size_t d = 0; d < to.size(); ++d)
        if (b.chance(0.5)) {
          from.push_back(to[d]);
          dims.push_back(d);
        }
      simple("broadcast", from, to, "dims = " + list(dims));
    }
    { // reshape: any factorization of the same count
      Shape from = b.shape(0, 4), to;
      int64_t rest = product(from);
      while (rest > 1 && to.size() < 4) {
        std::vector<int64_t> divisors;
        for (int64_t d = 1; d <= rest; ++d)
          if (rest % d == 0)
            divisors.push_back(d);
        int64_t size = to.size() == 3 ? rest : b.pick(divisors);
        to.push_back(size);
        rest /= size;
      }
      if (rest > 1)
        to.back() *= rest;
      simple("reshape", from, to, "");
    }
    { // transpose
      Shape from = b.shape(1, 4), permutation(from.size()), to;
      std::iota(permutation.begin(), permutation.end(), 0);
      std::shuffle(permutation.begin(), permutation.end(), b.random);
      for (int64_t dim : permutation)
        to.push_back(from[dim]);
      simple("transpose", from, to, "permutation = " + list(permutation));
    }
    { // reverse
      Shape from = b.shape(1, 4), dims;
      for (size_t d = 0; d < from.size(); ++d)
        if (b.chance(0.5))
          dims.push_back(d);
      simple("reverse", from, from, "dims = " + list(dims));
    }
    { // slice
      Shape from = b.shape(1, 4), starts, strides, to;
      for (int64_t size : from) {
        int64_t start = b.uniform(0, size - 1), stride = b.uniform(1, 3);
        starts.push_back(start);
        strides.push_back(stride);
        to.push_back(b.uniform(1, (size - 1 - start) / stride + 1));
      }
      simple("slice", from, to, "starts = " + list(starts) + " strides = " + list(strides));
    }
    { // pad
      Shape from = b.shape(1, 3), low, high, to;
      for (int64_t size : from) {
        low.push_back(b.uniform(0, 3));
        high.push_back(b.uniform(0, 3));
        to.push_back(size + low.back() + high.back());
      }
      std::string value = e[0] == 'f' || e[0] == 'b' ? "1.5 : " + e
                          : e == "i1"                ? "true"
                                                     : "7 : " + e;
      simple("pad", from, to, "low = " + list(low) + " high = " + list(high) + " value = " + value);
    }
    { // concat
      Shape shape = b.shape(1, 3), to = shape;
      int64_t dim = b.uniform(0, int64_t(shape.size()) - 1);
      to[dim] = 0;
      std::vector<std::string> types;
      std::string operands, text;
      for (int64_t part = b.uniform(1, 4); part > 0; --part) {
        shape[dim] = b.uniform(part == 2 ? 0 : 1, 5);
        to[dim] += shape[dim];
        operands += (types.empty() ? "%" : ", %") + std::to_string(types.size());
        text += (types.empty() ? "" : ", ") + type(shape, e);
        types.push_back(type(shape, e));
      }
      cases.push_back(b.one("concat", types,
                            "nn.concat " + operands + " dim = " + std::to_string(dim) + " : (" +
                                text + ") -> " + type(to, e),
                            {type(to, e)}, {}));
    }
    { // iota and a constant, added so that both are used
      std::string t = type({b.uniform(1, 70)}, e == "i1" ? "i32" : e);
      cases.push_back(b.one("iota", {}, "nn.iota : " + t, {t}, {}));
    }
  }
  return cases;
}

std::vector<KernelCase> indexCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto type = CaseBuilder::type;
  auto list = CaseBuilder::list;
  for (unsigned i = 0; i < count; ++i) {
    { // gather and scatter of each kind
      Shape operand = b.shape(1, 4, 7), dims(operand.size());
      std::iota(dims.begin(), dims.end(), 0);
      std::shuffle(dims.begin(), dims.end(), b.random);
      int64_t indexedCount = b.uniform(1, std::min<int64_t>(2, dims.size()));
      Shape indexed(dims.begin(), dims.begin() + indexedCount), batch;
      if (int64_t(dims.size()) > indexedCount && b.chance(0.4))
        batch.push_back(dims[indexedCount]);
      Shape indices = b.shape(0, 2, 5), indicesBatch, window;
      if (!batch.empty()) {
        int64_t at = b.uniform(0, indices.size());
        indices.insert(indices.begin() + at, operand[batch[0]]);
        indicesBatch.push_back(at);
      }
      window = indices;
      for (size_t d = 0; d < operand.size(); ++d)
        if (std::find(indexed.begin(), indexed.end(), int64_t(d)) == indexed.end() &&
            std::find(batch.begin(), batch.end(), int64_t(d)) == batch.end())
          window.push_back(operand[d]);
      indices.push_back(indexedCount);
      std::string attrs = " indexed = " + list(indexed) + " operand_batch = " + list(batch) +
                          " indices_batch = " + list(indicesBatch);
      std::string e = b.pick(someTypes);
      std::string it = type(indices, b.pick<std::string>({"i64", "i32"}));
      std::string ot = type(operand, e), wt = type(window, e);
      // Some indices are out of range.
      Range index{-1, double(operand[indexed[0]])};
      cases.push_back(b.one("gather", {ot, it},
                            "nn.gather %0, %1" + attrs + " : (" + ot + ", " + it + ") -> " + wt,
                            {wt}, {{}, index}));
      std::string kind = b.pick<std::string>({"assign", "add", "mul", "max", "min"});
      if (e == "i1")
        kind = "assign";
      // Sums of few numbers, so that integers of 8 bits wrap alike.
      cases.push_back(b.one("scatter " + kind, {ot, it, wt},
                            "nn.scatter " + kind + " %0, %1, %2" + attrs + " : (" + ot + ", " + it +
                                ", " + wt + ") -> " + ot,
                            {ot}, {{}, index, {}}));
    }
    for (const std::string &e : {b.pick(floatTypes), b.pick(integerTypes)}) { // scan
      Shape shape = b.shape(1, 3);
      std::string t = type(shape, e);
      std::string kind = b.pick<std::string>({"sum", "prod", "max", "min"});
      std::string attrs =
          b.pick<std::string>({"", " {exclusive}", " {reverse}", " {exclusive, reverse}"});
      // Products stay near one.
      Range range = kind == "prod" ? Range{0.8, 1.2} : Range{-3, 3};
      cases.push_back(b.one("scan " + kind, {t},
                            "nn.scan " + kind + " %0 dim = " +
                                std::to_string(b.uniform(0, int64_t(shape.size()) - 1)) + attrs +
                                " : " + t + " -> " + t,
                            {t}, {range}));
    }
    for (const std::string &e : {b.pick(floatTypes), b.pick(integerTypes)}) { // top_k, with ties
      Shape shape = b.shape(1, 3);
      int64_t dim = b.uniform(0, int64_t(shape.size()) - 1);
      Shape to = shape;
      to[dim] = b.uniform(1, shape[dim]);
      std::string from = type(shape, e), values = type(to, e), indices = type(to, "i64");
      cases.push_back(b.one("top_k", {from},
                            "nn.top_k %0 dim = " + std::to_string(dim) +
                                (b.chance(0.5) ? " {smallest}" : "") + " : (" + from + ") -> (" +
                                values + ", " + indices + ")",
                            {values, indices}, {{-5, 5}}));
    }
  }
  return cases;
}

} // namespace weft::test
