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

namespace {

/// Grows a graph of ops op by op; every value is a float tensor.
class GraphBuilder {
public:
  GraphBuilder(CaseBuilder &random, std::string element, unsigned number)
      : b(random), element(std::move(element)), number(number) {}

  KernelCase build(unsigned ops);

private:
  struct Node {
    std::string name;
    Shape shape;
    unsigned uses = 0;
  };
  CaseBuilder &b;
  std::string element;
  unsigned number;
  std::vector<Node> nodes;
  std::string body, parameters;
  unsigned next = 0;

  std::string type(const Shape &shape) { return CaseBuilder::type(shape, element); }
  unsigned argument(const Shape &shape) {
    std::string name = "%a" + std::to_string(next++);
    parameters += (parameters.empty() ? "" : ", ") + name + ": " + type(shape);
    nodes.push_back({name, shape});
    return nodes.size() - 1;
  }
  unsigned emit(const std::string &text, const std::string &types, const Shape &shape) {
    std::string name = "%v" + std::to_string(next++);
    body += "  " + name + " = " + text + " : " + types + "\n";
    nodes.push_back({name, shape});
    return nodes.size() - 1;
  }
  std::string use(unsigned node) {
    ++nodes[node].uses;
    return nodes[node].name;
  }
  unsigned any() { return unsigned(b.uniform(0, int64_t(nodes.size()) - 1)); }
  /// A node of this shape: an old one if there is one, else a new argument.
  unsigned like(const Shape &shape) {
    std::vector<unsigned> found;
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (nodes[i].shape == shape)
        found.push_back(i);
    return !found.empty() && b.chance(0.8) ? b.pick(found) : argument(shape);
  }
  void unary(const std::string &op, unsigned from) {
    std::string t = type(nodes[from].shape);
    Shape shape = nodes[from].shape;
    emit("nn." + op + " " + use(from), "(" + t + ") -> " + t, shape);
  }
  void grow();
};

} // namespace

void GraphBuilder::grow() {
  unsigned from = any();
  Shape shape = nodes[from].shape;
  std::string t = type(shape);
  int64_t rank = shape.size();
  // Functions that keep values small, so that errors stay comparable.
  switch (b.uniform(0, 11)) {
  case 0:
  case 1:
    return unary(b.pick<std::string>({"tanh", "sigmoid", "gelu", "sin", "erf", "negate", "abs"}),
                 from);
  case 2:
  case 3:
  case 4: {
    unsigned other = like(shape);
    std::string op = b.pick<std::string>({"add", "sub", "mul", "max", "min"});
    std::string left = use(from);
    emit("nn." + op + " " + left + ", " + use(other), "(" + t + ", " + t + ") -> " + t, shape);
    // Values stay bounded.
    return unary("tanh", nodes.size() - 1);
  }
  case 5: { // broadcast of a smaller tensor, added
    if (rank == 0)
      return;
    Shape small, dims;
    for (int64_t d = 0; d < rank; ++d)
      if (b.chance(0.5)) {
        small.push_back(shape[d]);
        dims.push_back(d);
      }
    unsigned source = like(small);
    unsigned wide = emit("nn.broadcast " + use(source) + " dims = " + CaseBuilder::list(dims),
                         type(small) + " -> " + t, shape);
    emit("nn.add " + use(from) + ", " + use(wide), "(" + t + ", " + t + ") -> " + t, shape);
    return;
  }
  case 6: { // transpose
    Shape permutation(rank), to;
    for (int64_t d = 0; d < rank; ++d)
      permutation[d] = d;
    std::shuffle(permutation.begin(), permutation.end(), b.random);
    for (int64_t d : permutation)
      to.push_back(shape[d]);
    emit("nn.transpose " + use(from) + " permutation = " + CaseBuilder::list(permutation),
         t + " -> " + type(to), to);
    return;
  }
  case 7: { // join or cut dims
    Shape to;
    if (rank >= 2 && b.chance(0.6)) {
      int64_t at = b.uniform(0, rank - 2);
      to = shape;
      to[at] *= to[at + 1];
      to.erase(to.begin() + at + 1);
    } else {
      for (int64_t size : shape)
        if (size % 2 == 0 && to.size() < 4) {
          to.push_back(2);
          to.push_back(size / 2);
        } else {
          to.push_back(size);
        }
    }
    emit("nn.reshape " + use(from), t + " -> " + type(to), to);
    return;
  }
  case 8: { // mean along a dim
    if (rank == 0)
      return;
    int64_t dim = b.chance(0.6) ? rank - 1 : b.uniform(0, rank - 1);
    Shape to = shape;
    to.erase(to.begin() + dim);
    emit("nn.reduce " + b.pick<std::string>({"max", "min"}) + " " + use(from) + " dims = [" +
             std::to_string(dim) + "]",
         t + " -> " + type(to), to);
    return;
  }
  case 9: { // softmax
    if (rank == 0)
      return;
    emit("nn.softmax " + use(from) + " dim = " + std::to_string(b.uniform(0, rank - 1)),
         "(" + t + ") -> " + t, shape);
    return;
  }
  case 10: { // norm
    if (rank == 0)
      return;
    int64_t dim = rank - 1;
    Shape row = {shape[dim]};
    unsigned scale = like(row);
    emit("nn.rms_norm " + use(from) + ", " + use(scale) + " dim = " + std::to_string(dim) +
             " epsilon = 1.0e-1",
         "(" + t + ", " + type(row) + ") -> " + t, shape);
    return unary("tanh", nodes.size() - 1);
  }
  default: { // slice
    Shape starts, strides, to;
    for (int64_t size : shape) {
      starts.push_back(b.uniform(0, size / 2));
      strides.push_back(1);
      to.push_back(b.uniform(1, size - starts.back()));
    }
    emit("nn.slice " + use(from) + " starts = " + CaseBuilder::list(starts) +
             " strides = " + CaseBuilder::list(strides),
         t + " -> " + type(to), to);
    return;
  }
  }
}

