// Kernels that may overwrite what they read, and who reads a value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/InPlace.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Interfaces/OpInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::rt;

static bool isOneElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
}

bool weft::rt::isPointwise(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (op->getNumOperands() == 0)
    return true;
  if (!shardable || !isa<KernelOpInterface>(op))
    return false;
  FactorRule rule = shardable.getOwnFactorRule();
  if (rule.results.size() != op->getNumResults() || rule.operands.size() != op->getNumOperands())
    return false;
  // Pieces of a parallel factor are independent down to single indices.
  if (!llvm::all_of(rule.factors,
                    [](const Factor &factor) { return factor.kind == Factor::Kind::Parallel; }))
    return false;
  // Factors of size 1 index nothing.
  auto indices = [&](const TensorFactors &tensor) {
    SmallVector<int> list;
    for (const DimFactors &dim : tensor)
      for (int factor : dim)
        if (rule.factors[factor].size != 1)
          list.push_back(factor);
    return list;
  };
  for (const TensorFactors &result : rule.results)
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
      if (!isOneElement(operand) && indices(tensor) != indices(result))
        return false;
  return true;
}

static ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

/// All ops are pointwise, all results of one shape.
static bool isOnePass(func::FuncOp kernel) {
  return llvm::all_equal(llvm::map_range(kernel.getResultTypes(), shapeOf)) &&
         llvm::all_of(kernel.getBody().front().without_terminator(),
                      [](Operation &op) { return op.getNumRegions() == 0 && isPointwise(&op); });
}

/// Reductions are done before what they make is read, and so are look-ups in what is overwritten,
/// whose result has no dim of what indices choose from.
static bool isDoneBefore(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return false;
  FactorRule rule = shardable.getOwnFactorRule();
  bool looksUp = llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.indexOperand >= 0 && factor.kind == Factor::Kind::Reduction;
  });
  return (looksUp || shardable.getComputeClass() == ComputeClass::Reduction) &&
         llvm::none_of(rule.factors, [](const Factor &factor) {
           return factor.kind == Factor::Kind::Whole && factor.size != 1;
         });
}

/// The numbers of pieces, more than one, into which leading dims that the argument and all results
/// share can cut the kernel, and parts of the first one in which they differ. Piece by piece: the
/// argument is read for the same piece of the results only.
static SmallVector<int64_t> piecesOf(func::FuncOp kernel, unsigned argument) {
  SmallVector<int64_t> pieces;
  int64_t product = 1;
  for (auto [dim, size] : llvm::enumerate(shapeOf(kernel.getArgumentTypes()[argument]))) {
    int64_t parts = size;
    for (Type type : kernel.getResultTypes())
      parts = dim < shapeOf(type).size() ? std::gcd(parts, shapeOf(type)[dim]) : 1;
    product *= parts;
    if (product > 1)
      pieces.push_back(product);
    if (parts != size || llvm::any_of(kernel.getResultTypes(), [&, dim = dim](Type type) {
          return dim >= shapeOf(type).size() || shapeOf(type)[dim] != parts;
        }))
      break;
  }
  return pieces;
}

/// The result is made from elements of the argument with the same indices and from sums over a
/// piece of it, and elements looked up in it, that are done by then. Ops behind it have of all this
/// only the result itself, so nothing reads the argument after it was overwritten.
static bool overwritesPieces(func::FuncOp kernel, unsigned argument, unsigned result) {
  Block &body = kernel.getBody().front();
  Value made = body.getTerminator()->getOperand(result);
  SmallVector<int64_t> pieces = piecesOf(kernel, argument);
  llvm::DenseSet<Value> elements{body.getArgument(argument)}, all = elements;
  bool isMade = false;
  for (Operation &op : body.without_terminator()) {
    if (op.getNumRegions() != 0 || !isa<KernelOpInterface>(op) || op.getNumResults() != 1)
      return false;
    if (isMade && llvm::any_of(op.getOperands(), [&](Value value) { return all.contains(value); }))
      return false;
    for (OpOperand &operand : op.getOpOperands()) {
      if (!all.contains(operand.get()))
        continue;
      SmallVector<int64_t> cuts = cutsOf(&op, operand.getOperandNumber());
      llvm::erase_if(pieces, [&](int64_t count) { return !llvm::is_contained(cuts, count); });
      all.insert(op.getResult(0));
    }
    if (llvm::any_of(op.getOperands(), [&](Value value) { return elements.contains(value); })) {
      if (isPointwise(&op))
        elements.insert(op.getResult(0));
      else if (!isDoneBefore(&op))
        return false;
    }
    if (op.getResult(0) == made) {
      if (!elements.contains(made))
        return false;
      isMade = true;
      all.erase(made);
    }
  }
  return isMade && !pieces.empty();
}

/// Of a kernel of several members: both belong to one of them. The others run when they like.
static bool areOfOneMember(func::FuncOp kernel, unsigned argument, unsigned result) {
  auto members = kernel->getAttrOfType<IntegerAttr>(kMembersAttr);
  return !members || argument / (kernel.getNumArguments() / members.getInt()) ==
                         result / (kernel.getNumResults() / members.getInt());
}

