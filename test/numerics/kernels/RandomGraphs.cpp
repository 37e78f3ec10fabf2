// Kernels that are random graphs of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

namespace weft::test {

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

std::vector<KernelCase> randomGraphs(unsigned count, uint64_t seed,
                                     const std::vector<std::string> &elements) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  for (unsigned i = 0; i < count; ++i)
    cases.push_back(GraphBuilder(b, elements[i % elements.size()], unsigned(seed * 10000 + i))
                        .build(unsigned(b.uniform(2, 14))));
  return cases;
}

} // namespace weft::test