KernelCase GraphBuilder::build(unsigned ops) {
  argument(b.shape(1, 3, 8));
  unsigned guard = 0;
  while (nodes.size() < ops + 2 && ++guard < 4 * ops)
    grow();
  // Everything that nobody reads is a result, and now and then something else.
  std::string values, types;
  for (const Node &node : nodes)
    if ((node.uses == 0 || b.chance(0.1)) && node.name[1] == 'v') {
      values += (values.empty() ? "" : ", ") + node.name;
      types += (types.empty() ? "" : ", ") + type(node.shape);
    }
  KernelCase result;
  result.name = "graph " + std::to_string(number) + " " + element;
  if (values.empty()) {
    values = nodes[0].name;
    types = type(nodes[0].shape);
  }
  result.text = "func.func @graph" + std::to_string(number) + "(" + parameters + ") -> (" + types +
                ") {\n" + body + "  return " + values + " : " + types + "\n}";
  result.ranges = {{-1.5, 1.5}};
  result.slack = 20;
  return result;
}

static std::vector<KernelCase> randomGraphs(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  for (unsigned i = 0; i < count; ++i)
    cases.push_back(GraphBuilder(b, i % 3 == 0 ? "f64" : "f32", unsigned(seed * 10000 + i))
                        .build(unsigned(b.uniform(2, 14))));
  return cases;
}

static unsigned volume(unsigned reduced, unsigned all) {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && std::string(full) == "1" ? all : reduced;
}

TEST(Fusions, RandomGraphs) { check(randomGraphs(volume(150, 2000), 1), 1); }
TEST(Fusions, RandomGraphsOptimized) { check(randomGraphs(volume(40, 500), 2), 3); }

