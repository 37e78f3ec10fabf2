// Gathers the ops that run as one command into rt.fusion.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/fusion/LibraryLayout.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Support/ValueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include <functional>

namespace weft::rt {
#define GEN_PASS_DEF_RTFUSEKERNELS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// What costs time that the reader of the model may not expect.
remark::detail::InFlightRemark missed(Operation *op, StringRef name) {
  return remark::missed(op->getLoc(), remark::RemarkOpts::name(name).category("rt-fuse-kernels"));
}

/// What one kernel of both would break.
std::string textOf(const FusionChoice::Obstacle &obstacle) {
  std::string found = std::to_string(obstacle.found), allowed = std::to_string(obstacle.allowed);
  switch (obstacle.limit) {
  case FusionChoice::Limit::Ops:
    return "together they have " + found + " ops, a kernel at most " + allowed;
  case FusionChoice::Limit::Bytes:
    return "a part of both holds " + found + " bytes, the chip " + allowed;
  case FusionChoice::Limit::Kept:
    return "a part of both keeps " + found + " bytes for ops that read them more than once, a " +
           "kernel at most " + allowed;
  case FusionChoice::Limit::Pieces:
    return "they can be cut together into " + found +
           (obstacle.found == 1 ? " part only, " : " parts only, ") + allowed +
           " keep all of the chip busy";
  case FusionChoice::Limit::Order:
    return "something between them needs one and is needed by the other";
  }
  llvm_unreachable("a limit without a text");
}

/// Rebuilds one block as the nodes of its fusion choice, in their order.
class Fuser {
public:
  Fuser(Block &block, const Target &target)
      : block(block), target(target), choice(block, target), builder(block.getTerminator()),
        isHeard(builder.getContext()->getRemarkEngine()) {}

  void run() {
    for (Operation &op : block)
      if (auto kernel = dyn_cast<KernelOpInterface>(op);
          kernel && kernel.getLibraryCall() && choice.classOf(&op) == FusionClass::Kernel)
        missed(&op, "generated") << ("runs as generated code: target '" + target.name() +
                                     "' has no library call for it with these types and layouts")
                                        .str();
    if (isHeard)
      for (const auto &[pair, obstacle] : choice.refusals())
        missed(pair.second, "apart") << ("is no kernel with '" + nameForMessages(pair.first) +
                                         "', whose result goes through memory: " + textOf(obstacle))
                                            .str();
    for (auto [user, operand] : choice.denseUses()) {
      if (isHeard)
        missed(user, "copied")
            << ("operand " + Twine(operand) + " is copied, to lie in memory of its own").str();
      builder.setInsertionPoint(user);
      Value value = user->getOperand(operand);
      auto copy = DenseOp::create(builder, user->getLoc(), value.getType(), value);
      copies.insert(copy);
      user->setOperand(operand, copy);
    }
    std::vector<Operation *> before;
    for (Operation &op : block.without_terminator())
      before.push_back(&op);
    for (const FusionChoice::Node &node : choice.nodes()) {
      builder.setInsertionPoint(block.getTerminator());
      if (node.kind == FusionClass::Opaque)
        place(node.ops.front());
      else if (node.kind == FusionClass::Library)
        emitLibrary(node.ops.front());
      else if (!emitCopy(node))
        emitKernel(node);
    }
    for (Operation *op : llvm::reverse(before))
      if (isOpTriviallyDead(op))
        op->erase();
  }

private:
  bool isFree(Operation *op) const { return op && choice.classOf(op) == FusionClass::Free; }

