// Rejects functions that do not compute what they did before kernels were formed of their ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/routines/Routines.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/xxhash.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTRECORDRESULTS
#define GEN_PASS_DEF_RTVERIFYRESULTS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// On a function between the two passes: a number for each value that it returns, and behind these
/// one for each op that acts on others (a send), in order.
constexpr llvm::StringLiteral kComputesAttr = "rt.computes";

using Hash = uint64_t;
using Hashes = SmallVector<Hash, 4>;

Hash hashOf(ArrayRef<Hash> parts) {
  return llvm::xxh3_64bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(parts.data()), parts.size() * sizeof(Hash)));
}

Hash hashOf(StringRef text) { return llvm::xxh3_64bits(text); }

/// An op that is the same wherever it stands: a constant, a coordinate.
bool isConstant(Operation *op) {
  return op && op->getNumOperands() == 0 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !isa<CallOp>(op);
}

/// A number for each value: what makes it, of which values, down to arguments. Two values have one
/// number if the same ops make them of the same values; where these ops stand (in a kernel, a
/// bucket, a fusion, copied or shared), in which order and in which memory, does not count. The
/// numbers depend on nothing but the text of the program.
class Meanings {
public:
  explicit Meanings(ModuleOp module) : symbols(module) {
    for (func::FuncOp program : programsOf(module))
      for (auto call : program.getBody().front().getOps<CallOp>())
        if (func::FuncOp callee = calleeOf(call, symbols); callee && isRoutine(callee))
          noteConstants(call, callee);
  }

  SmallVector<int64_t> of(func::FuncOp function) {
    actions.clear();
    Hashes arguments;
    for (BlockArgument argument : function.getArguments()) {
      std::optional<Hash> constant = constantOf(function, argument.getArgNumber());
      arguments.push_back(
          constant.value_or(hashOf({hashOf("argument"), Hash(argument.getArgNumber())})));
    }
    SmallVector<int64_t> numbers(llvm::map_range(run(function.getBody().front(), arguments),
                                                 [](Hash hash) { return int64_t(hash); }));
    llvm::append_range(numbers, actions);
    return numbers;
  }

private:
  /// What a routine is given is that constant where all calls say the same, so that it does not
  /// matter whether it stands in the routine (rt-hoist-constants).
  void noteConstants(CallOp call, func::FuncOp callee) {
    auto [known, isFirst] = constants.try_emplace(callee);
    for (auto [i, operand] : llvm::enumerate(call.getInputs())) {
      Operation *op = operand.getDefiningOp();
      std::optional<Hash> hash;
      if (isConstant(op))
        hash = results(op, {}).front();
      if (isFirst)
        known->second.push_back(hash);
      else if (i < known->second.size() && known->second[i] != hash)
        known->second[i] = std::nullopt;
    }
  }

  std::optional<Hash> constantOf(func::FuncOp function, unsigned argument) const {
    auto known = constants.find(function);
    return known == constants.end() || argument >= known->second.size() ? std::nullopt
                                                                        : known->second[argument];
  }

  /// The numbers of what a block's terminator takes.
  Hashes run(Block &block, ArrayRef<Hash> arguments) {
    llvm::DenseMap<Value, Hash> made;
    for (auto [argument, hash] : llvm::zip(block.getArguments(), arguments))
      made[argument] = hash;
    Hashes operands;
    for (Operation &op : block) {
      operands.clear();
      for (Value operand : op.getOperands())
        operands.push_back(made.lookup(operand));
      if (&op == &block.back())
        break;
      for (auto [result, hash] : llvm::zip(op.getResults(), results(&op, operands)))
        made[result] = hash;
    }
    return operands;
  }

