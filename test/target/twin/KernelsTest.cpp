// Every op, random graphs and pieces of models: CUDA's kernels under all orders against the CPU's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowPasses.h"
#include "TwinRunner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

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

/// log(sum(exp(x))) of rows as a loss takes it. `special`, which is no number, stands in the
/// columns before `until`, and in all of the first row: all that a thread has seen by then.
static KernelCase logSum(int64_t size, const std::string &special, int64_t until) {
  std::string rows = CaseBuilder::type({3, size}, "f32"), sums = "tensor<3xf32>",
              places = CaseBuilder::type({3, size}, "i64"),
              masks = CaseBuilder::type({3, size}, "i1"),
              name = "log_sum_" + std::to_string(size) + "_" + std::to_string(until);
  auto splat = [](const std::string &number, const std::string &type) {
    return "nn.constant dense<" + number + "> : " + type + " : " + type;
  };
  return {
      name,
      "func.func @" + name + "(%x: " + rows + ") -> " + sums +
          " {\n  %i = nn.iota : tensor<3xi64>\n  %r = nn.broadcast %i dims = [0] : tensor<3xi64> "
          "-> " +
          places + "\n  %n = " + splat("100000", places) + "\n  %s = nn.mul %r, %n : " + places +
          "\n  %j = nn.iota : " + CaseBuilder::type({size}, "i64") +
          "\n  %c = nn.broadcast %j dims = [1] : " + CaseBuilder::type({size}, "i64") + " -> " +
          places + "\n  %u = " + splat(std::to_string(until), places) +
          "\n  %p = nn.add %c, %s : " + places + "\n  %first = nn.compare lt %p, %n : (" + places +
          ", " + places + ") -> " + masks + "\n  %front = nn.compare lt %c, %u : (" + places +
          ", " + places + ") -> " + masks + "\n  %m = nn.or %first, %front : " + masks +
          "\n  %v = " + splat(special, rows) + "\n  %y = nn.select %m, %v, %x : (" + masks + ", " +
          rows + ", " + rows + ") -> " + rows + "\n  %g = nn.reduce max %y dims = [1] : " + rows +
          " -> " + sums + "\n  %b = nn.broadcast %g dims = [0] : " + sums + " -> " + rows +
          "\n  %d = nn.sub %y, %b : " + rows + "\n  %e = nn.exp %d : " + rows +
          "\n  %t = nn.reduce sum %e dims = [1] : " + rows + " -> " + sums +
          "\n  %l = nn.log %t : " + sums + "\n  %z = nn.add %l, %g : " + sums +
          "\n  return %z : " + sums + "\n}",
      {{-30, 30}}};
}

static std::vector<KernelCase> logSums() {
  std::vector<KernelCase> cases;
  for (int64_t size : {31, 32, 257, 1024, 4099, 50304})
    for (int64_t until : {int64_t(0), size / 2, size - 1})
      for (const char *special : {"0xFF800000", "0x7F800000", "0x7FC00000", "-3.0e38"}) {
        cases.push_back(logSum(size, special, until));
        // Names are of functions.
        std::string &text = cases.back().text, number = std::to_string(cases.size());
        text.insert(text.find('('), "_" + number);
        cases.back().name += "_" + number;
      }
  return cases;
}

