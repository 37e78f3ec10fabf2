// Sorts the nodes of a graph by what they read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/importer/NodeOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace weft::onnx;

namespace {

class Sorter {
public:
  explicit Sorter(const google::protobuf::RepeatedPtrField<Node> &nodes)
      : nodes(nodes), states(nodes.size(), State::New) {
    for (auto [index, node] : llvm::enumerate(nodes))
      for (const std::string &name : node.output())
        if (!name.empty())
          producers.try_emplace(name, index);
  }

  NodeOrder run() {
    for (unsigned index = 0; index < states.size(); ++index)
      if (order.cycle.empty() && states[index] == State::New)
        visit(index);
    return std::move(order);
  }

private:
  enum class State : char { New, Open, Done };
  struct Visit {
    unsigned node;
    llvm::SmallVector<unsigned> reads;
    size_t next = 0;
  };

  /// Depth first, without recursion: chains may be as long as the file.
  void visit(unsigned root) {
    llvm::SmallVector<Visit> open;
    auto enter = [&](unsigned node) {
      states[node] = State::Open;
      open.push_back({node, readsOf(nodes[node])});
      if (llvm::any_of(open.back().reads, [&](unsigned read) { return read >= node; }))
        order.firstMoved = std::min(order.firstMoved.value_or(node), node);
    };
    enter(root);
    while (!open.empty()) {
      Visit &top = open.back();
      if (top.next == top.reads.size()) {
        states[top.node] = State::Done;
        order.indices.push_back(top.node);
        open.pop_back();
        continue;
      }
      unsigned read = top.reads[top.next++];
      if (states[read] == State::New) {
        enter(read);
      } else if (states[read] == State::Open) {
        auto first = llvm::find_if(open, [&](const Visit &visit) { return visit.node == read; });
        for (const Visit &visit : llvm::make_range(first, open.end()))
          order.cycle.push_back(visit.node);
        return;
      }
    }
  }

  llvm::SmallVector<unsigned> readsOf(const Node &node) {
    llvm::SmallVector<unsigned> reads;
    Names hidden;
    collect(node, hidden, reads);
    return reads;
  }

  /// By name, how many of the graphs around a node define it.
  using Names = llvm::StringMap<unsigned>;

  /// `hidden` are names that graphs inside the node define for themselves.
  void collect(const Node &node, Names &hidden, llvm::SmallVectorImpl<unsigned> &reads) {
    for (const std::string &name : node.input())
      read(name, hidden, reads);
    for (const Attribute &attribute : node.attribute()) {
      if (attribute.has_g())
        collect(attribute.g(), hidden, reads);
      for (const Graph &graph : attribute.graphs())
        collect(graph, hidden, reads);
    }
  }

  template <typename Visit> static void eachDefined(const Graph &graph, Visit visit) {
    for (const ValueInfo &input : graph.input())
      visit(input.name());
    for (const Tensor &tensor : graph.initializer())
      visit(tensor.name());
    for (const SparseTensor &tensor : graph.sparse_initializer())
      visit(tensor.values().name());
    for (const Node &node : graph.node())
      for (const std::string &name : node.output())
        visit(name);
  }

  void collect(const Graph &graph, Names &hidden, llvm::SmallVectorImpl<unsigned> &reads) {
    eachDefined(graph, [&](const std::string &name) { ++hidden[name]; });
    for (const Node &node : graph.node())
      collect(node, hidden, reads);
    for (const ValueInfo &output : graph.output())
      read(output.name(), hidden, reads);
    eachDefined(graph, [&](const std::string &name) { --hidden[name]; });
  }

  void read(const std::string &name, const Names &hidden, llvm::SmallVectorImpl<unsigned> &reads) {
    auto producer = producers.find(name);
    if (producer != producers.end() && hidden.lookup(name) == 0)
      reads.push_back(producer->second);
  }

  const google::protobuf::RepeatedPtrField<Node> &nodes;
  llvm::StringMap<unsigned> producers;
  std::vector<State> states;
  NodeOrder order;
};

} // namespace

NodeOrder weft::onnx::orderNodes(const google::protobuf::RepeatedPtrField<Node> &nodes) {
  return Sorter(nodes).run();
}
