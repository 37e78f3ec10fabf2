// Sums of members' elements, in order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/Reduce.h"
#include "base/Convert.h"

#include <algorithm>
#include <type_traits>

using namespace weft::runtime;

namespace {

template <typename Acc> Acc combine(Reduction reduction, Acc a, Acc b) {
  switch (reduction) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Product:
    return a * b;
  case Reduction::Max:
    return a > b || a != a ? a : b; // NaN wins on either side. NOLINT(misc-redundant-expression)
  case Reduction::Min:
    return a < b || a != a ? a : b; // NOLINT(misc-redundant-expression): as above
  case Reduction::And:
  case Reduction::Or:
    break;
  }
  return a;
}

template <typename Acc> struct Wrapping {
  using type = Acc;
};
// Signed sums wrap like everyone's, without undefined behaviour.
template <> struct Wrapping<int8_t> {
  using type = uint8_t;
};
template <> struct Wrapping<int16_t> {
  using type = uint32_t;
};
template <> struct Wrapping<uint16_t> {
  using type = uint32_t;
};
template <> struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <> struct Wrapping<int64_t> {
  using type = uint64_t;
};

/// result[i] = sources[0][i] op sources[1][i] op ...; `result` may be one of
/// the sources. The switch over reductions stays out of the inner loops.
template <typename T, typename Acc>
void reduceSpan(Reduction reduction, const void *const *sources, int64_t members, int64_t begin,
                int64_t end, void *result) {
  constexpr int64_t kBlock = 512;
  Acc sum[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    int64_t count = std::min(kBlock, end - at);
    const T *first = static_cast<const T *>(sources[0]) + at;
    for (int64_t i = 0; i < count; ++i)
      sum[i] = Acc(first[i]);
    for (int64_t m = 1; m < members; ++m) {
      const T *next = static_cast<const T *>(sources[m]) + at;
      auto loop = [&](auto op) {
        for (int64_t i = 0; i < count; ++i)
          sum[i] = op(sum[i], Acc(next[i]));
      };
      using Wrap = typename Wrapping<Acc>::type;
      if (reduction == Reduction::Sum)
        loop([](Acc a, Acc b) { return Acc(Wrap(a) + Wrap(b)); });
      else if (reduction == Reduction::Product)
        loop([](Acc a, Acc b) { return Acc(Wrap(a) * Wrap(b)); });
      else if (reduction == Reduction::Max)
        loop([](Acc a, Acc b) { return combine(Reduction::Max, a, b); });
      else if (reduction == Reduction::Min)
        loop([](Acc a, Acc b) { return combine(Reduction::Min, a, b); });
      else if constexpr (std::is_integral_v<Acc>) {
        if (reduction == Reduction::And)
          loop([](Acc a, Acc b) { return Acc(a & b); });
        else
          loop([](Acc a, Acc b) { return Acc(a | b); });
      }
    }
    T *out = static_cast<T *>(result) + at;
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_same_v<Acc, double>)
        out[i] = roundedOnce<T>(sum[i]);
      else
        out[i] = T(sum[i]);
  }
}

} // namespace

ReduceSpan weft::runtime::reductionFor(DType type, DType accumulator) {
  if (type == DType::Bool)
    return reduceSpan<uint8_t, uint8_t>;
  ReduceSpan result = nullptr;
  withType(type, [&](auto value) {
    using T = decltype(value);
    if constexpr (!std::is_same_v<T, Boolean>) {
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
        result = accumulator == DType::F64 ? reduceSpan<T, double> : reduceSpan<T, float>;
      else if constexpr (std::is_same_v<T, float>)
        result = accumulator == DType::F64 ? reduceSpan<T, double> : reduceSpan<T, float>;
      else
        result = reduceSpan<T, T>;
    }
  });
  return result;
}
