// Generators of kernels: of one op each, random graphs, pieces of models.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_KERNELS_OPCASES_H
#define WEFT_TEST_NUMERICS_KERNELS_OPCASES_H

#include "KernelRunner.h"

namespace weft::test {

/// `count` cases of each op and element type.
std::vector<KernelCase> elementwiseCases(unsigned count, uint64_t seed);
std::vector<KernelCase> layoutCases(unsigned count, uint64_t seed);
std::vector<KernelCase> reductionCases(unsigned count, uint64_t seed);
std::vector<KernelCase> indexCases(unsigned count, uint64_t seed);
std::vector<KernelCase> contractCases(unsigned count, uint64_t seed);
std::vector<KernelCase> compositeCases(unsigned count, uint64_t seed);

/// Random graphs of ops, whose values stay small; elements take turns.
std::vector<KernelCase> randomGraphs(unsigned count, uint64_t seed,
                                     const std::vector<std::string> &elements = {"f64", "f32",
                                                                                 "f32"});
/// What fused pieces of a transformer look like, with sizes that exercise chunks, remainders and
/// temporaries.
std::vector<KernelCase> modelFusions();

using Shape = std::vector<int64_t>;

/// Random shapes and the text of ops.
class CaseBuilder {
public:
  explicit CaseBuilder(uint64_t seed) : random(seed) {}

  std::mt19937_64 random;

  int64_t uniform(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random) < p; }
  Shape shape(int64_t leastRank, int64_t greatestRank, int64_t greatest = 9);
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[uniform(0, int64_t(from.size()) - 1)];
  }

  /// `tensor<2x3xf32>` and `[2, 3]`.
  static std::string type(const Shape &shape, const std::string &element);
  static std::string list(const Shape &values);

  /// One op: `body` is its text after `=`, with arguments %0, %1, ... of
  /// `arguments` and results of `results`.
  KernelCase one(const std::string &what, const std::vector<std::string> &arguments,
                 const std::string &body, const std::vector<std::string> &results,
                 std::vector<Range> ranges);
};

extern const std::vector<std::string> floatTypes, integerTypes;

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_KERNELS_OPCASES_H