bool weft::rt::mayOverwrite(func::FuncOp kernel, unsigned argument, unsigned result) {
  return !kernel.isExternal() && argument < kernel.getNumArguments() &&
         result < kernel.getNumResults() && areOfOneMember(kernel, argument, result) &&
         kernel.getArgumentTypes()[argument] == kernel.getResultTypes()[result] &&
         (isOnePass(kernel) || overwritesPieces(kernel, argument, result));
}

bool weft::rt::mayOverwrite(FusionOp fusion, unsigned input, unsigned result) {
  if (fusion.getKind() != FusionKind::Library || result != 0)
    return false;
  Operation *op = libraryOpOf(fusion);
  std::optional<LibraryEnd> end = libraryEndOf(fusion);
  if (!end)
    return false;
  std::optional<unsigned> operand = cast<KernelOpInterface>(op).getLibraryCall()->overwrites;
  Value argument = fusion.getBody().getArgument(input);
  bool isOverwritten = end->addends.empty()
                           ? operand && op->getOperand(*operand) == argument && !end->placed.front()
                           : llvm::is_contained(end->addends, argument);
  return isOverwritten && argument.hasOneUse() &&
         argument.getType() == withoutEncoding(fusion.getResult(0).getType());
}

SmallVector<int64_t> weft::rt::sharedArguments(Operation *command, const SymbolTable &symbols) {
  if (auto call = dyn_cast<CallOp>(command))
    return sharedArguments(calleeOf(call, symbols));
  if (auto put = dyn_cast<PutOp>(command))
    return {put.getInto() ? 1 : -1};
  if (auto shared = command->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr))
    return SmallVector<int64_t>(shared.asArrayRef());
  return SmallVector<int64_t>(command->getNumResults(), -1);
}

bool weft::rt::isUpdate(Operation *op, const SymbolTable &symbols) {
  auto roles = op->getAttrOfType<ArrayAttr>(kRolesAttr);
  if (!roles)
    return false;
  auto all = [&](StringRef wanted) {
    return llvm::all_of(roles.getAsRange<StringAttr>(),
                        [&](StringAttr role) { return role.getValue() == wanted; });
  };
  auto call = dyn_cast<CallOp>(op);
  if (!call || !all(nn::kRoleWeightGradient))
    return all(nn::kRoleOptimizer);
  func::FuncOp callee = calleeOf(call, symbols);
  if (!isRoutine(callee))
    return mayOverwrite(callee, 0, 0);
  return llvm::all_of(callee.getBody().front(), [&](Operation &inner) {
    return specKind(&inner) != SpecKind::Command || isUpdate(&inner, symbols);
  });
}

bool KernelVariants::mayOverwrite(Operation *command, unsigned operand, unsigned result) const {
  if (auto call = dyn_cast<CallOp>(command)) {
    func::FuncOp callee = calleeOf(call);
    return rt::sharedArguments(callee)[result] == int64_t(operand) ||
           rt::mayOverwrite(callee, operand, result);
  }
  auto fusion = dyn_cast<FusionOp>(command);
  return fusion && rt::mayOverwrite(fusion, operand, result);
}

void KernelVariants::share(Operation *command, ArrayRef<int64_t> shared) {
  if (auto call = dyn_cast<CallOp>(command))
    call.setCalleeAttr(FlatSymbolRefAttr::get(get(calleeOf(call), shared)));
  else
    command->setAttr(kInPlaceAttr, DenseI64ArrayAttr::get(command->getContext(), shared));
}

StringAttr KernelVariants::get(func::FuncOp kernel, ArrayRef<int64_t> shared) {
  auto attr = DenseI64ArrayAttr::get(kernel.getContext(), shared);
  func::FuncOp &variant = made[{kernel.getSymNameAttr(), attr}];
  if (!variant) {
    variant = kernel.clone();
    variant->setAttr(kInPlaceAttr, attr);
    symbols.insert(variant); // gives it another name
  }
  return variant.getSymNameAttr();
}

void KernelVariants::finish(ModuleOp module) {
  llvm::DenseMap<Attribute, SmallVector<CallOp>> calls;
  module.walk([&](CallOp call) { calls[call.getCalleeAttr().getAttr()].push_back(call); });
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (kernel->hasAttr(kKernelAttr) && !calls.contains(kernel.getSymNameAttr()))
      symbols.erase(kernel);
  for (auto &[key, variant] : made) {
    auto name = cast<StringAttr>(key.first);
    auto called = calls.find(variant.getSymNameAttr());
    if (symbols.lookup(name) || called == calls.end())
      continue;
    symbols.remove(variant);
    variant.setSymNameAttr(name);
    symbols.insert(variant);
    for (CallOp call : called->second)
      call.setCalleeAttr(FlatSymbolRefAttr::get(name));
  }
}

std::vector<Reader> weft::rt::readersOf(Value root) {
  std::vector<Reader> readers;
  // Of each view on the way the next use, and whether it is of the whole value; chains of views may
  // be too long for recursion.
  SmallVector<std::pair<Value::use_iterator, bool>> work{{root.use_begin(), true}};
  while (!work.empty()) {
    auto &[next, isWhole] = work.back();
    if (next == root.use_end()) {
      work.pop_back();
      continue;
    }
    OpOperand &use = *next++;
    Operation *reader = use.getOwner();
    if (specKind(reader) != SpecKind::View)
      readers.push_back({reader, use.getOperandNumber(), isWhole});
    else
      for (Value view : llvm::reverse(reader->getResults()))
        work.push_back({view.use_begin(), false});
  }
  return readers;
}
