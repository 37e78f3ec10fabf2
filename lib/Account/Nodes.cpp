// Kernels as fusion chooses them, and what they read and write outside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Nodes.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Cost/CostModel.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::account;

namespace {

/// What the op itself says; nothing if it is of the part of what it reads.
std::optional<Part> ownPart(Operation *op) {
  if (auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr)) {
    if (role.getValue() == nn::kRoleOptimizer)
      return Part::Optimizer;
    return role.getValue() == nn::kRoleWeightGradient ? Part::WeightGradient : Part::InputGradient;
  }
  if (auto part = op->getAttrOfType<StringAttr>(dist::kStepPartAttr)) {
    if (part.getValue() == dist::kForward)
      return Part::Forward;
    if (part.getValue() == dist::kBackward)
      return Part::InputGradient;
  }
  // Transitions and what became of them have no role of their own.
  if (isa<TransitionOpInterface, rt::BodyOp, rt::PutOp, rt::DenseOp>(op))
    return std::nullopt;
  return Part::Forward;
}

std::optional<int64_t> microbatchOf(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(rt::kMicrobatchAttr);
  return number ? std::optional<int64_t>(number.getInt()) : std::nullopt;
}

/// One number is part of a kernel's code.
bool isCode(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

int64_t rounded(double flops) {
  constexpr double kMost = double(std::numeric_limits<int64_t>::max() / 2);
  return int64_t(std::llround(std::min(flops, kMost)));
}

cost::Shape shapeOf(const WorkShape &shape) {
  cost::Shape result;
  switch (shape.kind) {
  case WorkShape::Kind::Stream:
    return result;
  case WorkShape::Kind::Gemm:
    result.kind = cost::Shape::Kind::Gemm;
    break;
  case WorkShape::Kind::Attention:
    result.kind = cost::Shape::Kind::Attention;
    break;
  case WorkShape::Kind::Conv:
    result.kind = cost::Shape::Kind::Conv;
    break;
  }
  result.batch = shape.batch;
  result.m = shape.m;
  result.n = shape.n;
  result.k = shape.k;
  result.isCausal = shape.isCausal;
  return result;
}

} // namespace

Nodes::Nodes(func::FuncOp program, const Target &target)
    : program(program), choice(program.getBody().front(), target) {
  for (const rt::FusionChoice::Node &chosen : choice.nodes())
    add(chosen);
  addCopies();
  for (auto [number, node] : llvm::enumerate(nodes))
    for (Operation *op : node.ops)
      numberOf[op] = number;
  for (Node &node : nodes)
    if (!node.transition)
      node.work = workOf(node);
  findStages();
  findCritical();
}

Value Nodes::rootOf(Value value) const {
  for (Operation *op = value.getDefiningOp();
       op && choice.classOf(op) == rt::FusionClass::Free && op->getNumOperands() > 0;
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

void Nodes::add(const rt::FusionChoice::Node &chosen) {
  Operation *first = chosen.ops.front();
  if (first->getNumResults() == 0 || isa<rt::CoordinateOp>(first))
    return;
  Node node;
  node.ops = chosen.ops;
  llvm::append_range(node.ops, choice.absorbed(first));
  node.microbatch = microbatchOf(first);
  auto transition = dyn_cast<TransitionOpInterface>(first);
  if (transition && transition.isCommunication())
    node.transition = transition;
  // Without a role of its own an op is of the latest part that it reads.
  std::optional<Part> part;
  for (Operation *op : chosen.ops)
    if (std::optional<Part> own = ownPart(op))
      part = std::max(part.value_or(Part::Forward), *own);
  if (!part) {
    part = Part::Forward;
    for (Operation *op : chosen.ops)
      for (Value operand : op->getOperands())
        if (Operation *def = rootOf(operand).getDefiningOp())
          if (auto found = numberOf.find(def); found != numberOf.end())
            part = std::max(*part, nodes[found->second].part);
  }
  node.part = *part;
  for (Operation *op : node.ops)
    numberOf[op] = nodes.size();
  nodes.push_back(std::move(node));
}

void Nodes::addCopies() {
  for (auto [user, operand] : choice.denseUses()) {
    auto found = numberOf.find(user);
    if (found == numberOf.end())
      continue; // the caller's: results that are views of something else
    Value value = user->getOperand(operand);
    cost::Work copy;
    copy.bytesRead = copy.bytesWritten = bytesOf(value);
    copy.arithmetic = arithmeticOf(value.getType());
    nodes[found->second].copies.push_back(copy);
  }
}

bool Nodes::isReadOutside(Value root, const Node &node) const {
  SmallVector<Value> work{root};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (choice.classOf(user) == rt::FusionClass::Free)
        llvm::append_range(work, user->getResults());
      else if (!llvm::is_contained(node.ops, user))
        return true;
    }
  return false;
}

SmallVector<Value> Nodes::writtenBy(const Node &node) const {
  SmallVector<Value> written;
  for (Operation *op : node.ops)
    for (Value result : op->getResults())
      if (isReadOutside(result, node))
        written.push_back(result);
  return written;
}

SmallVector<size_t> Nodes::readersOf(Value root,
                                     llvm::function_ref<bool(Operation *)> counts) const {
  llvm::SmallSetVector<size_t, 8> readers;
  SmallVector<Value> work{root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (value == root && counts && !counts(user))
        continue;
      if (choice.classOf(user) == rt::FusionClass::Free)
        llvm::append_range(work, user->getResults());
      else if (auto found = numberOf.find(user); found != numberOf.end())
        readers.insert(found->second);
    }
  }
  SmallVector<size_t> sorted = readers.takeVector();
  llvm::sort(sorted);
  return sorted;
}