  /// Moves an op that stays in the function, and the views it reads, to here.
  void place(Operation *op) {
    if (!placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      placeOperand(operand);
    if (!op->hasTrait<OpTrait::IsTerminator>())
      op->moveBefore(block.getTerminator());
  }
  void placeOperand(Value value) {
    Operation *def = value.getDefiningOp();
    if (isFree(def) || copies.contains(def))
      place(def);
  }

  /// One number is part of a kernel's code; tables are memory.
  bool isCode(Operation *constant) const {
    DenseElementsAttr value;
    return matchPattern(constant, m_Constant(&value)) && value.isSplat();
  }

  Location fusedLocation(ArrayRef<Operation *> ops) const {
    SmallVector<Location> locs;
    // The last node names the fusion.
    for (Operation *op : llvm::reverse(ops))
      if (Location loc = withoutValueName(op->getLoc()); !llvm::is_contained(locs, loc))
        locs.push_back(loc);
    return locs.size() == 1 ? locs[0] : FusedLoc::get(builder.getContext(), locs);
  }

  static void stripTypes(Operation *op) {
    for (OpResult result : op->getResults())
      result.setType(withoutEncoding(result.getType()));
  }

  /// Types in a body have no placement, and a constant's attribute neither; nor
  /// does a kernel know its microbatch or section, so that all of them share its code.
  Operation *cloneInto(Block &body, Operation *op, IRMapping &map) {
    OpBuilder inner(op->getContext());
    inner.setInsertionPointToEnd(&body);
    DenseElementsAttr value;
    Operation *copy = inner.clone(*op, map);
    stripTypes(copy);
    copy->removeAttr(kMicrobatchAttr);
    copy->removeAttr(dist::kSectionAttr);
    copy->removeAttr(kActionAttr);
    if (op->hasTrait<OpTrait::ConstantLike>() && matchPattern(op, m_Constant(&value))) {
      auto type = withoutEncoding(value.getType());
      for (NamedAttribute attr : op->getAttrs())
        if (attr.getValue() == value)
          copy->setAttr(attr.getName(), value.isSplat() ? DenseElementsAttr(value.resizeSplat(type))
                                                        : value.reshape(type));
    }
    return copy;
  }

  void emitKernel(const FusionChoice::Node &node) {
    auto body = std::make_unique<Block>();
    IRMapping map;
    SmallVector<Value> inputs;
    llvm::DenseSet<Operation *> members(node.ops.begin(), node.ops.end());
    std::function<void(Value)> provide = [&](Value value) {
      if (map.contains(value))
        return;
      Operation *def = value.getDefiningOp();
      bool isViewOrCode = isFree(def) && (!def->hasTrait<OpTrait::ConstantLike>() || isCode(def));
      if (isViewOrCode || (def && node.copies.contains(def))) {
        for (Value operand : def->getOperands())
          provide(operand);
        map.map(value, cloneInto(*body, def, map)->getResult(0));
        return;
      }
      placeOperand(value);
      inputs.push_back(value);
      map.map(value, body->addArgument(withoutEncoding(value.getType()), value.getLoc()));
    };
    for (Operation *op : node.ops) {
      for (Value operand : op->getOperands())
        provide(operand);
      Operation *copy = cloneInto(*body, op, map);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        map.map(from, to);
    }
    SmallVector<Value> outputs, yielded;
    for (Operation *op : node.ops)
      for (Value result : op->getResults())
        if (isReadOutside(result, members)) {
          outputs.push_back(result);
          yielded.push_back(map.lookup(result));
        }
    if (outputs.empty())
      return; // whoever reads it computes it
    finish(FusionKind::Kernel, fusedLocation(node.ops), inputs, outputs, yielded, std::move(body));
  }

  static void keepAction(Operation *made, Operation *from) {
    if (Attribute action = from->getAttr(kActionAttr))
      made->setAttr(kActionAttr, action);
  }

  /// What each output is computed for, if any of them is not forward.
  void keepRoles(FusionOp fusion, ValueRange outputs) {
    SmallVector<Attribute> roles;
    bool any = false;
    for (Value output : outputs) {
      Operation *op = output.getDefiningOp();
      auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
      roles.push_back(role ? role : builder.getStringAttr(""));
      any |= bool(role);
    }
    if (any)
      fusion->setAttr(kRolesAttr, builder.getArrayAttr(roles));
  }

  /// Free ops are read through: they are cloned or stay, whoever needs them.
  bool isReadOutside(Value value, const llvm::DenseSet<Operation *> &members) const {
    if (choice.isReadByCopies(value))
      return true;
    SmallVector<Value> work{value};
    while (!work.empty())
      for (Operation *user : work.pop_back_val().getUsers()) {
        if (isFree(user)) {
          work.push_back(user->getResult(0));
          continue;
        }
        if (!members.contains(user) && !choice.isCopiedFor(user, value.getDefiningOp()))
          return true;
      }
    return false;
  }

  std::function<bool(Operation *)> isRoot() const {
    return [this](Operation *op) { return !isFree(op); };
  }

  /// A view that must be dense and found no company is a copy, not a kernel.
  bool emitCopy(const FusionChoice::Node &node) {
    Operation *op = node.ops.front();
    if (node.ops.size() != 1 || op->getNumOperands() != 1 || op->getNumResults() != 1)
      return false;
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    auto layout = layoutOf(op->getOperand(0), isRoot());
    if (!layout || !cast<KernelOpInterface>(op).getView(layout->strides, strides, offset))
      return false;
    Value view = op->getResult(0);
    auto type = cast<RankedTensorType>(view.getType());
    LibraryTensor tensor{type.getElementType(), llvm::to_vector(type.getShape()), strides};
    if (!target.copies(tensor))
      return false;
    place(op);
    missed(op, "copied") << "is copied: what reads it cannot read the strides that it has";
    auto copy = DenseOp::create(builder, op->getLoc(), view.getType(), view);
    keepAction(copy, op);
    view.replaceAllUsesExcept(copy, copy);
    return true;
  }

  void emitLibrary(Operation *op) {
    auto body = std::make_unique<Block>();
    IRMapping map;
    SmallVector<Value> inputs;
    LibraryCall call = *cast<KernelOpInterface>(op).getLibraryCall();
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (map.contains(operand))
        continue;
      if (!llvm::is_contained(call.reads, i) && !llvm::is_contained(call.mayLack, i)) {
        cloneInto(*body, operand.getDefiningOp(), map);
        continue;
      }
      placeOperand(operand);
      inputs.push_back(operand);
      map.map(operand, body->addArgument(withoutEncoding(operand.getType()), operand.getLoc()));
    }
    map.map(op->getResults(), cloneInto(*body, op, map)->getResults());
    for (Operation *later : choice.absorbed(op)) {
      for (Value operand : later->getOperands())
        if (!map.contains(operand)) {
          placeOperand(operand);
          inputs.push_back(operand);
          map.map(operand, body->addArgument(withoutEncoding(operand.getType()), operand.getLoc()));
        }
      map.map(later->getResult(0), cloneInto(*body, later, map)->getResult(0));
    }
    // Several results may be parts of one output.
    llvm::SetVector<Value> outputs;
    for (Value result : op->getResults()) {
      while (result.hasOneUse() && llvm::is_contained(choice.absorbed(op), *result.user_begin()))
        result = result.user_begin()->getResult(0);
      outputs.insert(result);
    }
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(map.lookup(output));
    finish(FusionKind::Library, op->getLoc(), inputs, outputs.getArrayRef(), yielded,
           std::move(body));
  }