/// What fused pieces of a transformer look like, with sizes that exercise
/// chunks, remainders and temporaries.
static std::vector<KernelCase> modelFusions() {
  std::vector<KernelCase> cases;
  auto add = [&](const char *name, const char *text, std::vector<Range> ranges) {
    cases.push_back({name, text, std::move(ranges)});
  };
  add("residual and layer_norm", R"(
func.func @residual(%a: tensor<70x768xf32>, %b: tensor<70x768xf32>, %s: tensor<768xf32>, %t: tensor<768xf32>) -> (tensor<70x768xf32>, tensor<70x768xf32>) {
  %c = nn.add %a, %b : (tensor<70x768xf32>, tensor<70x768xf32>) -> tensor<70x768xf32>
  %r = nn.layer_norm %c, %s, %t dim = 1 epsilon = 1.0e-5 : (tensor<70x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<70x768xf32>
  return %c, %r : tensor<70x768xf32>, tensor<70x768xf32>
})",
      {});
  add("causal softmax", R"(
func.func @causal(%a: tensor<2x3x40x40xf32>, %m: tensor<40x40xi1>) -> tensor<2x3x40x40xf32> {
  %mm = nn.broadcast %m dims = [2, 3] : tensor<40x40xi1> -> tensor<2x3x40x40xi1>
  %low = nn.constant dense<-1.0e9> : tensor<2x3x40x40xf32> : tensor<2x3x40x40xf32>
  %b = nn.select %mm, %a, %low : (tensor<2x3x40x40xi1>, tensor<2x3x40x40xf32>, tensor<2x3x40x40xf32>) -> tensor<2x3x40x40xf32>
  %r = nn.softmax %b dim = 3 : (tensor<2x3x40x40xf32>) -> tensor<2x3x40x40xf32>
  return %r : tensor<2x3x40x40xf32>
})",
      {});
  add("split heads of a fused projection, with bias and rope", R"(
func.func @heads(%a: tensor<2x10x96xf32>, %b: tensor<96xf32>, %c: tensor<10x8xf32>, %s: tensor<10x8xf32>) -> (tensor<2x2x10x16xf32>, tensor<2x2x10x16xf32>) {
  %bb = nn.broadcast %b dims = [2] : tensor<96xf32> -> tensor<2x10x96xf32>
  %d = nn.add %a, %bb : (tensor<2x10x96xf32>, tensor<2x10x96xf32>) -> tensor<2x10x96xf32>
  %e = nn.reshape %d : tensor<2x10x96xf32> -> tensor<2x10x3x2x16xf32>
  %q = nn.slice %e starts = [0, 0, 0, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x10x3x2x16xf32> -> tensor<2x10x1x2x16xf32>
  %k = nn.slice %e starts = [0, 0, 1, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x10x3x2x16xf32> -> tensor<2x10x1x2x16xf32>
  %q1 = nn.reshape %q : tensor<2x10x1x2x16xf32> -> tensor<2x10x2x16xf32>
  %k1 = nn.reshape %k : tensor<2x10x1x2x16xf32> -> tensor<2x10x2x16xf32>
  %q2 = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<2x10x2x16xf32> -> tensor<2x2x10x16xf32>
  %k2 = nn.transpose %k1 permutation = [0, 2, 1, 3] : tensor<2x10x2x16xf32> -> tensor<2x2x10x16xf32>
  %cc = nn.broadcast %c dims = [2, 3] : tensor<10x8xf32> -> tensor<2x2x10x8xf32>
  %ss = nn.broadcast %s dims = [2, 3] : tensor<10x8xf32> -> tensor<2x2x10x8xf32>
  %q3 = nn.rope %q2, %cc, %ss : (tensor<2x2x10x16xf32>, tensor<2x2x10x8xf32>, tensor<2x2x10x8xf32>) -> tensor<2x2x10x16xf32>
  %k3 = nn.rope %k2, %cc, %ss {interleaved} : (tensor<2x2x10x16xf32>, tensor<2x2x10x8xf32>, tensor<2x2x10x8xf32>) -> tensor<2x2x10x16xf32>
  return %q3, %k3 : tensor<2x2x10x16xf32>, tensor<2x2x10x16xf32>
})",
      {});
  add("embeddings", R"(
func.func @embed(%t: tensor<50x64xf32>, %p: tensor<30x64xf32>, %i: tensor<3x20x1xi64>) -> tensor<3x20x64xf32> {
  %e = nn.gather %t, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<50x64xf32>, tensor<3x20x1xi64>) -> tensor<3x20x64xf32>
  %q = nn.slice %p starts = [0, 0] strides = [1, 1] : tensor<30x64xf32> -> tensor<20x64xf32>
  %qq = nn.broadcast %q dims = [1, 2] : tensor<20x64xf32> -> tensor<3x20x64xf32>
  %r = nn.add %e, %qq : (tensor<3x20x64xf32>, tensor<3x20x64xf32>) -> tensor<3x20x64xf32>
  return %r : tensor<3x20x64xf32>
})",
      {{}, {}, {-2, 52}});
  add("cross entropy and its gradient", R"(
func.func @loss(%x: tensor<33x100xf32>, %y: tensor<33x1xi64>) -> (tensor<33xf32>, tensor<33x100xf32>) {
  %l = nn.softmax %x dim = 1 {log} : (tensor<33x100xf32>) -> tensor<33x100xf32>
  %i = nn.iota : tensor<33xi64>
  %i1 = nn.reshape %i : tensor<33xi64> -> tensor<33x1xi64>
  %at = nn.concat %i1, %y dim = 1 : (tensor<33x1xi64>, tensor<33x1xi64>) -> tensor<33x2xi64>
  %p = nn.gather %l, %at indexed = [0, 1] operand_batch = [] indices_batch = [] : (tensor<33x100xf32>, tensor<33x2xi64>) -> tensor<33xf32>
  %n = nn.negate %p : (tensor<33xf32>) -> tensor<33xf32>
  %e = nn.exp %l : (tensor<33x100xf32>) -> tensor<33x100xf32>
  %c = nn.iota : tensor<100xi64>
  %cc = nn.broadcast %c dims = [1] : tensor<100xi64> -> tensor<33x100xi64>
  %y1 = nn.reshape %y : tensor<33x1xi64> -> tensor<33xi64>
  %yy = nn.broadcast %y1 dims = [0] : tensor<33xi64> -> tensor<33x100xi64>
  %hit = nn.compare eq %cc, %yy : (tensor<33x100xi64>, tensor<33x100xi64>) -> tensor<33x100xi1>
  %one = nn.cast %hit : (tensor<33x100xi1>) -> tensor<33x100xf32>
  %g = nn.sub %e, %one : (tensor<33x100xf32>, tensor<33x100xf32>) -> tensor<33x100xf32>
  return %n, %g : tensor<33xf32>, tensor<33x100xf32>
})",
      {{-9, 9}, {0, 99}});
  add("column sums of a product", R"(
func.func @columns(%g: tensor<70x600xf32>, %x: tensor<70x600xf32>) -> (tensor<600xf32>, tensor<600xf32>) {
  %p = nn.mul %g, %x : (tensor<70x600xf32>, tensor<70x600xf32>) -> tensor<70x600xf32>
  %a = nn.reduce sum %p dims = [0] : tensor<70x600xf32> -> tensor<600xf32>
  %b = nn.reduce sum %g dims = [0] : tensor<70x600xf32> -> tensor<600xf32>
  return %a, %b : tensor<600xf32>, tensor<600xf32>
})",
      {{0.1, 1}});
  add("elementwise around a column sum", R"(
func.func @update(%g: tensor<40x300xf32>, %w: tensor<300xf32>) -> tensor<300xf32> {
  %b = nn.reduce sum %g dims = [0] : tensor<40x300xf32> -> tensor<300xf32>
  %t = nn.tanh %b : (tensor<300xf32>) -> tensor<300xf32>
  %r = nn.sub %w, %t : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  return %r : tensor<300xf32>
})",
      {});
  add("gelu into a product", R"(
func.func @mlp(%x: tensor<9x40xf32>, %w: tensor<40x30xf32>) -> tensor<9x30xf32> {
  %h = nn.gelu %x : (tensor<9x40xf32>) -> tensor<9x40xf32>
  %r = nn.contract %h, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<9x40xf32>, tensor<40x30xf32>) -> tensor<9x30xf32>
  %s = nn.silu %r : (tensor<9x30xf32>) -> tensor<9x30xf32>
  return %s : tensor<9x30xf32>
})",
      {});
  add("a chain in bf16 rounds at every op", R"(
func.func @rounding(%x: tensor<5x70xbf16>, %y: tensor<5x70xbf16>) -> tensor<5x70xbf16> {
  %a = nn.mul %x, %y : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  %b = nn.add %a, %x : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  %c = nn.mul %b, %b : (tensor<5x70xbf16>, tensor<5x70xbf16>) -> tensor<5x70xbf16>
  return %c : tensor<5x70xbf16>
})",
      {});
  add("routing", R"(
func.func @route(%x: tensor<37x8xf32>) -> (tensor<37x2xf32>, tensor<37x2xi64>) {
  %p = nn.softmax %x dim = 1 : (tensor<37x8xf32>) -> tensor<37x8xf32>
  %v, %i = nn.top_k %p dim = 1 : (tensor<37x8xf32>) -> (tensor<37x2xf32>, tensor<37x2xi64>)
  %s = nn.reduce sum %v dims = [1] : tensor<37x2xf32> -> tensor<37xf32>
  %ss = nn.broadcast %s dims = [0] : tensor<37xf32> -> tensor<37x2xf32>
  %r = nn.div %v, %ss : (tensor<37x2xf32>, tensor<37x2xf32>) -> tensor<37x2xf32>
  return %r, %i : tensor<37x2xf32>, tensor<37x2xi64>
})",
      {});
  add("one value read twice and returned twice", R"(
func.func @twice(%x: tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %a = nn.exp %x : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %t = nn.transpose %a permutation = [1, 0] : tensor<6x6xf32> -> tensor<6x6xf32>
  return %a, %t, %a, %x : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
})",
      {});
  add("a row too long for the stack", R"(
func.func @long(%x: tensor<2x400000xf32>) -> tensor<2x400000xf32> {
  %a = nn.softmax %x dim = 1 : (tensor<2x400000xf32>) -> tensor<2x400000xf32>
  %r = nn.tanh %a : (tensor<2x400000xf32>) -> tensor<2x400000xf32>
  return %r : tensor<2x400000xf32>
})",
      {});
  add("nothing to do", R"(
func.func @nothing(%x: tensor<0x5xf32>, %y: tensor<3x0xf32>) -> (tensor<0x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = nn.exp %x : (tensor<0x5xf32>) -> tensor<0x5xf32>
  %b = nn.reduce sum %y dims = [1] : tensor<3x0xf32> -> tensor<3xf32>
  %c = nn.reduce max %y dims = [1] : tensor<3x0xf32> -> tensor<3xf32>
  return %a, %b, %c : tensor<0x5xf32>, tensor<3xf32>, tensor<3xf32>
})",
      {});
  return cases;
}

TEST(Fusions, OfModels) { check(modelFusions(), 3); }
TEST(Fusions, OfModelsQuicklyCompiled) { check(modelFusions(), 1); }