bool Nodes::readsOnly(const Node &node, const llvm::SmallSetVector<Value, 4> &roots) const {
  return llvm::all_of(node.ops, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Value root = rootOf(operand);
      return isCode(root) || roots.contains(root) ||
             llvm::is_contained(node.ops, root.getDefiningOp());
    });
  });
}

namespace {

/// What the ops of a kernel read of values outside, each part once and of none more than there is.
class Reads {
public:
  void add(Value root, Value asRead, int64_t bytes) {
    int64_t &part = parts[root][asRead];
    part = std::max(part, bytes);
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const auto &[root, views] : parts) {
      int64_t all = 0;
      for (const auto &[view, bytes] : views)
        all += bytes;
      sum += std::min(all, bytesOf(root));
    }
    return sum;
  }

private:
  llvm::MapVector<Value, llvm::MapVector<Value, int64_t>> parts;
};

} // namespace

cost::Work Nodes::workOf(const Node &node) const {
  cost::Work sum;
  double flops = 0, most = -1;
  Reads reads;
  for (Operation *op : node.ops) {
    OpWork work = weft::workOf(op);
    // A view that is a command copies.
    bool copies = work.launches == 0;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      Value root = rootOf(operand);
      if (isCode(root) || llvm::is_contained(node.ops, root.getDefiningOp()))
        continue;
      reads.add(root, operand, copies ? bytesOf(op->getResult(0)) : work.read[number]);
    }
    for (auto [number, result] : llvm::enumerate(op->getResults()))
      if (isReadOutside(result, node))
        sum.bytesWritten += copies ? bytesOf(result) : work.written[number];
    // What a library op does to its result as it writes that costs no time of its own.
    if (choice.classOf(op) == rt::FusionClass::Absorbed)
      continue;
    flops += work.flops;
    if (work.flops > most) {
      most = work.flops;
      sum.arithmetic = arithmeticOf(work.element);
      sum.shape = shapeOf(work.shape);
    }
  }
  sum.flops = rounded(flops);
  sum.bytesRead = reads.bytes();
  return sum;
}

void Nodes::findStages() {
  dist::MeshAttr mesh = dist::getMesh(program);
  if (!mesh || !mesh.getValue().stageAxis())
    return;
  auto held = [](Value value) -> const std::optional<Held> * {
    dist::LocalAttr local = dist::getLocal(value.getType());
    return local ? &local.getValue().held : nullptr;
  };
  for (Node &node : nodes) {
    // Views that loops leave behind have no placement: they lie where what they show lies.
    const std::optional<Held> *where = nullptr;
    for (Operation *op : node.ops)
      for (Value result : op->getResults())
        if (!where)
          where = held(result);
    for (Operation *op : node.ops)
      for (Value operand : op->getOperands())
        if (!where)
          where = held(rootOf(operand));
    if (where && *where)
      node.stages.assign((*where)->stages.begin(), (*where)->stages.end());
  }
}

void Nodes::findCritical() {
  for (Node &node : llvm::reverse(nodes))
    for (Value written : writtenBy(node))
      for (size_t reader : readersOf(written)) {
        const Node &user = nodes[reader];
        bool isOfPass =
            !user.transition && (user.part == Part::Forward || user.part == Part::InputGradient);
        node.isCritical |= isOfPass || user.isCritical;
      }
}
