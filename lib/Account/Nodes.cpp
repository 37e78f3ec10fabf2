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
#include <set>

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

Nodes::Nodes(func::FuncOp program, const Target &target, std::vector<int32_t> place)
    : program(program), choice(program.getBody().front(), target), place(std::move(place)) {
  for (const rt::FusionChoice::Node &chosen : choice.nodes())
    add(chosen);
  addCopies();
  for (auto [number, node] : llvm::enumerate(nodes))
    for (Operation *op : node.ops)
      numberOf[op] = number;
  for (Node &node : nodes)
    if (!node.transition)
      node.work = workOf(node);
  findChunks();
  findCritical();
}

bool Nodes::isFirstOfStage(int64_t chunk, ArrayRef<int64_t> chunks) const {
  int64_t stage = stageOf(chunk);
  auto isThere = [&](int64_t other) { return stageOf(other) == stage; };
  if (!chunks.empty()) {
    auto *first = llvm::find_if(chunks, isThere);
    return first != chunks.end() && *first == chunk;
  }
  return llvm::none_of(llvm::seq<int64_t>(0, chunk), isThere);
}

bool Nodes::hasSeveralOfStage() const {
  return int64_t(place.size()) > *llvm::max_element(place) + 1;
}

bool Nodes::runsOnStage(const Node &node, int64_t stage) const {
  return node.chunks.empty() ||
         llvm::any_of(node.chunks, [&](int64_t chunk) { return stageOf(chunk) == stage; });
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

std::optional<SmallVector<int64_t>> Nodes::holdersOf(const Node &node) const {
  auto held = [](Value value) -> const std::optional<Held> * {
    dist::LocalAttr local = dist::getLocal(value.getType());
    return local ? &local.getValue().held : nullptr;
  };
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
  if (!where || !*where)
    return std::nullopt;
  return SmallVector<int64_t>((*where)->stages.begin(), (*where)->stages.end());
}

SmallVector<int64_t> Nodes::chunksOfOperands(const Node &node) const {
  std::set<int64_t> chunks;
  for (Operation *op : node.ops)
    for (Value operand : op->getOperands())
      if (Operation *maker = rootOf(operand).getDefiningOp())
        if (auto found = numberOf.find(maker);
            found != numberOf.end() && &nodes[found->second] != &node)
          chunks.insert(nodes[found->second].chunks.begin(), nodes[found->second].chunks.end());
  return {chunks.begin(), chunks.end()};
}

/// What goes with a pass goes to the next chunk, or to the one before.
int64_t Nodes::takerOn(int64_t stage, int64_t maker, bool isForward) const {
  SmallVector<int64_t> there;
  for (int64_t chunk = 0; chunk < int64_t(place.size()); ++chunk)
    if (stageOf(chunk) == stage)
      there.push_back(chunk);
  if (isForward) {
    auto *next = llvm::find_if(there, [&](int64_t chunk) { return chunk > maker; });
    return next == there.end() ? there.back() : *next;
  }
  auto before = std::find_if(there.rbegin(), there.rend(), [&](int64_t c) { return c < maker; });
  return before == there.rend() ? there.front() : *before;
}

void Nodes::findEndsOf(Node &move) {
  SmallVector<int64_t> sources(move.transition.getGeometry().sources);
  move.makers = chunksOfOperands(move);
  move.takers.assign(sources.size(), -1);
  std::optional<SmallVector<int64_t>> holders = holdersOf(move);
  for (int64_t stage = 0; stage < int64_t(sources.size()); ++stage) {
    int64_t source = sources[size_t(stage)];
    if (source < 0)
      continue;
    auto *maker = llvm::find_if(move.makers, [&](int64_t c) { return stageOf(c) == source; });
    int64_t from = maker == move.makers.end() ? takerOn(source, -1, true) : *maker;
    int64_t to = source == stage ? from : takerOn(stage, from, move.part == Part::Forward);
    move.takers[size_t(stage)] = to;
    if (!holders || llvm::is_contained(*holders, stage))
      move.chunks.push_back(to);
  }
  llvm::sort(move.chunks);
}

/// Of chunks of one stage that hold a value, those that an op says (dist.chunks) or else what it
/// reads is of.
void Nodes::findChunksOf(Node &node) {
  std::optional<SmallVector<int64_t>> holders = holdersOf(node);
  if (!hasSeveralOfStage())
    return void(node.chunks = holders.value_or(SmallVector<int64_t>()));
  std::set<int64_t> said;
  for (Operation *op : node.ops)
    if (auto own = op->getAttrOfType<DenseI64ArrayAttr>(dist::kChunksAttr))
      said.insert(own.asArrayRef().begin(), own.asArrayRef().end());
  SmallVector<int64_t> wanted(said.begin(), said.end());
  if (wanted.empty())
    wanted = chunksOfOperands(node);
  auto isHeld = [&](int64_t chunk) {
    return !holders || llvm::is_contained(*holders, stageOf(chunk));
  };
  llvm::copy_if(wanted, std::back_inserter(node.chunks), isHeld);
  // It may be held where nothing says of which chunk it is.
  for (int64_t chunk = 0; holders && chunk < int64_t(place.size()); ++chunk) {
    auto isOfStage = [&](int64_t other) { return stageOf(other) == stageOf(chunk); };
    if (isHeld(chunk) && llvm::none_of(node.chunks, isOfStage))
      node.chunks.push_back(chunk);
  }
  llvm::sort(node.chunks);
}

void Nodes::findChunks() {
  dist::MeshAttr mesh = dist::getMesh(program);
  if (!mesh || !mesh.getValue().stageAxis())
    return;
  for (Node &node : nodes)
    if (node.transition && node.transition.getTransitionKind() == TransitionKind::Move)
      findEndsOf(node);
    else
      findChunksOf(node);
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