TEST(TwinKernels, Tails) { check(tails(), 200); }
TEST(TwinKernels, RowsAndColumns) { check(rowsAndColumns(), 0); }
TEST(TwinKernels, RowsInPlace) { check(rowsInPlace(), 0); }
TEST(TwinKernels, LogSums) { check(logSums(), 0); }
TEST(TwinKernels, Elementwise) { check(elementwiseCases(volume(1, 4), 1), 285); }
/// Where one value ends and another begins within what a thread takes at a time.
/// Results of one shape are computed together; one reads the first by a reshape.
static KernelCase togetherByReshape(const std::string &shape) {
  std::string type = "tensor<" + shape + "xf32>", name = "together_" + shape,
              rows = "tensor<" + shape.substr(0, shape.rfind('x')) + "xf32>",
              two = "(" + type + ", " + type + ") -> " + type;
  return {name,
          "func.func @" + name + "(%x: " + type + ", %y: " + rows + ") -> (" + type + ", " + type +
              ") {\n  %a = nn.add %x, %x : " + two + "\n  %t = nn.tanh %a : (" + type + ") -> " +
              type + "\n  %r = nn.reshape %t : " + type + " -> " + type +
              "\n  %b = nn.broadcast %y dims = [0, 1] : " + rows + " -> " + type +
              "\n  %s = nn.add %r, %b : " + two + "\n  return %a, %s : " + type + ", " + type +
              "\n}",
          {{-1, 1}}};
}

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
  for (const char *shape : {"3x1x5", "3x7x5", "3x7x8", "40x9x100"})
    cases.push_back(togetherByReshape(shape));
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

/// A scatter of `kind` of elements `e` into `operand`: the last dim of `indices` says where along
/// the dims `indexed`.
static KernelCase scatter(CaseBuilder &b, const std::string &kind, const std::string &e,
                          const Shape &operand, const Shape &indices, const Shape &indexed,
                          Range index) {
  Shape window(indices.begin(), indices.end() - 1);
  for (int64_t dim = 0; dim < int64_t(operand.size()); ++dim)
    if (std::find(indexed.begin(), indexed.end(), dim) == indexed.end())
      window.push_back(operand[dim]);
  std::string ot = CaseBuilder::type(operand, e), it = CaseBuilder::type(indices, "i64"),
              wt = CaseBuilder::type(window, e);
  return b.one("scatter " + kind, {ot, it, wt},
               "nn.scatter " + kind + " %0, %1, %2 indexed = " + CaseBuilder::list(indexed) +
                   " operand_batch = [] indices_batch = [] : (" + ot + ", " + it + ", " + wt +
                   ") -> " + ot,
               {ot}, {{-9, 9}, index, {-2, 2}});
}

