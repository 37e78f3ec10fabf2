// Verifiers and access lists of the commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/MeshAxes.h"
#include "dialects/rt/IR/Misfit.h"
#include "dialects/rt/IR/OrderOfSums.h"
#include "dialects/rt/IR/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft::rt;

/// The views of a command's operands, of which some may lack.
static SmallVector<Value> present(std::initializer_list<ValueRange> operands) {
  SmallVector<Value> views;
  for (ValueRange range : operands)
    llvm::append_range(views,
                       llvm::make_filter_range(range, [](Value view) { return bool(view); }));
  return views;
}

using Pairs = SmallVector<std::pair<Value, Value>>;

/// The one that is read may lack.
static Pairs pairOf(std::pair<Value, Value> views) {
  auto [read, written] = views;
  return read && read.getType() == written.getType() ? Pairs{views} : Pairs();
}

/// MLIR finds no strides contiguous where a size is 0.
static bool isContiguous(MemRefType type) {
  return type.getNumElements() == 0 || type.areTrailingDimsContiguous(type.getRank());
}

static ArrayRef<int64_t> sizes(Value view) { return cast<MemRefType>(view.getType()).getShape(); }
static Type element(Value view) { return cast<MemRefType>(view.getType()).getElementType(); }

bool CollectiveOp::isCommunication() { return true; }
Pairs CollectiveOp::getOverwrites() {
  Pairs pairs;
  if (getKind() == CollectiveKind::AllReduce)
    for (auto [source, target] : llvm::zip(getSources(), getTargets()))
      pairs.push_back({source, target});
  return pairs;
}
Pairs GemmOp::getOverwrites() {
  Pairs pairs;
  for (Value addend : getAddends())
    if (addend.getType() == getResult().getType())
      pairs.push_back({addend, getResult()});
  return pairs;
}
bool SendOp::isCommunication() { return true; }
bool SendOp::isTransfer() { return true; }
bool RecvOp::isCommunication() { return true; }
bool RecvOp::isTransfer() { return true; }
bool InvokeOp::isCommunication() { return getCommunicates(); }

