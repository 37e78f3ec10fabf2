// What is expected of collectives by NCCL that is not of ours.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_RUNTIME_NCCLRULES_H
#define WEFT_TEST_CONFORMANCE_RUNTIME_NCCLRULES_H

#include "weft/runtime/Program.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace weft::runtime {

struct NcclRules {
  int64_t ranks;

  static bool reduces(const Collective &c) {
    return c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter;
  }

  /// Whether NCCL itself reduces floats.
  static bool isOfAnyOrder(const Collective &c) {
    return reduces(c) && c.inOrder == 0 && c.accumulator == c.dtype &&
           (c.dtype == DType::F32 || c.dtype == DType::F64) &&
           (c.reduction == Reduction::Sum || c.reduction == Reduction::Product);
  }

  /// False for what goes over the transport.
  static bool hasIt(const Collective &c) {
    bool isBitwise = c.reduction == Reduction::And || c.reduction == Reduction::Or;
    bool isWide = c.accumulator == DType::F64 && c.dtype != DType::F64;
    return !reduces(c) || (!isWide && (!isBitwise || c.dtype == DType::Bool));
  }

  /// Of numbers up to 3, one of each rank.
  bool areNear(const Collective &c, const uint8_t *got, const uint8_t *expected,
               size_t bytes) const {
    return c.dtype == DType::F64 ? areNear<double>(c, got, expected, bytes)
                                 : areNear<float>(c, got, expected, bytes);
  }

private:
  template <typename T>
  bool areNear(const Collective &c, const uint8_t *got, const uint8_t *expected,
               size_t bytes) const {
    for (size_t at = 0; at < bytes; at += sizeof(T)) {
      T a, b;
      std::memcpy(&a, got + at, sizeof(T));
      std::memcpy(&b, expected + at, sizeof(T));
      T scale = c.reduction == Reduction::Sum ? T(3 * ranks) : std::abs(b);
      bool isSame = std::memcmp(&a, &b, sizeof(T)) == 0 || a == b || (a != a && b != b);
      if (!isSame && !(std::abs(a - b) <= T(ranks) * std::numeric_limits<T>::epsilon() * scale))
        return false;
    }
    return true;
  }
};

} // namespace weft::runtime

#endif // WEFT_TEST_CONFORMANCE_RUNTIME_NCCLRULES_H
