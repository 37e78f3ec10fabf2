// The SPMD verifier rejects every mutant that computes something else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomModel.h"
#include "SpmdHarness.h"

#include "dialects/dist/IR/Dist.h"

#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

/// Changes one thing of a `local` program that a wrong pass could have got wrong.
class Mutator {
public:
  Mutator(func::FuncOp function, Random &random)
      : function(function), mesh(dist::getMesh(function)), random(random) {
    function.getBody().walk([&](Operation *op) {
      if (isa<TransitionOpInterface, DeviceBodyOpInterface>(op))
        transitions.push_back(op);
      for (Value result : op->getResults())
        results.push_back(result);
    });
  }

  /// The class of the mutation, or "" if it did not apply.
  std::string mutate() {
    if (transitions.empty())
      return "";
    switch (random.below(8)) {
    case 0:
      return drop();
    case 1:
      return repeat();
    case 2:
      return changeAxes();
    case 3:
      return changeDim();
    case 4:
      return changeKind();
    case 5:
      return reorder();
    case 6:
      return lie();
    case 7:
      return bypass();
    }
    return "";
  }

private:
  Operation *transition() { return transitions[random.below(transitions.size())]; }

  static const Placement &placementOf(Value value) {
    return dist::getLocal(value.getType()).getValue();
  }

  /// Gives the value another placement in name only: its local shape stays.
  bool relabel(Value value, Placement placement) {
    placement = canonicalize(mesh.getValue(), placement);
    SmallVector<int64_t> global(globalShape(placement));
    if (placement == placementOf(value) || !verifyPlacement(mesh.getValue(), placement, global) ||
        localShape(mesh.getValue(), placement) != localShape(mesh.getValue(), placementOf(value)))
      return false;
    value.setType(dist::localType(getElementTypeOrSelf(value.getType()), mesh, placement));
    return true;
  }

  /// A transition is left out; its users read the operand under the result's name, if
  /// shapes allow, or as it is.
  std::string drop() {
    Operation *op = transition();
    Value input = op->getOperand(0), result = op->getResult(0);
    bool sameShape = cast<RankedTensorType>(input.getType()).getShape() ==
                     cast<RankedTensorType>(result.getType()).getShape();
    if (sameShape && random.chance(70)) {
      // As if the producer had claimed the transition's placement already.
      if (isa<BlockArgument>(input))
        return "";
      input.setType(result.getType());
    }
    result.replaceAllUsesWith(input);
    op->erase();
    return "drop";
  }

  std::string repeat() {
    Operation *op = transition();
    Value result = op->getResult(0);
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Operation *again = builder.clone(*op);
    again->setOperand(0, result);
    result.replaceAllUsesExcept(again->getResult(0), again);
    // The first may pretend that it left work for the second.
    if (random.chance(60) && op->getOperand(0).getType() != result.getType() &&
        cast<RankedTensorType>(op->getOperand(0).getType()).getShape() ==
            cast<RankedTensorType>(result.getType()).getShape())
      result.setType(op->getOperand(0).getType());
    return "repeat";
  }

  std::string changeAxes() {
    Operation *op = transition();
    if (!op->hasAttr("axes"))
      return "";
    const Mesh &axes = mesh.getValue();
    AxisId a = random.below(axes.axes.size()), b = random.below(axes.axes.size());
    if (a == b)
      return "";
    SmallVector<StringRef> names;
    for (Attribute name : op->getAttrOfType<ArrayAttr>("axes")) {
      StringRef text = cast<StringAttr>(name).getValue();
      names.push_back(text == axes.axes[a].name   ? StringRef(axes.axes[b].name)
                      : text == axes.axes[b].name ? StringRef(axes.axes[a].name)
                                                  : text);
    }
    auto attr = OpBuilder(op).getStrArrayAttr(names);
    if (attr == op->getAttr("axes"))
      return "";
    op->setAttr("axes", attr);
    if (random.chance(20))
      return "axes";
    // The types follow, so that the transition is consistent in itself.
    for (Value value : {op->getOperand(0), Value(op->getResult(0))})
      if (!isa<BlockArgument>(value))
        relabel(value, exchanged(placementOf(value), a, b));
    return "axes";
  }