/// A call's views are the blocks of its routine, whole and in a row.
static LogicalResult verifyBlocks(InvokeOp op, ProgramOp routine, ValueRange views,
                                  ValueRange blocks, StringRef what) {
  if (views.size() != blocks.size())
    return misfit(op, routine) << "has " << views.size() << " " << what << "s, but the routine "
                               << blocks.size();
  for (auto [i, view, block] : llvm::enumerate(views, blocks)) {
    auto type = cast<MemRefType>(view.getType()), wanted = cast<MemRefType>(block.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (type.getShape() != wanted.getShape() || type.getElementType() != wanted.getElementType() ||
        !staticLayout(type, strides, offset) || !isContiguous(type))
      return misfit(op, routine) << what << " " << i << " is " << type
                                 << ", expected a contiguous view of " << wanted;
  }
  return success();
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto routine = symbols.lookupNearestSymbolFrom<ProgramOp>(*this, getRoutineAttr());
  if (!routine || !routine.isRoutine())
    return emitOpError() << "invokes @" << getRoutine() << ", which is no routine of this module";
  if (failed(verifyBlocks(*this, routine, getInputs(), routine.getArgumentBlocks(), "input")) ||
      failed(verifyBlocks(*this, routine, getOutputs(), routine.getResultBlocks(), "output")))
    return failure();
  for (auto [result, argument] : llvm::enumerate(*routine.getRoutine()))
    if (argument >= 0 && getInputs()[argument] != getOutputs()[result])
      return misfit(*this, routine) << "does not overwrite input " << argument << " with output "
                                    << result << ", as its routine does";
  for (int64_t argument : getUnset().value_or(ArrayRef<int64_t>()))
    if (argument < 0 || !llvm::is_contained(*routine.getRoutine(), argument))
      return misfit(*this, routine)
             << "leaves input " << argument << " unset, which its routine does not overwrite";
  int64_t wanted = routine.getArena().value_or(0);
  auto scratch = getScratch() ? cast<MemRefType>(getScratch().getType()) : MemRefType();
  bool fits = scratch ? scratch == MemRefType::get({wanted}, IntegerType::get(getContext(), 8))
                      : wanted == 0;
  if (!fits)
    return misfit(*this, routine) << "has " << (scratch ? scratch.getNumElements() : 0)
                                  << " bytes of scratch, expected a memref<" << wanted << "xi8>";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "launches @" << getKernel() << ", which is no function of this module";
  auto check = [&](ValueRange views, TypeRange types, StringRef what) -> LogicalResult {
    if (views.size() != types.size())
      return misfit(*this, kernel)
             << "has " << views.size() << " " << what << "s, but the kernel " << types.size();
    for (auto [i, view, type] : llvm::enumerate(views, types)) {
      auto tensor = cast<RankedTensorType>(type);
      auto memref = cast<MemRefType>(view.getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (tensor.getShape() != memref.getShape() ||
          tensor.getElementType() != memref.getElementType() ||
          !staticLayout(memref, strides, offset) || !isContiguous(memref))
        return misfit(*this, kernel) << what << " " << i << " is " << memref
                                     << ", expected a contiguous view of " << tensor;
    }
    return success();
  };
  if (failed(check(getInputs(), kernel.getArgumentTypes(), "input")))
    return failure();
  return check(getOutputs(), kernel.getResultTypes(), "output");
}

LogicalResult GemmOp::verify() {
  ArrayRef<int64_t> a = sizes(getLhs()), b = sizes(getRhs()), c = sizes(getResult());
  size_t rank = c.size();
  if (rank < 2 || rank > 6 || a.size() != rank || b.size() != rank)
    return emitOpError() << "has operands of tensor ranks " << a.size() << ", " << b.size()
                         << " and " << rank << ", expected equal ones of 2 to 6";
  for (size_t d = 0; d + 2 < rank; ++d)
    if (a[d] != c[d] || b[d] != c[d])
      return emitOpError() << "has batch sizes " << a[d] << ", " << b[d] << " and " << c[d]
                           << " in dimension " << d;
  if (a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1] || a[rank - 1] != b[rank - 2])
    return emitOpError() << "has sizes that do not contract: " << getLhs().getType() << ", "
                         << getRhs().getType() << " -> " << getResult().getType();
  for (Value addend : getAddends())
    if (sizes(addend) != c || element(addend) != element(getResult()) ||
        !isa<FloatType>(element(addend)))
      return emitOpError() << "adds " << addend.getType() << " to " << getResult().getType()
                           << ", expected equal sizes and elements of one type of floats";
  return success();
}

LogicalResult ConvOp::verify() {
  ArrayRef<int64_t> in = sizes(getInput()), filter = sizes(getFilter()), out = sizes(getResult());
  size_t rank = in.size();
  if (rank < 3 || rank > 5 || filter.size() != rank || out.size() != rank)
    return emitOpError() << "has operands of tensor ranks " << rank << ", " << filter.size()
                         << " and " << out.size() << ", expected equal ones of 3 to 5";
  for (ArrayRef<int64_t> list : {getStrides(), getPads(), getDilations(), getInputDilations()})
    if (list.size() != rank - 2)
      return emitOpError() << "has a list of " << list.size() << " entries for " << rank - 2
                           << " spatial dims";
  for (auto [d, stride, dilation] : llvm::enumerate(getStrides(), getInputDilations()))
    if (stride != 1 && dilation != 1)
      return emitOpError() << "has a stride of " << stride << " along spatial dim " << d
                           << ", in which its input is dilated";
  int64_t groups = getGroups();
  if (groups < 1 || in[1] != filter[1] * groups || out[1] != filter[0] || out[1] % groups != 0 ||
      in[0] != out[0])
    return emitOpError() << "has channels that do not fit " << getGroups()
                         << " groups: " << getInput().getType() << ", " << getFilter().getType()
                         << " -> " << getResult().getType();
  return success();
}

static LogicalResult verifyAttention(Operation *op, Value query, Value key, Value value,
                                     Value result, Value mask) {
  ArrayRef<int64_t> q = sizes(query), k = sizes(key), v = sizes(value), o = sizes(result);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || o.size() != 4)
    return op->emitOpError("has an operand that is not of tensor rank 4");
  bool fits = k[0] == q[0] && v[0] == q[0] && o[0] == q[0] && v[1] == k[1] && o[1] == q[1] &&
              k[1] > 0 && q[1] % k[1] == 0 && o[2] == q[2] && v[2] == k[2] && k[3] == q[3] &&
              o[3] == v[3];
  if (!fits)
    return op->emitOpError() << "has sizes that do not fit: " << query.getType() << ", "
                             << key.getType() << ", " << value.getType() << " -> "
                             << result.getType();
  if (mask && (sizes(mask).size() != 4 || sizes(mask).take_front(3) != q.take_front(3) ||
               sizes(mask)[3] != k[2]))
    return op->emitOpError() << "has a mask of type " << mask.getType() << ", expected " << q[0]
                             << "x" << q[1] << "x" << q[2] << "x" << k[2];
  return success();
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getQuery(), getKey(), getValue(), getResult(), getMask());
}