  /// Negative zeros are the same however they are made: a constant, views of one, a sum to which
  /// nothing was added.
  std::optional<Hash> negativeZeros(Operation *op, ArrayRef<Hash> operands) {
    bool isView = operands.size() == 1 && zeros.contains(operands[0]) && isFree(op);
    if (!isView && !isa<NothingOp>(op) && !matchPattern(op, m_NegZeroFloat()))
      return std::nullopt;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Hash hash = hashOf({hashOf("negative zeros"), ofType(withoutEncoding(type))});
    zeros.insert(hash);
    return hash;
  }

  Hashes results(Operation *op, ArrayRef<Hash> operands) {
    if (std::optional<Hash> hash = negativeZeros(op, operands))
      return {*hash};
    if (isa<FusionOp, BucketOp>(op))
      return run(op->getRegion(0).front(), operands);
    if (isa<DenseOp>(op))
      return Hashes(operands);
    if (auto call = dyn_cast<CallOp>(op))
      return called(call, operands);
    if (auto concat = dyn_cast<nn::ConcatOp>(op))
      return {joined(concat, operands)};
    return resultsOf(op, ownHash(op), operands);
  }

  /// A kernel is the ops in it; a routine is judged by itself, but where a sum begins, which need
  /// not be made (rt-elide-sum-starts).
  Hashes called(CallOp call, ArrayRef<Hash> operands) {
    func::FuncOp callee = calleeOf(call, symbols);
    if (callee && !callee.isExternal() && (!isRoutine(callee) || makesZeros(callee, operands)))
      return run(callee.getBody().front(), operands);
    Hashes given;
    for (auto [i, operand] : llvm::enumerate(operands))
      if (!callee || !constantOf(callee, i))
        given.push_back(operand);
    return resultsOf(call, hashOf(call.getCallee()), given);
  }

  /// Whether a routine makes nothing but negative zeros, of such.
  bool makesZeros(func::FuncOp routine, ArrayRef<Hash> operands) {
    Block &body = routine.getBody().front();
    auto isZeros = [&](Hash hash) { return zeros.contains(hash); };
    return llvm::all_of(operands, isZeros) &&
           llvm::all_of(body, [](Operation &op) { return isMemoryEffectFree(&op); }) &&
           llvm::all_of(run(body, operands), isZeros);
  }

  /// A concatenation of concatenations is one of all their operands: kernels take so many at most.
  Hash joined(nn::ConcatOp concat, ArrayRef<Hash> operands) {
    Hashes all{hashOf("concat"), Hash(concat.getDim())};
    for (Hash operand : operands) {
      auto inner = concats.find(operand);
      if (inner != concats.end() && inner->second[1] == all[1])
        all.append(inner->second.begin() + 2, inner->second.end());
      else
        all.push_back(operand);
    }
    Hash hash = hashOf(all);
    concats[hash] = std::move(all);
    return hash;
  }