/// Parts of rows by a block each, of which many changes hit the same: sizes around what a lane, a
/// warp, a list and a part of the rows take; indices outside on both sides.
static std::vector<KernelCase> changedRows() {
  CaseBuilder b(11);
  std::vector<KernelCase> cases;
  for (const char *kind : {"add", "assign", "mul", "max", "min"})
    for (const char *element : {"f32", "bf16", "i64", "ui8"})
      cases.push_back(scatter(b, kind, element, {7, 8}, {70, 1}, {0}, {-1, 7}));
  for (int64_t updates : {0, 1, 31, 32, 33, 257, 1025})
    for (int64_t columns : {1, 3, 4, 32, 36})
      cases.push_back(scatter(b, "add", "f32", {6, columns}, {updates, 1}, {0}, {-2, 8}));
  for (const Shape &none : {Shape{0, 4}, Shape{4, 0}})
    cases.push_back(scatter(b, "add", "f32", none, {5, 1}, {0}, {-1, 4}));
  cases.push_back(scatter(b, "assign", "i1", {5, 16}, {40, 1}, {0}, {0, 4}));
  // Parts of 2, 4 and 8 rows, of which the last has fewer; columns for more than one turn.
  cases.push_back(scatter(b, "add", "f32", {1025, 4}, {300, 1}, {0}, {1020, 1026}));
  cases.push_back(scatter(b, "add", "f32", {1030, 512}, {90, 1}, {0}, {1000, 1030}));
  cases.push_back(scatter(b, "max", "bf16", {70, 64, 8}, {90, 1}, {0}, {0, 70}));
  cases.push_back(scatter(b, "add", "bf16", {2311, 3}, {5, 13, 1}, {0}, {-1, 2311}));
  cases.push_back(scatter(b, "add", "f32", {4099}, {3, 50, 1}, {0}, {4000, 4099}));
  cases.push_back(scatter(b, "max", "f32", {2, 1060}, {40, 1}, {0}, {0, 1}));
  // More changes than one list has, with and without a rest.
  cases.push_back(scatter(b, "add", "f32", {3, 4}, {8200, 1}, {0}, {0, 2}));
  cases.push_back(scatter(b, "add", "f32", {3, 4}, {2, 8192, 1}, {0}, {0, 2}));
  // Two dims of a row, and dims before it.
  cases.push_back(scatter(b, "add", "f32", {5, 6, 8}, {90, 2}, {0, 1}, {-1, 5}));
  cases.push_back(scatter(b, "add", "f32", {1200, 2, 4}, {90, 2}, {1, 0}, {0, 2}));
  cases.push_back(scatter(b, "add", "f32", {3, 1030}, {60, 1}, {1}, {500, 520}));
  cases.push_back(scatter(b, "add", "f32", {4, 9, 8}, {33, 1}, {1}, {-1, 9}));
  // Of a row of rows each has indices of its own.
  for (const char *shapes : {"2 9 4", "3 1031 8"}) {
    std::istringstream text(shapes);
    int64_t rows, size, columns;
    text >> rows >> size >> columns;
    std::string ot = CaseBuilder::type({rows, size, columns}, "f32"),
                it = CaseBuilder::type({rows, 40, 1}, "i64"),
                wt = CaseBuilder::type({rows, 40, columns}, "f32");
    cases.push_back(b.one("scatter of each row", {ot, it, wt},
                          "nn.scatter add %0, %1, %2 indexed = [1] operand_batch = [0] "
                          "indices_batch = [0] : (" +
                              ot + ", " + it + ", " + wt + ") -> " + ot,
                          {ot}, {{-9, 9}, {-1, 12}}));
  }
  // Other nests read what was changed, all of it or a row.
  std::string rows = "tensor<9x40xf32>", sums = "tensor<9xf32>", at = "tensor<50x1xi64>",
              from = "tensor<50x40xf32>";
  for (const std::string &more : {"  %b = nn.mul %a, %a : " + rows + "\n  return %b : " + rows,
                                  "  %c = nn.reduce max %a dims = [1] : " + rows + " -> " + sums +
                                      "\n  return %a, %c : " + rows + ", " + sums,
                                  "  %c = nn.reduce max %a dims = [0] : " + rows +
                                      " -> tensor<40xf32>\n  return %c : tensor<40xf32>"}) {
    std::string results = more.substr(more.rfind(" : ") + 3),
                name = "changed_" + std::to_string(cases.size());
    cases.push_back({name,
                     "func.func @" + name + "(%x: " + rows + ", %i: " + at + ", %u: " + from +
                         ") -> (" + results + ") {\n  %z = nn.mul %x, %x : " + rows +
                         "\n  %a = nn.scatter add %z, %i, %u indexed = [0] operand_batch = [] "
                         "indices_batch = [] : (" +
                         rows + ", " + at + ", " + from + ") -> " + rows + "\n" + more + "\n}",
                     {{-2, 2}, {-1, 9}, {-2, 2}}});
  }
  // Units of the other operand are behind the end of what is changed: they read no indices.
  cases.push_back(
      {"behind_the_end",
       "func.func @behind_the_end(%i: tensor<4x200x1xi64>, %d: tensor<4x300xf32>, "
       "%u: tensor<4x200xf32>, %e: tensor<8x300xf32>) -> tensor<12x300xf32> {\n"
       "  %a = nn.scatter add %d, %i, %u indexed = [1] operand_batch = [0] indices_batch = [0] : "
       "(tensor<4x300xf32>, tensor<4x200x1xi64>, tensor<4x200xf32>) -> tensor<4x300xf32>\n"
       "  %b = nn.concat %a, %e dim = 0 : (tensor<4x300xf32>, tensor<8x300xf32>) -> "
       "tensor<12x300xf32>\n  return %b : tensor<12x300xf32>\n}",
       {{-1, 300}, {-2, 2}}});
  // Three nests of one kernel list their changes in the same memory.
  std::string many = "tensor<50x8xf32>", updates = "tensor<300x8xf32>", text;
  for (std::string number : {"0", "1", "2"})
    text += "  %a" + number + " = nn.scatter max %x, %i, %u" + number +
            " indexed = [0] operand_batch = [] indices_batch = [] : (" + many +
            ", tensor<300x1xi64>, " + updates + ") -> " + many + "\n";
  cases.push_back({"one_list",
                   "func.func @one_list(%i: tensor<300x1xi64>, %x: " + many + ", %u0: " + updates +
                       ", %u1: " + updates + ", %u2: " + updates + ") -> " + many + " {\n" + text +
                       "  %b = nn.add %a0, %a1 : " + many + "\n  %c = nn.add %b, %a2 : " + many +
                       "\n  return %c : " + many + "\n}",
                   {{-1, 50}, {-2, 2}}});
  // And three of other lengths, each in memory of its own, beside rows that are kept.
  cases.push_back({"three_lists",
                   "func.func @three_lists(%x: tensor<64x16xf32>, %i: tensor<10x1xi64>, "
                   "%j: tensor<33x1xi64>, %k: tensor<70x1xi64>, %u: tensor<10x16xf32>, "
                   "%v: tensor<33x16xf32>, %w: tensor<70x16xf32>) -> tensor<64x16xf32> {\n"
                   "  %a = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] "
                   "indices_batch = [] : (tensor<64x16xf32>, tensor<10x1xi64>, "
                   "tensor<10x16xf32>) -> tensor<64x16xf32>\n"
                   "  %b = nn.scatter add %a, %j, %v indexed = [0] operand_batch = [] "
                   "indices_batch = [] : (tensor<64x16xf32>, tensor<33x1xi64>, "
                   "tensor<33x16xf32>) -> tensor<64x16xf32>\n"
                   "  %c = nn.scatter add %b, %k, %w indexed = [0] operand_batch = [] "
                   "indices_batch = [] : (tensor<64x16xf32>, tensor<70x1xi64>, "
                   "tensor<70x16xf32>) -> tensor<64x16xf32>\n"
                   "  return %c : tensor<64x16xf32>\n}",
                   {{-2, 2}, {-1, 64}, {-1, 64}, {-1, 64}, {-2, 2}}});
  return cases;
}

