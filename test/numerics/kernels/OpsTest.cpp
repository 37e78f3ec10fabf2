// Every op in every element type on random shapes, against the reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace weft::test;

static bool fullVolume() {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && std::string(full) == "1";
}

static void check(const std::vector<KernelCase> &cases, unsigned optLevel, size_t least) {
  mlir::MLIRContext context(testRegistry());
  uint64_t seed = 20;
  size_t failures = 0, done = 0;
  for (const Share &share : sharesOf(cases, fullVolume(), seed)) {
    std::vector<CaseResult> results =
        runCases(context, share.cases, {share.processor, optLevel}, seed);
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i].failure.empty() && ++failures <= 20)
        ADD_FAILURE() << results[i].name << " for " << share.processor << ": " << results[i].failure
                      << "\n"
                      << share.cases[i].text;
    done += results.size();
    std::printf("%zu kernels for %s, seed %llu\n", results.size(), share.processor.c_str(),
                (unsigned long long)seed);
  }
  std::printf("%zu kernels, %zu failures\n", done, failures);
  EXPECT_EQ(failures, 0u);
  EXPECT_GE(cases.size(), least);
}

TEST(Kernels, Elementwise) { check(elementwiseCases(fullVolume() ? 8 : 1, 1), 1, 300); }
TEST(Kernels, Layout) { check(layoutCases(fullVolume() ? 100 : 10, 2), 1, 80); }
TEST(Kernels, Reductions) { check(reductionCases(fullVolume() ? 60 : 8, 3), 1, 100); }
TEST(Kernels, IndexedAndOrdered) { check(indexCases(fullVolume() ? 60 : 8, 4), 1, 48); }
TEST(Kernels, ContractAndConvolution) { check(contractCases(fullVolume() ? 60 : 8, 5), 1, 60); }
TEST(Kernels, Composite) { check(compositeCases(fullVolume() ? 60 : 8, 6), 1, 60); }
TEST(Kernels, OptimizedSample) {
  std::vector<KernelCase> cases;
  for (auto &&part : {elementwiseCases(1, 7), layoutCases(3, 8), reductionCases(2, 9),
                      indexCases(2, 10), contractCases(2, 11), compositeCases(3, 12)})
    cases.insert(cases.end(), part.begin(), part.end());
  // Every fifth, at full optimization and with larger vectors of work.
  std::vector<KernelCase> sample;
  for (size_t i = 0; i < cases.size(); i += fullVolume() ? 1 : 5)
    sample.push_back(cases[i]);
  check(sample, 3, 80);
}
