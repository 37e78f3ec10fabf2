// Fusions: random graphs, and those that models are made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace weft::test;

static void check(const std::vector<KernelCase> &cases, unsigned optLevel) {
  mlir::MLIRContext context(testRegistry());
  size_t failures = 0, done = 0;
  for (const Share &share : sharesOf(cases, /*everyLevel=*/false, 77)) {
    std::vector<CaseResult> results =
        runCases(context, share.cases, {share.processor, optLevel}, 77);
    ASSERT_EQ(results.size(), share.cases.size());
    for (size_t i = 0; i < results.size(); ++i)
      if (!results[i].failure.empty() && ++failures <= 10)
        ADD_FAILURE() << results[i].name << " for " << share.processor << ": " << results[i].failure
                      << "\n"
                      << share.cases[i].text;
    done += results.size();
  }
  std::printf("%zu fusions, %zu failures\n", done, failures);
}

static unsigned volume(unsigned reduced, unsigned all) {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && std::string(full) == "1" ? all : reduced;
}

TEST(Fusions, RandomGraphs) { check(randomGraphs(volume(150, 2000), 1), 1); }
TEST(Fusions, RandomGraphsOptimized) { check(randomGraphs(volume(40, 500), 2), 3); }
TEST(Fusions, OfModels) { check(modelFusions(), 3); }
TEST(Fusions, OfModelsQuicklyCompiled) { check(modelFusions(), 1); }
