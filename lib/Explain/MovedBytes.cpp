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

  /// `unset`: blocks of a routine that its call leaves unset, which it does not read.
  void count(rt::ProgramOp program, ArrayRef<Value> unset = {}) {
    for (Operation &op : program.getBody().front()) {
      if (auto invoke = dyn_cast<rt::InvokeOp>(op)) {
        auto routine = symbols.lookup<rt::ProgramOp>(invoke.getRoutine());
        SmallVector<Value> sums;
        for (int64_t input : invoke.getUnset().value_or(ArrayRef<int64_t>()))
          sums.push_back(routine.getArgumentBlocks()[input]);
        count(routine, sums);
      } else if (auto command = dyn_cast<rt::CommandInterface>(op)) {
        add(command, unset);
      }
    }
  }

  std::vector<MovedBytes> byKind() const {
    std::vector<MovedBytes> result;
    for (const auto &[kind, bytes] : kinds)
      if (bytes.read + bytes.written > 0)
        result.push_back(bytes);
    llvm::sort(result, [](const MovedBytes &a, const MovedBytes &b) {
      return std::make_tuple(b.read + b.written, a.kind) <
             std::make_tuple(a.read + a.written, b.kind);
    });
    return result;
  }

private:
  void add(rt::CommandInterface command, ArrayRef<Value> unset) {
    StringRef kind = command->getName().stripDialect();
    MovedBytes &bytes = kinds[kind.str()];
    bytes.kind = kind;
    ++bytes.commands;
    if (auto launch = dyn_cast<rt::LaunchOp>(command.getOperation())) {
      bytes.read += readBy(launch);
    } else {
      for (Value view : command.getReads())
        if (!llvm::is_contained(unset, rt::bufferOfView(view)))
          bytes.read += bytesOfView(view);
    }
    for (Value view : command.getWrites())
      bytes.written += bytesOfView(view);
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
  std::map<std::string, MovedBytes> kinds;
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
  Counter counter(symbols);
  counter.count(from);
  program.moved = counter.byKind();
  program.arena = from.getArena().value_or(0);
  for (auto input : from.getOps<rt::InputOp>()) {
    auto type = cast<MemRefType>(input.getBuffer().getType());
    bool hasTokens = type.getElementType().isInteger() && type.getRank() > 0;
    program.units = hasTokens ? type.getNumElements() : type.getRank() > 0 ? type.getDimSize(0) : 1;
    program.unit = hasTokens ? "token" : "sample";
    break;
  }
}