  /// What acts on others is no two times the same, and none of it may vanish.
  Hashes resultsOf(Operation *op, Hash own, ArrayRef<Hash> operands) {
    Hashes parts{own};
    parts.append(operands.begin(), operands.end());
    if (!isMemoryEffectFree(op)) {
      parts.push_back(actions.size());
      actions.push_back(int64_t(hashOf(parts)));
    }
    Hashes made;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      parts.push_back(i);
      made.push_back(hashOf(parts));
      parts.pop_back();
    }
    return made;
  }

  /// What an op does, whatever it is given.
  Hash ownHash(Operation *op) {
    Hashes parts{hashOf(op->getName().getStringRef())};
    NamedAttrList attributes;
    op->getName().populateInherentAttrs(op, attributes);
    for (NamedAttribute attribute : attributes) {
      parts.push_back(hashOf(attribute.getName()));
      parts.push_back(ofAttribute(attribute.getValue()));
    }
    // In kernels types have no placement.
    bool inKernels = isa<KernelOpInterface>(op);
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        parts.push_back(
            ofType(inKernels && isa<RankedTensorType>(type) ? Type(withoutEncoding(type)) : type));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        parts.append(ofBody(block));
    return hashOf(parts);
  }

  /// Code that an op carries: each of its ops, of numbered values.
  Hashes ofBody(Block &block) {
    Hashes parts;
    llvm::DenseMap<Value, Hash> numbers;
    auto number = [&](Value value) { numbers.try_emplace(value, numbers.size()); };
    llvm::for_each(block.getArguments(), number);
    for (Operation &op : block) {
      parts.push_back(ownHash(&op));
      for (Value operand : op.getOperands())
        parts.push_back(numbers.lookup(operand));
      llvm::for_each(op.getResults(), number);
    }
    return parts;
  }

  template <typename T> Hash ofText(T object) {
    auto [found, isNew] = texts.try_emplace(object.getAsOpaquePointer());
    if (isNew) {
      std::string text;
      llvm::raw_string_ostream(text) << object;
      found->second = hashOf(text);
    }
    return found->second;
  }
  Hash ofType(Type type) { return ofText(type); }

  /// Of elements what they are, not the placement of their type.
  Hash ofAttribute(Attribute attribute) {
    auto elements = dyn_cast<DenseElementsAttr>(attribute);
    if (!elements)
      return ofText(attribute);
    auto [found, isNew] = texts.try_emplace(attribute.getAsOpaquePointer());
    if (isNew) {
      ArrayRef<char> data = elements.getRawData();
      Hash bytes = hashOf(StringRef(data.data(), data.size()));
      // `ofType` may make the table larger.
      Hash hash = hashOf({ofType(withoutEncoding(elements.getType())), bytes});
      return texts[attribute.getAsOpaquePointer()] = hash;
    }
    return found->second;
  }

  SymbolTable symbols;
  SmallVector<int64_t> actions;
  llvm::DenseMap<Operation *, SmallVector<std::optional<Hash>>> constants; // by routine
  llvm::DenseMap<Hash, Hashes> concats;
  llvm::DenseSet<Hash> zeros; // negative ones
  llvm::DenseMap<const void *, Hash> texts;
};

struct RecordResults : weft::rt::impl::RtRecordResultsBase<RecordResults> {
  void runOnOperation() override {
    Meanings meanings(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      function->setAttr(kComputesAttr,
                        DenseI64ArrayAttr::get(&getContext(), meanings.of(function)));
  }
};

struct VerifyResults : weft::rt::impl::RtVerifyResultsBase<VerifyResults> {
  void runOnOperation() override {
    Meanings meanings(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation())) {
      auto recorded = function->getAttrOfType<DenseI64ArrayAttr>(kComputesAttr);
      if (!recorded) {
        function.emitError() << "@" << function.getSymName() << " does not say what it computes ("
                             << kComputesAttr << "); run rt-record-results before";
        signalPassFailure();
        continue;
      }
      if (failed(compare(function, recorded.asArrayRef(), meanings.of(function))))
        signalPassFailure();
      function->removeAttr(kComputesAttr);
    }
  }

private:
  static LogicalResult compare(func::FuncOp function, ArrayRef<int64_t> before,
                               ArrayRef<int64_t> now) {
    if (before.size() != now.size())
      return function.emitError() << "@" << function.getSymName() << " returned and sent "
                                  << before.size() << " values before kernels were formed, now "
                                  << now.size();
    Operation *end = function.getBody().front().getTerminator();
    bool valid = true;
    for (auto [i, was, is] : llvm::enumerate(before, now)) {
      if (was == is)
        continue;
      valid = false;
      if (i >= end->getNumOperands()) {
        function.emitError() << "what @" << function.getSymName() << " sends or receives as number "
                             << i - end->getNumOperands()
                             << " is not what it was before kernels were formed";
        continue;
      }
      auto diagnostic = function.emitError()
                        << "result " << i << " of @" << function.getSymName()
                        << " is not computed as it was before kernels were formed";
      diagnostic.attachNote(end->getOperand(i).getLoc()) << "this makes it now";
    }
    return success(valid);
  }
};

} // namespace