  void finish(FusionKind kind, Location loc, ValueRange inputs, ValueRange outputs,
              ValueRange yielded, std::unique_ptr<Block> body) {
    OpBuilder inner(builder.getContext());
    inner.setInsertionPointToEnd(body.get());
    YieldOp::create(inner, loc, yielded);
    // What only copies in other kernels are made of.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    builder.setInsertionPoint(block.getTerminator());
    auto fusion = FusionOp::create(builder, loc, outputs.getTypes(), kind, inputs);
    fusion.getBody().push_back(body.release());
    keepRoles(fusion, outputs);
    keepAction(fusion, outputs.front().getDefiningOp());
    for (auto [from, to] : llvm::zip(outputs, fusion.getOutputs()))
      Value(from).replaceAllUsesWith(to);
  }

  Block &block;
  const Target &target;
  FusionChoice choice;
  OpBuilder builder;
  bool isHeard; // whether anyone reads remarks: texts cost time
  llvm::DenseSet<Operation *> placed;
  llvm::DenseSet<Operation *> copies;
};

/// A concatenation that would be more than one kernel becomes one of concatenations. No other op
/// has operands without a bound.
void splitConcats(Block &block, int64_t mostOperands) {
  for (auto concat : llvm::make_early_inc_range(block.getOps<nn::ConcatOp>()))
    while (int64_t(concat.getInputs().size()) > mostOperands) {
      ValueRange inputs = concat.getInputs();
      size_t parts = llvm::divideCeil(inputs.size(), mostOperands);
      OpBuilder builder(concat);
      SmallVector<Value> joined;
      for (size_t part = 0; part < parts; ++part) {
        size_t from = inputs.size() * part / parts, to = inputs.size() * (part + 1) / parts;
        auto run = nn::ConcatOp::create(builder, concat.getLoc(), inputs.slice(from, to - from),
                                        concat.getDim());
        run->setDiscardableAttrs(concat->getDiscardableAttrDictionary());
        joined.push_back(run);
      }
      concat.getInputsMutable().assign(joined);
    }
}

/// What a value is computed for, as far as the function that it stands in tells; null for its
/// arguments.
StringAttr roleOf(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (auto roles = op->getAttrOfType<ArrayAttr>(kRolesAttr))
      return cast<StringAttr>(roles[result.getResultNumber()]);
    if (auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr))
      return role;
    bool moves = isa<DenseOp, PutOp, TransitionOpInterface>(op) || specKind(op) == SpecKind::View;
    if (!moves || op->getNumOperands() == 0)
      return StringAttr::get(op->getContext(), "");
    value = op->getOperand(0);
  }
  return {};
}

/// Calls of routines say what their results are computed for, as fusions do. Where a routine only
/// moves values, what it moves tells that.
void keepRolesOfCalls(Block &body, const SymbolTable &symbols) {
  for (auto call : body.getOps<CallOp>()) {
    func::FuncOp callee = calleeOf(call, symbols);
    if (!callee || !isRoutine(callee) || onlyCommunicates(callee))
      continue;
    SmallVector<Attribute> roles;
    for (Value returned : callee.getBody().front().getTerminator()->getOperands()) {
      StringAttr role = roleOf(returned);
      if (auto argument = dyn_cast<BlockArgument>(returned); argument && !role)
        role = roleOf(call.getInputs()[argument.getArgNumber()]);
      roles.push_back(role ? role : StringAttr::get(call.getContext(), ""));
    }
    if (llvm::any_of(roles, [](Attribute role) { return !cast<StringAttr>(role).empty(); }))
      call->setAttr(kRolesAttr, ArrayAttr::get(call.getContext(), roles));
  }
}

struct FuseKernels : weft::rt::impl::RtFuseKernelsBase<FuseKernels> {
  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation())) {
      Block &body = function.getBody().front();
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
        if (isOpTriviallyDead(&op))
          op.erase();
      splitConcats(body, target->traits().mostKernelOps + 1);
      Fuser(body, *target).run();
      keepRolesOfCalls(body, symbols);
    }
  }
};

} // namespace