  static Placement exchanged(Placement placement, AxisId a, AxisId b) {
    auto other = [&](AxisId axis) { return axis == a ? b : axis == b ? a : axis; };
    for (DimPlacement &dim : placement.dims)
      for (PlacedFactor &part : dim)
        for (AxisId &axis : part.axes)
          axis = other(axis);
    for (PartialAxis &entry : placement.partial)
      entry.axis = other(entry.axis);
    return placement;
  }

  std::string changeDim() {
    Operation *op = transition();
    for (StringRef name : {"dim", "split_dim", "gather_dim"})
      if (auto dim = op->getAttrOfType<IntegerAttr>(name); dim && random.chance(60)) {
        int64_t tensorRank = placementOf(op->getResult(0)).dims.size();
        int64_t here = dim.getInt(), there = random.below(tensorRank + 1);
        if (here == there)
          return "";
        op->setAttr(name, OpBuilder(op).getI64IntegerAttr(there));
        if (there == tensorRank)
          return "dim";
        // Equal dims may exchange their placements, so that the transition is
        // consistent in itself: the wrong dim is cut.
        Placement placement = placementOf(op->getResult(0));
        std::swap(placement.dims[here], placement.dims[there]);
        relabel(op->getResult(0), placement);
        return "dim";
      }
    return "";
  }

  /// Another transition, or another reduction, between the same types.
  std::string changeKind() {
    Operation *op = transition();
    Value result = op->getResult(0);
    Placement from = placementOf(op->getOperand(0)), to = placementOf(result);
    if (!from.partial.empty() && random.chance(50)) {
      static const ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                                         ReduceKind::Min};
      ReduceKind kind = kinds[random.below(4)];
      for (PartialAxis &entry : from.partial)
        entry.kind = kind;
      return !isa<BlockArgument>(op->getOperand(0)) && relabel(op->getOperand(0), from) ? "kind"
                                                                                        : "";
    }
    if (!op->hasAttr("axes"))
      return "";
    AxisList axes;
    for (Attribute name : op->getAttrOfType<ArrayAttr>("axes"))
      llvm::append_range(axes, mesh.getValue().resolve(cast<StringAttr>(name).getValue()));
    static const TransitionKind kinds[] = {TransitionKind::AllGather, TransitionKind::Slice,
                                           TransitionKind::AllReduce, TransitionKind::ReduceScatter,
                                           TransitionKind::AllToAll};
    TransitionKind kind = kinds[random.below(5)];
    if (kind == cast<TransitionOpInterface>(op).getTransitionKind())
      return "";
    OpBuilder builder(op);
    int dim = to.dims.empty() ? 0 : random.below(to.dims.size());
    int other = to.dims.empty() ? 0 : random.below(to.dims.size());
    Value made = dist::createTransition(builder, op->getLoc(), op->getOperand(0), mesh, kind, axes,
                                        dim, other, to);
    result.replaceAllUsesWith(made);
    op->erase();
    return "kind";
  }

  /// Two transitions in a row change places.
  std::string reorder() {
    for (int tries = 0; tries < 8; ++tries) {
      Operation *second = transition();
      Operation *first = second->getOperand(0).getDefiningOp();
      if (!first || !llvm::is_contained(transitions, first) || !first->hasOneUse())
        continue;
      Value input = first->getOperand(0);
      second->setOperand(0, input);
      second->getResult(0).replaceAllUsesWith(first->getResult(0));
      first->setOperand(0, second->getResult(0));
      first->moveAfter(second);
      Type type = first->getResult(0).getType();
      first->getResult(0).setType(second->getResult(0).getType());
      if (random.chance(50))
        second->getResult(0).setType(type);
      return "reorder";
    }
    return "";
  }

  /// A value is said to lie elsewhere than it does.
  std::string lie() {
    Value value = results[random.below(results.size())];
    Placement placement = placementOf(value);
    switch (random.below(6)) {
    case 0: // not partial, or partial on one axis less
      if (placement.partial.empty())
        return "";
      placement.partial.pop_back();
      break;
    case 1: { // partial on one axis more
      AxisId axis = random.below(mesh.getValue().axes.size());
      ReduceKind kind =
          placement.partial.empty() ? ReduceKind::Sum : placement.partial.front().kind;
      placement.partial.push_back({axis, kind});
      break;
    }
    case 2: // known padding
      if (placement.padding)
        placement.padding = std::nullopt;
      else
        placement.padding = random.chance(50) ? ReduceKind::Sum : ReduceKind::Max;
      break;
    case 3: // two axes exchanged
      placement = exchanged(placement, random.below(mesh.getValue().axes.size()),
                            random.below(mesh.getValue().axes.size()));
      break;
    case 4: // the split on another part of the dim
      if (placement.dims.empty())
        return "";
      {
        DimPlacement &dim = placement.dims[random.below(placement.dims.size())];
        PlacedFactor &part = dim[random.below(dim.size())];
        if (part.axes.empty() || part.size % 2 != 0 || part.size < 4)
          return "";
        PlacedFactor rest{part.size / 2, part.axes};
        dim = {PlacedFactor{2, {}}, rest};
      }
      break;
    case 5: // another factor's positions
      if (placement.localIndices.empty())
        return "";
      if (random.chance(50))
        placement.localIndices.clear();
      else
        placement.localIndices.front().factor.front().size += random.between(-1, 1) * 2;
      break;
    }
    return relabel(value, placement) ? "lie" : "";
  }

  /// One user reads what the transition read.
  std::string bypass() {
    Operation *op = transition();
    Value input = op->getOperand(0);
    if (cast<RankedTensorType>(input.getType()).getShape() !=
        cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      return "";
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getResult(0).getUses())
      uses.push_back(&use);
    if (uses.empty())
      return "";
    uses[random.below(uses.size())]->set(input);
    return "bypass";
  }

  func::FuncOp function;
  dist::MeshAttr mesh;
  Random &random;
  SmallVector<Operation *> transitions;
  SmallVector<Value> results;
};

