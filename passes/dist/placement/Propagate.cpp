// Spreads placements along factors to a fixed point.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/SignatureAttributes.h"
#include "passes/dist/placement/AlikeOps.h"
#include "passes/dist/placement/Propagation.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPROPAGATE
#include "passes/dist/Passes.h.inc"

namespace {

/// One tensor of an op and the value that it is.
struct Tensor {
  Value value;
  const TensorFactors *factors;
  unsigned index; ///< among operands, then results
};

class Propagator {
public:
  Propagator(func::FuncOp function, MeshAttr meshAttr, const PropagationOptions &options)
      : function(function), meshAttr(meshAttr), mesh(meshAttr.getValue()), options(options) {}

  void run() {
    collect();
    // Ops that only move or combine elements at the same place agree on one
    // placement whatever it is; reductions must not pull against that.
    sweep(/*reductions=*/false);
    sweep(/*reductions=*/true);
    reportConflicts();
    writeAttributes();
  }

private:
  struct OpInfo {
    Operation *op;
    const FactorRule &rule;
    bool reduces;
    SmallVector<Tensor, 4> tensors;
    /// Whether a placement of its tensors changed since they agreed.
    bool isDue = true;
  };

  void collect() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      setWish(argument);
      if (PlacementAttr used = usedOf(argument))
        placements[argument] = used.getValue();
      if (function.getArgAttr(argument.getArgNumber(), kClosedAttr))
        closed.insert(argument);
    }
    for (Operation &op : body.without_terminator()) {
      for (Value result : op.getResults()) {
        setWish(result);
        if (op.hasAttr(kClosedAttr))
          closed.insert(result);
      }
      if (!isa<ShardableOpInterface>(op) || (options.include && !options.include(&op)))
        continue;
      AlikeKey key = alikeKey(&op);
      const FactorRule *known = rules.find(key);
      const FactorRule &rule = known ? *known : rules.note(key, globalRuleOf(&op));
      bool reduces = llvm::any_of(
          rule.factors, [](const Factor &f) { return f.kind == Factor::Kind::Reduction; });
      ops.push_back({&op, rule, reduces, {}});
    }
    for (auto [index, info] : llvm::enumerate(ops)) {
      info.tensors = tensorsOf(info);
      for (const Tensor &tensor : info.tensors)
        opsOf[tensor.value].push_back(index);
    }
    // A declared result of the program asks of the value that is returned.
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      if (auto declared = function.getResultAttrOfType<PlacementAttr>(operand.getOperandNumber(),
                                                                      kPlacementAttr))
        placements.try_emplace(operand.get(), reducedDims(declared.getValue()));
  }

  /// Users of an argument see it as it is used, unless storage is the question.
  PlacementAttr usedOf(BlockArgument argument) {
    return options.stored
               ? PlacementAttr()
               : function.getArgAttrOfType<PlacementAttr>(argument.getArgNumber(), kUsedAttr);
  }

  void setWish(Value value) {
    if (PlacementAttr request = requestOf(value))
      placements[value] = reducedDims(request.getValue());
  }

  /// Propagation is about dims only.
  static Placement reducedDims(Placement placement) {
    placement.partial.clear();
    return placement;
  }

  void sweep(bool reductions) {
    // Placements only grow, so this ends; forward and backward in turn, because
    // one pass in the right direction crosses the whole program.
    bool changed = true;
    while (changed) {
      changed = false;
      for (OpInfo &info : ops)
        changed |= (reductions || !info.reduces) && settle(info);
      for (OpInfo &info : llvm::reverse(ops))
        changed |= (reductions || !info.reduces) && settle(info);
    }
  }

  /// Visits an op that may have something to say, and calls on those that it changes.
  bool settle(OpInfo &info) {
    if (!std::exchange(info.isDue, false))
      return false;
    bool changed = false;
    for (Value value : visit(info, nullptr)) {
      changed = true;
      for (unsigned op : opsOf[value])
        ops[op].isDue = true;
    }
    return changed;
  }

  SmallVector<Tensor, 4> tensorsOf(const OpInfo &info) const {
    unsigned numOperands = info.op->getNumOperands();
    SmallVector<Tensor, 4> tensors;
    for (auto [index, value] : llvm::enumerate(info.op->getOperands()))
      tensors.push_back({value, &info.rule.operands[index], unsigned(index)});
    for (auto [index, value] : llvm::enumerate(info.op->getResults()))
      tensors.push_back({value, &info.rule.results[index], unsigned(numOperands + index)});
    // Constants stand aside: values of one shape share them, and are made where
    // they are read, so one reader's placement must not spread to the others.
    llvm::erase_if(tensors, [](const Tensor &tensor) {
      Operation *op = tensor.value.getDefiningOp();
      return op && op->getNumOperands() == 0;
    });
    // What a person gave comes first.
    SmallVector<Tensor, 4> ordered;
    for (bool wanted : {true, false})
      for (const Tensor &tensor : tensors)
        if (closed.contains(tensor.value) == wanted)
          ordered.push_back(tensor);
    return ordered;
  }

  static bool isWhole(ArrayRef<PlacedFactor> parts) {
    return llvm::all_of(parts, [](const PlacedFactor &part) { return part.axes.empty(); });
  }

  /// True if `longer` splits as `shorter` and then further.
  static bool extends(ArrayRef<PlacedFactor> longer, ArrayRef<PlacedFactor> shorter) {
    if (isWhole(shorter))
      return true;
    if (longer.size() != shorter.size())
      return false;
    for (auto [a, b] : llvm::zip_equal(longer, shorter))
      if (a.size != b.size || a.axes.size() < b.axes.size() ||
          ArrayRef<AxisId>(a.axes).take_front(b.axes.size()) != ArrayRef<AxisId>(b.axes))
        return false;
    return true;
  }

  /// Two tensors of an op that cannot agree; with nothing kept, the first has the axis elsewhere.
  struct Conflict {
    const Tensor *first, *second;
    DimPlacement kept, refused;
  };

  /// Lets the tensors of one op agree. Returns the values whose placements grew.
  SmallVector<Value, 4> visit(const OpInfo &info, SmallVectorImpl<Conflict> *conflicts) {
    SmallVector<DimPlacement, 8> agreed(info.rule.factors.size());
    SmallVector<const Tensor *, 8> origin(info.rule.factors.size());
    SmallVector<const Tensor *, 4> used(mesh.axes.size());
    for (const Tensor &tensor : info.tensors)
      agree(info, tensor, agreed, origin, used, conflicts);
    SmallVector<Value, 4> grown;
    for (const Tensor &tensor : info.tensors)
      if (grow(info, tensor, agreed))
        grown.push_back(tensor.value);
    return grown;
  }

  void agree(const OpInfo &info, const Tensor &tensor, MutableArrayRef<DimPlacement> agreed,
             MutableArrayRef<const Tensor *> origin, MutableArrayRef<const Tensor *> used,
             SmallVectorImpl<Conflict> *conflicts) {
    auto found = placements.find(tensor.value);
    if (found == placements.end())
      return;
    for (auto [factors, dim] : llvm::zip_equal(*tensor.factors, found->second.dims)) {
      SmallVector<int64_t, 4> sizes;
      for (int f : factors)
        sizes.push_back(info.rule.factors[f].size);
      SmallVector<DimPlacement, 4> split;
      if (isWhole(dim) || !splitDim(mesh, dim, sizes, split))
        continue;
      for (auto [f, parts] : llvm::zip_equal(factors, split)) {
        if (isWhole(parts) || info.rule.factors[f].kind == Factor::Kind::Whole)
          continue;
        if (!extends(parts, agreed[f])) {
          if (!extends(agreed[f], parts) && conflicts)
            conflicts->push_back({origin[f], &tensor, agreed[f], parts});
          continue;
        }
        // Axes beyond what is agreed must be free in the op.
        AxisList fresh;
        for (const PlacedFactor &part : parts)
          for (AxisId axis : part.axes)
            if (!holds(agreed[f], axis))
              fresh.push_back(axis);
        auto *taken = llvm::find_if(fresh, [&](AxisId axis) { return used[axis] != nullptr; });
        if (taken != fresh.end()) {
          if (conflicts)
            conflicts->push_back({used[*taken], &tensor, {}, parts});
          continue;
        }
        for (AxisId axis : fresh)
          used[axis] = &tensor;
        agreed[f] = parts;
        origin[f] = &tensor;
      }
    }
  }

  static bool holds(ArrayRef<PlacedFactor> parts, AxisId axis) {
    return llvm::any_of(
        parts, [&](const PlacedFactor &part) { return llvm::is_contained(part.axes, axis); });
  }

  /// What a person said of a value is which devices have it: of that, microbatches are parts.
  bool grow(const OpInfo &info, const Tensor &tensor, ArrayRef<DimPlacement> agreed) {
    auto isAgreed = [&](int f) { return !agreed[f].empty(); };
    if (llvm::none_of(*tensor.factors,
                      [&](const DimFactors &dim) { return llvm::any_of(dim, isAgreed); }))
      return false;
    bool isClosed = closed.contains(tensor.value);
    auto type = cast<RankedTensorType>(tensor.value.getType());
    auto found = placements.find(tensor.value);
    Placement current =
        found == placements.end() ? Placement::replicated(type.getShape()) : found->second;
    Placement next = current;
    for (auto [index, factors] : llvm::enumerate(*tensor.factors)) {
      SmallVector<PlacedFactor, 4> parts;
      for (int f : factors) {
        if (isAgreed(f))
          llvm::append_range(parts, agreed[f]);
        else
          parts.push_back(PlacedFactor{info.rule.factors[f].size, {}});
      }
      DimPlacement dim = canonicalize(mesh, parts);
      if (dim == current.dims[index] || !extends(dim, current.dims[index]) || !mayUse(dim))
        continue;
      Placement attempt = next;
      attempt.dims[index] = dim;
      bool isAllowed = !isClosed || gatheredOverTime(mesh, attempt) == current;
      if (isAllowed && verifyPlacement(mesh, attempt, type.getShape()))
        next = attempt;
    }
    if (next == current)
      return false;
    placements[tensor.value] = next;
    if (isClosed)
      inParts.insert(tensor.value);
    return true;
  }

  /// A split that leaves some device nothing is never worth it.
  bool mayUse(ArrayRef<PlacedFactor> dim) {
    return llvm::all_of(dim, [&](const PlacedFactor &part) {
      int64_t members = mesh.groupSize(part.axes);
      return part.size % members == 0 || (options.uneven && part.size >= members);
    });
  }

  void reportConflicts() {
    if (!function.getContext()->getRemarkEngine())
      return;
    auto nameOf = [](const OpInfo &info, const Tensor &tensor) {
      unsigned numOperands = info.op->getNumOperands();
      return tensor.index < numOperands ? "operand " + std::to_string(tensor.index)
                                        : "result " + std::to_string(tensor.index - numOperands);
    };
    for (OpInfo &info : ops) {
      SmallVector<Conflict> conflicts;
      visit(info, &conflicts);
      for (const Conflict &conflict : conflicts) {
        std::string text;
        llvm::raw_string_ostream os(text);
        os << "'" << nodeName(info.op) << "': " << nameOf(info, *conflict.first) << " ";
        if (!conflict.kept.empty()) {
          os << "holds a factor as ";
          printDim(mesh, conflict.kept, os);
        } else {
          os << "has the axis elsewhere";
        }
        os << ", " << nameOf(info, *conflict.second) << " as ";
        printDim(mesh, conflict.refused, os);
        os << ": the first stays";
        remark::missed(info.op->getLoc(),
                       remark::RemarkOpts::name("conflict").category("dist-propagate"))
            << text;
      }
    }
  }

  bool staysAsItWas(Value value) const {
    return closed.contains(value) && !inParts.contains(value);
  }

  void writeAttributes() {
    MLIRContext *context = function.getContext();
    auto attribute = [&](Value value) {
      auto found = placements.find(value);
      Placement placement =
          found == placements.end()
              ? Placement::replicated(cast<RankedTensorType>(value.getType()).getShape())
              : found->second;
      if (hasPadding(mesh, placement))
        remark::analysis(value.getLoc(),
                         remark::RemarkOpts::name("uneven").category("dist-propagate"))
            << "uneven: " + toString(mesh, placement) + " is padded to equal shards";
      return PlacementAttr::get(context, meshAttr, placement);
    };
    SignatureAttributes arguments(function, SignatureAttributes::Of::Arguments);
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (staysAsItWas(argument))
        continue;
      if (usedOf(argument))
        arguments.set(number, kUsedAttr, attribute(argument));
      else
        placeArgument(arguments, number, attribute(argument));
    }
    arguments.write();
    DenseSet<Operation *> visited;
    for (OpInfo &info : ops)
      visited.insert(info.op);
    for (Operation &op : function.getBody().front().without_terminator()) {
      // Ops at the border are placed where a neighbour placed them.
      bool placed = visited.contains(&op) || llvm::any_of(op.getResults(), [&](Value result) {
                      return placements.contains(result);
                    });
      if (!placed || (op.hasAttr(kClosedAttr) && llvm::all_of(op.getResults(), [&](Value result) {
                        return staysAsItWas(result);
                      })))
        continue;
      // A result that is requested partial stays so.
      SmallVector<Attribute> entries;
      for (Value result : op.getResults()) {
        PlacementAttr request = requestOf(result);
        entries.push_back(request && !request.getValue().partial.empty() ? request
                                                                         : attribute(result));
      }
      op.setAttr(kPlacementsAttr, ArrayAttr::get(context, entries));
    }
  }

  func::FuncOp function;
  MeshAttr meshAttr;
  const Mesh &mesh;
  PropagationOptions options;
  AlikeOps<FactorRule> rules;
  std::vector<OpInfo> ops;
  /// The ops whose tensors a value is among, by number.
  DenseMap<Value, SmallVector<unsigned, 4>> opsOf;
  DenseMap<Value, Placement> placements;
  DenseSet<Value> closed;
  DenseSet<Value> inParts; // of the closed ones
};

} // namespace

void propagatePlacements(func::FuncOp function, MeshAttr mesh, const PropagationOptions &options) {
  Propagator(function, mesh, options).run();
}

namespace {

struct Propagate : impl::DistPropagateBase<Propagate> {
  using DistPropagateBase::DistPropagateBase;
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    PropagationOptions options;
    options.uneven = uneven;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        propagatePlacements(function, mesh, options);
  }
};

} // namespace
} // namespace weft::dist
