// Delta debugging of programs: one kind of change at a time, to many places at once
// where the test allows it, to fewer where it does not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReduceProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Tester.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace {

/// A place of a program where a kind of change may apply, found again in a clone by
/// its number.
using Places = SmallVector<Operation *>;

/// Ops other than the module and terminators, users first, and before the op that holds them.
Places placesOf(ModuleOp module) {
  Places places;
  module.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != module && !op->hasTrait<OpTrait::IsTerminator>())
      places.push_back(op);
  });
  return places;
}

bool isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

/// Results that are of the type of an operand become that operand.
bool replaceByOperand(Operation *op) {
  if (op->getNumResults() == 0 || op->use_empty())
    return false;
  bool changed = false;
  for (OpResult result : op->getResults())
    for (Value operand : op->getOperands())
      if (operand.getType() == result.getType() && !result.use_empty()) {
        result.replaceAllUsesWith(operand);
        changed = true;
        break;
      }
  return changed;
}

/// Results become zeros, as the op's dialect writes them.
bool replaceByZero(Operation *op) {
  if (op->use_empty() || isConstant(op))
    return false;
  OpBuilder builder(op);
  bool changed = false;
  for (OpResult result : op->getResults()) {
    if (result.use_empty() || !isa<RankedTensorType, FloatType, IntegerType>(result.getType()))
      continue;
    Attribute zero = builder.getZeroAttr(result.getType());
    Operation *constant =
        zero ? op->getDialect()->materializeConstant(builder, zero, result.getType(), op->getLoc())
             : nullptr;
    if (!constant)
      continue;
    result.replaceAllUsesWith(constant->getResult(0));
    changed = true;
  }
  return changed;
}

/// Functions that nothing calls count as unused, too.
bool eraseUnused(Operation *op) {
  if (!op->use_empty())
    return false;
  op->erase();
  return true;
}

bool eraseUnusedArguments(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || function.isExternal())
    return false;
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  return unused.any() && succeeded(function.eraseArguments(unused));
}

/// All results at once, or, for a second attempt, all but the last.
bool eraseResults(Operation *op, bool keepsLast) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || function.isExternal() || function.getNumResults() <= unsigned(keepsLast) ||
      !llvm::hasSingleElement(function.getFunctionBody()))
    return false;
  Operation *terminator = function.getFunctionBody().front().getTerminator();
  unsigned count = function.getNumResults() - keepsLast;
  if (terminator->getNumOperands() != function.getNumResults())
    return false;
  llvm::BitVector erased(function.getNumResults());
  erased.set(0, count);
  terminator->eraseOperands(erased);
  return succeeded(function.eraseResults(erased));
}

class Reducer {
public:
  Reducer(ModuleOp module, const Tester &tester) : best(module.clone()), tester(tester) {}

  bool isInteresting() { return test(*best); }
  ModuleOp result() { return *best; }
  unsigned tests() const { return count; }

  void run() {
    for (bool changed = true; changed;) {
      changed = reduceBy([](Operation *op) { return eraseResults(op, /*keepsLast=*/false); });
      changed |= reduceBy([](Operation *op) { return eraseResults(op, /*keepsLast=*/true); });
      changed |= reduceBy(eraseUnused);
      changed |= reduceBy(replaceByOperand);
      changed |= reduceBy(eraseUnused);
      changed |= reduceBy(replaceByZero);
      changed |= reduceBy(eraseUnused);
      changed |= reduceBy(eraseUnusedArguments);
    }
  }

private:
  /// Candidates break rules on the way: that is no news.
  bool test(ModuleOp candidate) {
    ScopedDiagnosticHandler quiet(candidate.getContext(), [](Diagnostic &) { return success(); });
    ++count;
    return succeeded(verify(candidate)) &&
           tester.isInteresting(candidate).first == Tester::Interestingness::True;
  }

  /// Applies `change` in runs of places: all, halves, quarters, down to one.
  bool reduceBy(llvm::function_ref<bool(Operation *)> change) {
    bool reduced = false;
    size_t size = placesOf(*best).size();
    for (size_t run = size; run > 0; run /= 2)
      for (size_t begin = 0; begin < size;) {
        size_t before = size;
        if (attempt(change, begin, run)) {
          reduced = true;
          size = placesOf(*best).size();
        }
        // Where ops are gone, others are in their place.
        begin += run - std::min(run, before - std::min(before, size));
      }
    return reduced;
  }

  bool attempt(llvm::function_ref<bool(Operation *)> change, size_t begin, size_t run) {
    OwningOpRef<ModuleOp> candidate(best->clone());
    Places places = placesOf(*candidate);
    bool changed = false;
    // Users come first, so that what they leave unused goes with them.
    for (size_t i = begin; i < std::min(begin + run, places.size()); ++i)
      changed |= change(places[i]);
    if (!changed || !test(*candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  OwningOpRef<ModuleOp> best;
  const Tester &tester;
  unsigned count = 0;
};

struct ReduceProgram : PassWrapper<ReduceProgram, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceProgram)
  ReduceProgram() = default;
  ReduceProgram(const ReduceProgram &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "weft-reduce-program"; }
  StringRef getDescription() const override {
    return "Make the program small while a test finds it interesting: ops become an operand or "
           "zero, what is unused goes";
  }

  void runOnOperation() override {
    SmallVector<std::string> texts(arguments.begin(), arguments.end());
    llvm::ErrorOr<std::string> script = llvm::sys::findProgramByName(test);
    if (!script || !llvm::sys::fs::can_execute(*script)) {
      getOperation().emitError() << "the test '" << test << "' is no program that can be run";
      return signalPassFailure();
    }
    Tester tester(*script, texts);
    Reducer reducer(getOperation(), tester);
    if (!reducer.isInteresting()) {
      getOperation().emitError()
          << "the test '" << test
          << "' does not find the program interesting; it must exit with another code than 0";
      return signalPassFailure();
    }
    reducer.run();
    getOperation()->setAttrs(reducer.result()->getAttrDictionary());
    getOperation().getBodyRegion().takeBody(reducer.result().getBodyRegion());
    llvm::errs() << "weft-reduce: " << reducer.tests() << " tests\n";
  }

  Option<std::string> test{
      *this, "test",
      llvm::cl::desc("Program that exits with another code than 0 if FILE, its last "
                     "argument, is interesting")};
  ListOption<std::string> arguments{*this, "test-arg",
                                    llvm::cl::desc("Arguments in front of FILE")};
};

} // namespace

void weft::registerReduceProgram() {
  registerPass([] { return std::make_unique<ReduceProgram>(); });
}