struct Tally {
  int mutants = 0, byOps = 0, bySpmd = 0, acceptedEqual = 0, different = 0;
};

/// Mutants are classed by running them, not by the verifier. Those whose ops do
/// not verify by themselves cannot be run and count as rejected.
class Judge {
public:
  Judge(MLIRContext &context) : context(context) {
    // Rejections are expected here and not worth printing.
    context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  }

  /// Mutates the first program of `module`, which computes `oracle`, some times.
  void judge(ModuleOp module, const std::vector<HostTensor> &inputs, ArrayRef<HostTensor> oracle,
             llvm::function_ref<double(const HostTensor &, const HostTensor &)> error,
             double tolerance, Random &random, const std::string &what) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      OwningOpRef<ModuleOp> mutant(module.clone());
      auto function = *mutant->getOps<func::FuncOp>().begin();
      std::string before = print(*mutant);
      std::string kind = Mutator(function, random).mutate();
      if (kind.empty())
        continue;
      // The program's results are whatever the mutated return gives.
      Operation *terminator = function.getBody().front().getTerminator();
      function.setFunctionType(
          FunctionType::get(&context, function.getArgumentTypes(), terminator->getOperandTypes()));
      Tally &tally = tallies[kind];
      for (Tally *t : {&tally, &total})
        ++t->mutants;
      if (failed(verify(*mutant))) {
        ++tally.byOps, ++total.byOps;
        continue;
      }
      PassManager verifier(&context);
      verifier.addPass(dist::createDistVerifySpmd());
      bool accepted = succeeded(verifier.run(*mutant));
      std::string why;
      auto results = interpretSpmd(function, inputs, 1e-10, &why);
      bool equal = results.has_value();
      for (size_t i = 0; equal && i < results->size(); ++i)
        equal = error((*results)[i], oracle[i]) <= tolerance;
      for (Tally *t : {&tally, &total}) {
        t->bySpmd += !accepted;
        t->acceptedEqual += accepted && equal;
        t->different += !equal;
      }
      ASSERT_TRUE(!accepted || equal) << what << ", mutation " << kind
                                      << ": accepted, but computes something else (" << why << ")\n"
                                      << before << print(*mutant);
    }
  }

  int mutants() const { return total.mutants; }

  /// `least` says per class how many mutants must have run and computed something
  /// else. Those that the ops' own verifiers reject tell nothing of the SPMD
  /// verifier; of dim, reorder and repeat that is every one that matters.
  void report(const std::map<std::string, int> &least) {
    for (auto &[kind, t] : tallies)
      std::printf(
          "%-8s %5d mutants: %5d rejected by ops, %5d by dist-verify-spmd, %5d accepted and "
          "equal; of those that ran %5d computed something else\n",
          kind.c_str(), t.mutants, t.byOps, t.bySpmd, t.acceptedEqual, t.different);
    std::printf(
        "total    %5d mutants (seeds from 0), %d rejected by ops, %d by dist-verify-spmd; %d "
        "computed something else when run, 0 of those accepted\n",
        total.mutants, total.byOps, total.bySpmd, total.different);
    EXPECT_GE(total.mutants, 1000);
    for (const auto &[kind, count] : least)
      EXPECT_GE(tallies[kind].different, count) << kind;
  }