template <typename Op> static LogicalResult verifyGradients(Op op) {
  std::pair<Value, Value> pairs[] = {{op.getOutput(), op.getOutputGradient()},
                                     {op.getQuery(), op.getQueryGradient()},
                                     {op.getKey(), op.getKeyGradient()},
                                     {op.getValue(), op.getValueGradient()}};
  for (auto [of, gradient] : pairs)
    if (sizes(of) != sizes(gradient))
      return op.emitOpError() << "has a gradient of type " << gradient.getType() << " for "
                              << of.getType();
  return success();
}

StringRef weft::rt::orderedFormOf(Operation *command) {
  return isa<AttentionGradOp, AttentionWithSumsGradOp>(command)
             ? "attention as products and a softmax"
             : "";
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this, getQuery(), getKey(), getValue(), getOutput(), getMask())))
    return failure();
  return verifyGradients(*this);
}

static LogicalResult verifyLogSums(Operation *op, Value query, Value sums) {
  if (sizes(sums) != sizes(query).drop_back() ||
      !cast<MemRefType>(sums.getType()).getLayout().isIdentity())
    return op->emitOpError() << "has logarithms of sums of type " << sums.getType()
                             << ", expected one without gaps for each row of " << query.getType();
  return success();
}

LogicalResult AttentionWithSumsOp::verify() {
  if (failed(verifyAttention(*this, getQuery(), getKey(), getValue(), getResult(), Value())))
    return failure();
  return verifyLogSums(*this, getQuery(), getLogSumExp());
}

LogicalResult AttentionWithSumsGradOp::verify() {
  if (failed(verifyAttention(*this, getQuery(), getKey(), getValue(), getOutput(), Value())) ||
      failed(verifyLogSums(*this, getQuery(), getLogSumExp())))
    return failure();
  return verifyGradients(*this);
}

LogicalResult CopyOp::verify() {
  if (sizes(getSource()) != sizes(getTarget()) || element(getSource()) != element(getTarget()))
    return emitOpError() << "copies " << getSource().getType() << " to " << getTarget().getType()
                         << ", expected equal sizes and element types";
  return success();
}

/// Members of the group spanned by `axes`, or nothing if the mesh lacks one.
static std::optional<SmallVector<int64_t>> groupSizes(Operation *op, ArrayAttr axes) {
  SmallVector<int64_t> result;
  for (StringRef axis : axes.getAsValueRange<StringAttr>()) {
    std::optional<int64_t> found = axisSize(op, axis);
    if (!found) {
      op->emitOpError() << "names axis \"" << axis << "\", which the mesh does not have";
      return std::nullopt;
    }
    result.push_back(*found);
  }
  return result;
}