/// The running maximum and sum are of the part of a row that is normalized, not of all of it.
static std::vector<KernelCase> partsOfRows() {
  std::vector<KernelCase> cases;
  for (std::string start : {"0", "7"})
    for (std::string stride : {"1", "2"}) {
      std::string name = "part_" + start + "_" + stride;
      cases.push_back({name,
                       "func.func @" + name +
                           "(%x: tensor<5x90xf32>) -> tensor<5x40xf32> {\n  %p = nn.slice %x "
                           "starts = [0, " +
                           start + "] strides = [1, " + stride +
                           "] : tensor<5x90xf32> -> tensor<5x40xf32>\n  %r = nn.softmax %p dim = 1 "
                           ": (tensor<5x40xf32>) -> tensor<5x40xf32>\n  return %r : "
                           "tensor<5x40xf32>\n}",
                       {{-3, 3}}});
    }
  // A row that fills a block's memory is not kept beside what its sums exchange.
  std::string rows = "tensor<2x12288xf32>", row = "tensor<12288xf32>";
  cases.push_back({"long_rows",
                   "func.func @long_rows(%x: " + rows + ", %g: " + row + ", %b: " + row + ") -> " +
                       rows + " {\n  %0 = nn.gelu %x {tanh} : " + rows +
                       "\n  %1 = nn.layer_norm %0, %g, %b dim = 1 epsilon = 1.0e-5 : (" + rows +
                       ", " + row + ", " + row + ") -> " + rows + "\n  return %1 : " + rows + "\n}",
                   {{-3, 3}, {-1, 1}, {-1, 1}}});
  return cases;
}

TEST(TwinKernels, PartsOfRows) { check(partsOfRows(), 0); }
TEST(TwinKernels, ChangedRows) { check(changedRows(), 60); }
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
TEST(TwinKernels, OfModels) { check(modelFusions(), 3); }