private:
  MLIRContext &context;
  std::map<std::string, Tally> tallies;
  Tally total;
};

} // namespace

TEST(Mutation, NoAcceptedMutantComputesSomethingElse) {
  Context setup;
  Judge judge(setup.context);
  int wanted = volume(6000, 60000);
  for (int seed = 0; judge.mutants() < wanted; ++seed) {
    ASSERT_LT(seed, 100 * wanted);
    Random random(seed);
    RandomProgram program = randomProgram(setup.context, random, random.between(2, 8));
    auto oracle = interpret(program.function, program.inputs);
    bool inParts = random.chance(30);
    if (inParts)
      addMicrobatches(program, 2);
    annotate(program, random);
    ASSERT_TRUE(succeeded(oracle) &&
                succeeded(partition(*program.module, true, random.chance(50))));
    if (inParts && failed(formLoops(*program.module)))
      continue;
    judge.judge(*program.module, program.inputs, *oracle, errorOf, 1e-10, random,
                "seed " + std::to_string(seed));
    if (HasFatalFailure())
      return;
  }
  judge.report({{"axes", 60}, {"bypass", 80}, {"drop", 100}, {"kind", 20}, {"lie", 25}});
}

// Training steps: gradients, ZeRO, loops over microbatches.
TEST(Mutation, NoAcceptedMutantOfATrainingStepComputesSomethingElse) {
  registerAllPasses();
  Context setup;
  Judge judge(setup.context);
  int wanted = volume(1100, 6000);
  for (int seed = 0; judge.mutants() < wanted; ++seed) {
    ASSERT_LT(seed, 100 * wanted);
    Random random(seed);
    TrainingCase test = randomTrainingCase(setup.context, random);
    ASSERT_TRUE(test.module);
    auto function = *test.module->getOps<func::FuncOp>().begin();
    std::vector<HostTensor> inputs = randomArguments(function, random);
    auto oracle = interpret(function, inputs);
    PassManager passes(&setup.context);
    ASSERT_TRUE(succeeded(oracle) &&
                succeeded(parsePassPipeline(test.layout.pipeline(random.chance(70)), passes)) &&
                succeeded(passes.run(*test.module)));
    judge.judge(*test.module, inputs, *oracle, stateErrorOf, 1e-9, random,
                "seed " + std::to_string(seed) + " " + test.layout.text());
    if (HasFatalFailure())
      return;
  }
  judge.report({{"axes", 10}, {"bypass", 70}, {"drop", 60}, {"kind", 12}, {"lie", 1}});
}