static int64_t shardOf(int64_t extent, ArrayRef<int64_t> group) {
  for (int64_t size : group)
    extent = llvm::divideCeil(extent, size);
  return extent;
}

static LogicalResult holds(Operation *op, Value view, int64_t elements, StringRef what) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!staticLayout(type, strides, offset) || !isContiguous(type))
    return op->emitOpError() << what << " is " << type << ", expected a contiguous view";
  if (type.getNumElements() != elements)
    return op->emitOpError() << what << " has " << type.getNumElements() << " elements, expected "
                             << elements;
  return success();
}

LogicalResult CollectiveOp::verify() {
  size_t count = getSources().size();
  if (count == 0 || getShape().size() != 5 * count ||
      llvm::any_of(getShape(), [](int64_t size) { return size < 0; }))
    return emitOpError()
           << "has a shape of " << getShape().size() << " sizes for " << count
           << " tensors, expected five a tensor: outer, extent, inner, middle, other extent";
  if (count > 1 && getKind() == CollectiveKind::AllToAll)
    return emitOpError("moves several tensors, which an all_to_all does not");
  auto group = groupSizes(*this, getAxes());
  if (!group)
    return failure();
  for (auto [i, from, to] : llvm::enumerate(getSources(), getTargets())) {
    if (element(from) != element(getSources()[0]) || element(from) != element(to))
      return emitOpError() << "moves " << element(from) << " to " << element(to)
                           << ", expected one element type for all tensors";
    ArrayRef<int64_t> shape = getShape().slice(5 * i, 5);
    int64_t outer = shape[0], extent = shape[1], inner = shape[2], middle = shape[3],
            other = shape[4];
    int64_t shard = shardOf(extent, *group);
    int64_t whole = outer * extent * inner, part = outer * shard * inner, source = whole,
            target = whole;
    if (getKind() == CollectiveKind::AllGather)
      source = part;
    if (getKind() == CollectiveKind::ReduceScatter)
      target = part;
    if (getKind() == CollectiveKind::AllToAll) {
      source = outer * extent * middle * shardOf(other, *group) * inner;
      target = outer * shard * middle * other * inner;
    }
    if (failed(holds(*this, from, source, "source")) || failed(holds(*this, to, target, "target")))
      return failure();
  }
  return success();
}

static LogicalResult verifyTransfer(Operation *op, int64_t peer, StringRef channel, Value buffer) {
  std::optional<int64_t> stages = numStages(op);
  if (!stages)
    return op->emitOpError("stands in a module whose mesh has no axis of stages");
  auto own = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(kStageAttr);
  if (!own)
    return op->emitOpError() << "stands in a module of no stage (attribute " << kStageAttr << ")";
  if (peer >= *stages || peer == own.getInt())
    return op->emitOpError() << "is with stage " << peer << ", expected another one than its own, "
                             << own.getInt() << ", of " << *stages;
  if (channel.empty())
    return op->emitOpError("has a channel without a name");
  return holds(op, buffer, cast<MemRefType>(buffer.getType()).getNumElements(), "buffer");
}

LogicalResult SendOp::verify() {
  return verifyTransfer(*this, getPeer(), getChannel(), getBuffer());
}

LogicalResult RecvOp::verify() {
  return verifyTransfer(*this, getPeer(), getChannel(), getBuffer());
}

LogicalResult SliceOp::verify() {
  if (getShape().size() != 3)
    return emitOpError("needs a shape of three sizes: outer, extent, inner");
  auto group = groupSizes(*this, getAxes());
  if (!group)
    return failure();
  int64_t outer = getShape()[0], extent = getShape()[1], inner = getShape()[2];
  if (failed(holds(*this, getSource(), outer * extent * inner, "source")))
    return failure();
  return holds(*this, getTarget(), outer * shardOf(extent, *group) * inner, "target");
}

#define GET_OP_CLASSES
#include "dialects/rt/IR/RtOps.cpp.inc"
