// Counts what commands read and write by their views, and by the ops of their kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MovedBytes.h"

#include "dialects/rt/IR/Views.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::explain;

namespace {

/// Of a view, each element once: a broadcast's are fewer than its shape tells.
int64_t bytesOfView(Value view) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  rt::staticLayout(type, strides, offset);
  int64_t elements = 1;
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides))
    elements *= stride == 0 ? 1 : extent;
  return elements * elementBytes(type);
}

/// What the readers of `value` touch of it, through views.
int64_t touchedBytes(Value value) {
  int64_t sum = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    if (isViewOrConstant(reader))
      sum += touchedBytes(reader->getResult(0));
    else if (reader->hasTrait<OpTrait::IsTerminator>())
      sum += bytesOf(value);
    else
      sum += workOf(reader).read[use.getOperandNumber()];
  }
  return std::min<int64_t>(sum, bytesOf(value));
}

class Counter {
public:
  explicit Counter(const SymbolTable &symbols) : symbols(symbols) {}

  std::vector<MovedBytes> byKind(rt::ProgramOp program) {
    std::vector<MovedBytes> result;
    for (const auto &[kind, bytes] : count(program, {}))
      if (bytes.read + bytes.written > 0)
        result.push_back(bytes);
    llvm::sort(result, [](const MovedBytes &a, const MovedBytes &b) {
      return std::make_tuple(b.read + b.written, a.kind) <
             std::make_tuple(a.read + a.written, b.kind);
    });
    return result;
  }

private:
  using Kinds = std::map<std::string, MovedBytes>;

  /// `unset`: blocks of a routine that its call leaves unset, which it does not read.
  Kinds count(rt::ProgramOp program, ArrayRef<Value> unset) {
    Kinds kinds;
    for (Operation &op : program.getBody().front()) {
      if (auto invoke = dyn_cast<rt::InvokeOp>(op))
        for (const auto &[kind, bytes] : countOnce(invoke))
          add(bytes, kinds);
      else if (auto command = dyn_cast<rt::CommandInterface>(op))
        add(ofOne(command, unset), kinds);
    }
    return kinds;
  }

  const Kinds &countOnce(rt::InvokeOp invoke) {
    auto routine = symbols.lookup<rt::ProgramOp>(invoke.getRoutine());
    auto [found, isNew] =
        routines.try_emplace({routine, invoke.getUnsetAttr().getAsOpaquePointer()});
    if (!isNew)
      return found->second;
    SmallVector<Value> sums;
    for (int64_t input : invoke.getUnset().value_or(ArrayRef<int64_t>()))
      sums.push_back(routine.getArgumentBlocks()[input]);
    found->second = count(routine, sums); // of a map, whose places stay
    return found->second;
  }

  static void add(const MovedBytes &bytes, Kinds &kinds) {
    MovedBytes &sum = kinds[bytes.kind];
    sum.kind = bytes.kind;
    sum.commands += bytes.commands;
    sum.read += bytes.read;
    sum.written += bytes.written;
  }

  MovedBytes ofOne(rt::CommandInterface command, ArrayRef<Value> unset) {
    MovedBytes bytes{command->getName().stripDialect().str(), 1};
    if (auto launch = dyn_cast<rt::LaunchOp>(command.getOperation())) {
      bytes.read += readBy(launch);
    } else {
      for (Value view : command.getReads())
        if (!llvm::is_contained(unset, rt::bufferOfView(view)))
          bytes.read += bytesOfView(view);
    }
    for (Value view : command.getWrites())
      bytes.written += bytesOfView(view);
    return bytes;
  }

  int64_t readBy(rt::LaunchOp launch) {
    int64_t sum = 0;
    for (auto [view, touched] : llvm::zip_equal(launch.getInputs(), touchedBy(launch)))
      sum += std::min(bytesOfView(view), touched);
    return sum;
  }

  /// By argument of the kernel.
  ArrayRef<int64_t> touchedBy(rt::LaunchOp launch) {
    auto [found, isNew] = touched.try_emplace(launch.getKernel());
    if (isNew)
      for (BlockArgument argument : symbols.lookup<func::FuncOp>(launch.getKernel()).getArguments())
        found->second.push_back(touchedBytes(argument));
    return found->second;
  }

  const SymbolTable &symbols;
  /// Of what calls alike run: a routine, and what they leave unset.
  std::map<std::pair<Operation *, const void *>, Kinds> routines;
  llvm::StringMap<SmallVector<int64_t>> touched;
};

} // namespace

int64_t Program::generatedBytes() const {
  for (const MovedBytes &bytes : moved)
    if (bytes.kind == rt::LaunchOp::getOperationName().split('.').second)
      return bytes.read + bytes.written;
  return 0;
}

void weft::explain::collectMovedBytes(rt::ProgramOp from, const SymbolTable &symbols,
                                      Program &program) {
  program.moved = Counter(symbols).byKind(from);
  program.arena = from.getArena().value_or(0);
  for (auto input : from.getOps<rt::InputOp>()) {
    auto type = cast<MemRefType>(input.getBuffer().getType());
    bool hasTokens = type.getElementType().isInteger() && type.getRank() > 0;
    program.units = hasTokens ? type.getNumElements() : type.getRank() > 0 ? type.getDimSize(0) : 1;
    program.unit = hasTokens ? "token" : "sample";
    break;
  }
}
