// Every op, random graphs and pieces of models: CUDA's kernels under all orders against the CPU's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TwinRunner.h"

#include <gtest/gtest.h>

using namespace weft::test;

static unsigned volume(unsigned reduced, unsigned all) {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && std::string(full) == "1" ? all : reduced;
}

static void check(const std::vector<KernelCase> &cases, size_t leastExact) {
  mlir::MLIRContext context(twinRegistry());
  size_t failures = 0, exact = 0;
  std::vector<CaseResult> results = runTwins(context, cases, 31, exact);
  ASSERT_EQ(results.size(), cases.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].failure.empty() && ++failures <= 10)
      ADD_FAILURE() << results[i].name << ": " << results[i].failure << "\n" << cases[i].text;
  std::printf("%zu kernels in %zu orders, %zu held to the CPU's bits, %zu failures\n",
              results.size(), turns(0).size(), exact, failures);
  EXPECT_EQ(failures, 0u);
  EXPECT_GE(exact, leastExact);
}

/// Sizes around what a thread, a warp and a block take at a time.
static const std::vector<int64_t> kSizes = {0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,   11,
                                            12, 13, 14, 15, 16, 17, 31, 33, 255, 257, 1023, 4099};

static std::vector<KernelCase> tails() {
  CaseBuilder b(1);
  std::vector<KernelCase> cases;
  std::vector<std::string> elements = floatTypes;
  elements.insert(elements.end(), integerTypes.begin(), integerTypes.end());
  for (const std::string &element : elements)
    for (int64_t size : kSizes) {
      std::string flat = CaseBuilder::type({size}, element);
      cases.push_back(b.one("add of " + std::to_string(size), {flat, flat},
                            "nn.add %0, %1 : (" + flat + ", " + flat + ") -> " + flat, {flat},
                            {{-9, 9}}));
      std::string rows = CaseBuilder::type({3, size}, element),
                  sums = CaseBuilder::type({3}, element);
      cases.push_back(b.one("maxima of " + std::to_string(size), {rows},
                            "nn.reduce max %0 dims = [1] : " + rows + " -> " + sums, {sums},
                            {{-9, 9}}));
      std::string columns = CaseBuilder::type({size, 3}, element);
      cases.push_back(b.one("column sums of " + std::to_string(size), {columns},
                            "nn.reduce sum %0 dims = [0] : " + columns + " -> " + sums, {sums},
                            {{0, 2}}));
    }
  for (const std::string &element : floatTypes)
    for (int64_t size : kSizes) {
      if (size == 0)
        continue;
      std::string rows = CaseBuilder::type({5, size}, element);
      cases.push_back(b.one("softmax of " + std::to_string(size), {rows},
                            "nn.softmax %0 dim = 1 : (" + rows + ") -> " + rows, {rows},
                            {{-3, 3}}));
    }
  return cases;
}

TEST(TwinKernels, Tails) { check(tails(), 200); }
TEST(TwinKernels, Elementwise) { check(elementwiseCases(volume(1, 4), 1), 285); }
/// Where one value ends and another begins within what a thread takes at a time.
static std::vector<KernelCase> joints() {
  CaseBuilder b(7);
  std::vector<KernelCase> cases;
  auto type = [](int64_t size, const std::string &element) {
    return CaseBuilder::type({size}, element);
  };
  for (const char *element : {"f32", "i64"})
    for (int64_t first = 1; first <= 5; ++first)
      for (int64_t second = 1; second <= 5; ++second) {
        std::string from = type(first, element), then = type(second, element),
                    to = type(first + second + 1, element), one = type(1, element);
        cases.push_back(b.one("concat", {from, then, one},
                              "nn.concat %0, %1, %2 dim = 0 : (" + from + ", " + then + ", " + one +
                                  ") -> " + to,
                              {to}, {{-9, 9}}));
      }
  // Units of rows behind those that are summed up have nothing to sum up.
  for (int64_t rows : {1, 5, 70})
    for (int64_t columns : {3, 40, 600})
      for (int64_t more : {1, 3}) {
        std::string from = CaseBuilder::type({rows, columns}, "f32"),
                    then = CaseBuilder::type({more, columns}, "f32"),
                    to = CaseBuilder::type({rows + more, columns}, "f32");
        cases.push_back(b.one("softmax and more", {from, then},
                              "nn.concat %s, %1 dim = 0 : (" + from + ", " + then + ") -> " + to,
                              {to}, {{-9, 9}}));
        std::string &text = cases.back().text;
        text.insert(text.find("%r = "),
                    "%s = nn.softmax %0 dim = 1 : (" + from + ") -> " + from + "\n  ");
      }
  for (int64_t size = 1; size <= 9; ++size)
    for (int64_t high = 1; high <= 4; ++high) {
      std::string from = type(size, "f32"), to = type(size + high, "f32");
      cases.push_back(b.one("pad", {from},
                            "nn.pad %0 low = [0] high = [" + std::to_string(high) +
                                "] value = 7.0 : f32 : " + from + " -> " + to,
                            {to}, {{-9, 9}}));
    }
  return cases;
}

TEST(TwinKernels, Joints) { check(joints(), 86); }
/// Kernels that are several alike (rt.members), each with a vector and rows of its own.
static std::vector<KernelCase> members() {
  std::vector<KernelCase> cases;
  for (int64_t count : {2, 3, 7})
    for (int64_t size : {1, 5, 300, 4099}) {
      std::string rows = CaseBuilder::type({3, size}, "f32"), sums = CaseBuilder::type({3}, "f32");
      std::string arguments, body, types, returned;
      for (int64_t i = 0; i < count; ++i) {
        std::string n = std::to_string(i), comma = i ? ", " : "";
        arguments += comma + "%x" + n + ": " + rows + ", %y" + n + ": " + rows;
        body += "  %a" + n + " = nn.add %x" + n + ", %y" + n + " : " + rows + "\n  %b" + n +
                " = nn.reduce max %a" + n + " dims = [1] : " + rows + " -> " + sums + "\n";
        types += comma + rows + ", " + sums;
        returned += comma + "%a" + n + ", %b" + n;
      }
      std::string name = "members_" + std::to_string(count) + "_" + std::to_string(size);
      cases.push_back({name,
                       "func.func @" + name + "(" + arguments + ") -> (" + types +
                           ") attributes {rt.members = " + std::to_string(count) + " : i64} {\n" +
                           body + "  return " + returned + " : " + types + "\n}",
                       {{-9, 9}}});
    }
  return cases;
}

TEST(TwinKernels, Members) { check(members(), 12); }
TEST(TwinKernels, Layout) { check(layoutCases(volume(4, 60), 2), 30); }
TEST(TwinKernels, Reductions) { check(reductionCases(volume(3, 40), 3), 20); }
TEST(TwinKernels, IndexedAndOrdered) { check(indexCases(volume(3, 40), 4), 10); }
TEST(TwinKernels, ContractAndConvolution) { check(contractCases(volume(2, 30), 5), 1); }
TEST(TwinKernels, Composite) { check(compositeCases(volume(3, 40), 6), 1); }
TEST(TwinKernels, RandomGraphs) {
  // Nearly all have an exponential, and are held to the reference.
  check(randomGraphs(volume(60, 600), 21, {"f32", "f64", "f32", "bf16"}), 2);
}
TEST(TwinKernels, OfModels) { check(modelFusions(), 4); }
