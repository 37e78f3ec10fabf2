// Checks of the commands: parameters, views, repeats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/ProgramVerifier.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

constexpr uint32_t kMaxStreams = 8;
constexpr uint32_t kMaxEvents = 1u << 20;
constexpr unsigned kMaxRepeatDepth = 8;

bool isFloat(DType type) { return unsigned(type) <= unsigned(DType::F16); }

class BodyVerifier {
public:
  BodyVerifier(const ProgramView &p, const Body &body, uint64_t arenaBytes)
      : p(p), body(body), arenaBytes(arenaBytes) {}

  Status run() {
    if (!inRange(body.commands, p.Commands().size()) || body.streams < 1 ||
        body.streams > kMaxStreams || body.events > kMaxEvents)
      return Status::user("a body has commands, streams or events that do not exist");
    unsigned depth = 0;
    for (uint32_t i = 0; i < body.commands.count; ++i) {
      command = &p.Commands()[body.commands.begin + i];
      std::string problem = check(depth);
      if (!problem.empty()) {
        std::string where = "command " + std::to_string(i) + " (" + opcodeName(command->opcode);
        if (command->node < p.Strings().size() && !p.string(command->node).empty())
          where += " of node '" + std::string(p.string(command->node)) + "'";
        return Status::user(where + ") " + problem);
      }
    }
    if (depth != 0)
      return Status::user("a repeat is not closed");
    return {};
  }

private:
  const View &view(unsigned i) const { return p.Views()[command->views.begin + i]; }
  Table<int64_t> sizes(unsigned i) const { return p.ints(view(i).sizes); }
  bool hasViews(unsigned least, unsigned most) const {
    return command->views.count >= least && command->views.count <= most;
  }
  bool sameSizes(unsigned i, unsigned j) const {
    return std::equal(sizes(i).begin(), sizes(i).end(), sizes(j).begin(), sizes(j).end());
  }

  /// Every element of the view lies in its buffer, as far as this is static.
  bool isView(const View &v) const {
    if (v.buffer >= p.Buffers().size() || unsigned(v.dtype) >= kNumDTypes ||
        v.sizes.count > kMaxTensorRank || v.sizes.count != v.strides.count ||
        !inRange(v.sizes, p.Ints().size()) || !inRange(v.strides, p.Ints().size()) ||
        !inRange(v.terms, p.ScalarValues().size()))
      return false;
    const Buffer &buffer = p.Buffers()[v.buffer];
    int64_t bytes = dtypeBytes(v.dtype);
    if (buffer.offset + buffer.bytes > arenaBytes || v.byteOffset % bytes != 0 ||
        !checkedProduct(p.ints(v.sizes)))
      return false;
    for (const ScalarValue &term : p.ScalarValues().slice(v.terms))
      if (term.base == ValueBase::Scalar && p.Scalars()[term.scalar].kind != ScalarKind::I64)
        return false;
    int64_t low = v.byteOffset, high = v.byteOffset + bytes;
    if (v.byteOffset > INT64_MAX / 2 || v.byteOffset < INT64_MIN / 2)
      return false;
    bool empty = false;
    for (uint32_t d = 0; d < v.sizes.count; ++d) {
      int64_t size = p.ints(v.sizes)[d], stride = p.ints(v.strides)[d], reach;
      if (size == 0) {
        empty = true;
        continue;
      }
      if (__builtin_mul_overflow(size - 1, stride, &reach) ||
          __builtin_mul_overflow(reach, bytes, &reach) ||
          __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
        return false;
    }
    // With terms the first element moves; the executor checks it at each use.
    if (v.terms.count != 0 || empty)
      return true;
    return low >= 0 && uint64_t(high) <= buffer.bytes;
  }

  /// A contiguous run of `elements` from the view's first element.
  bool holds(unsigned i, std::optional<int64_t> elements) const {
    const View &v = view(i);
    if (!elements)
      return false;
    auto bytes = checkedProduct(*elements, dtypeBytes(v.dtype));
    if (!bytes || v.terms.count != 0)
      return bytes.has_value();
    auto end = checkedSum(*bytes, v.byteOffset);
    return v.byteOffset >= 0 && end && uint64_t(*end) <= p.Buffers()[v.buffer].bytes;
  }

  int64_t shard(Table<uint32_t> axes, int64_t extent) const {
    for (uint32_t axis : axes) {
      int64_t n = p.MeshAxes()[axis].size;
      extent = extent / n + (extent % n != 0);
    }
    return extent;
  }

  static std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
    return checkedProduct(Table<int64_t>(factors.begin(), factors.size()));
  }

  std::string check(unsigned &depth) {
    if (unsigned(command->opcode) >= kNumOpcodes)
      return "has an unknown opcode";
    if (command->stream >= body.streams || command->node >= p.Strings().size() ||
        !inRange(command->views, p.Views().size()))
      return "refers to something that does not exist";
    if (command->predicate != kNone && (command->predicate >= p.Scalars().size() ||
                                        p.Scalars()[command->predicate].kind != ScalarKind::I64))
      return "has a predicate that is no integer scalar";
    for (uint32_t i = 0; i < command->views.count; ++i)
      if (!isView(view(i)))
        return "has a view outside of its buffer";
    return checkParams(depth);
  }

  std::string checkParams(unsigned &depth) {
    uint32_t params = command->params;
    const char *missing = "has parameters that do not exist";
    switch (command->opcode) {
    case Opcode::Launch:
      return params < p.Launches().size() ? launch(p.Launches()[params]) : missing;
    case Opcode::Gemm:
      return params < p.Gemms().size() ? gemm(p.Gemms()[params]) : missing;
    case Opcode::Convolution:
      return params < p.Convolutions().size() ? convolution(p.Convolutions()[params]) : missing;
    case Opcode::Attention:
      return params < p.Attentions().size() ? attention(p.Attentions()[params]) : missing;
    case Opcode::AttentionGradient:
      return params < p.Attentions().size() ? attentionGradient(p.Attentions()[params]) : missing;
    case Opcode::Copy:
      return hasViews(2, 2) && sameSizes(0, 1) && view(0).dtype == view(1).dtype
                 ? ""
                 : "does not have two views of the same sizes and dtype";
    case Opcode::Fill:
      return params < p.Fills().size() && hasViews(1, 1) ? "" : missing;
    case Opcode::Slice:
      return params < p.Slices().size() ? slice(p.Slices()[params]) : missing;
    case Opcode::Collective:
      return params < p.Collectives().size() ? bucket(params) : missing;
    case Opcode::EventRecord:
    case Opcode::EventWait:
      return params < body.events ? "" : "names an event that does not exist";
    case Opcode::RepeatBegin: {
      if (params >= p.Repeats().size())
        return missing;
      const Repeat &repeat = p.Repeats()[params];
      if (repeat.count >= p.ScalarValues().size() || command->predicate != kNone ||
          !isInteger(p.ScalarValues()[repeat.count]) ||
          (repeat.counter != kNone && (repeat.counter >= p.Scalars().size() ||
                                       p.Scalars()[repeat.counter].kind != ScalarKind::I64)))
        return "has an impossible count, counter or predicate";
      if (++depth > kMaxRepeatDepth)
        return "is nested too deeply";
      return "";
    }
    case Opcode::RepeatEnd:
      if (depth == 0)
        return "ends no repeat";
      --depth;
      return "";
    case Opcode::ScalarUpdate: {
      if (params >= p.ScalarUpdates().size())
        return missing;
      const ScalarUpdate &update = p.ScalarUpdates()[params];
      if (update.target >= p.Scalars().size() || unsigned(update.op) > unsigned(ScalarOp::Less) ||
          (update.operand != kNone &&
           (update.operand >= p.Scalars().size() ||
            p.Scalars()[update.operand].kind != p.Scalars()[update.target].kind)))
        return "has an impossible target, operand or operation";
      if (update.op == ScalarOp::Remainder && p.Scalars()[update.target].kind != ScalarKind::I64)
        return "takes the remainder of a floating-point scalar";
      return "";
    }
    }
    return "has an unknown opcode";
  }

  bool isInteger(const ScalarValue &value) const {
    return value.base != ValueBase::Scalar || p.Scalars()[value.scalar].kind == ScalarKind::I64;
  }

  std::string launch(const Launch &l) const {
    if (l.kernel >= p.Kernels().size() || !inRange(l.scalars, p.ScalarValues().size()) ||
        l.extent < 0 || l.grain < 1)
      return "has an impossible kernel, extent, grain or scalar";
    return "";
  }

  std::string gemm(const Gemm &g) const {
    unsigned count = 3 + (g.hasBias != 0) + (g.hasResidual != 0);
    if (!hasViews(count, count) || unsigned(g.activation) > unsigned(Activation::Silu))
      return "has the wrong number of views or an unknown activation";
    size_t rank = sizes(2).size();
    if (rank < 2 || rank > 6 || sizes(0).size() != rank || sizes(1).size() != rank)
      return "has operands of different tensor ranks";
    for (size_t d = 0; d + 2 < rank; ++d)
      if (sizes(0)[d] != sizes(2)[d] || sizes(1)[d] != sizes(2)[d])
        return "has different batch sizes";
    if (sizes(0)[rank - 2] != sizes(2)[rank - 2] || sizes(1)[rank - 1] != sizes(2)[rank - 1] ||
        sizes(0)[rank - 1] != sizes(1)[rank - 2])
      return "has sizes that do not contract";
    DType type = view(0).dtype, result = view(2).dtype;
    bool half = type == DType::BF16 || type == DType::F16;
    if (view(1).dtype != type || type == DType::Bool)
      return "has operands of different dtypes";
    if (isFloat(type)) {
      DType wanted = type == DType::F64 ? DType::F64 : DType::F32;
      if (g.accumulator != wanted || (result != type && !(half && result == DType::F32)))
        return "has dtypes that no library takes";
    } else if ((g.accumulator != DType::I32 && g.accumulator != DType::I64) ||
               result != g.accumulator || g.activation != Activation::None || g.alpha != 1.0) {
      return "has dtypes or an epilogue that integers do not have";
    }
    for (unsigned i = 3; i < count; ++i)
      if (!sameSizes(i, 2) || view(i).dtype != result)
        return "has a bias or residual unlike its result";
    return "";
  }

  std::string convolution(const Convolution &c) const {
    if (!hasViews(3 + (c.hasBias != 0), 3 + (c.hasBias != 0)) || c.groups < 1 ||
        unsigned(c.activation) > unsigned(Activation::Silu))
      return "has the wrong number of views or groups, or an unknown "
             "activation";
    size_t rank = sizes(0).size();
    if (rank < 3 || rank > 5 || sizes(1).size() != rank || sizes(2).size() != rank)
      return "has operands of different tensor ranks";
    auto isList = [&](Range range, int64_t least) {
      if (range.count != rank - 2 || !inRange(range, p.Ints().size()))
        return false;
      Table<int64_t> list = p.ints(range);
      return std::all_of(list.begin(), list.end(),
                         [&](int64_t value) { return value >= least && value <= INT32_MAX; });
    };
    if (!isList(c.strides, 1) || !isList(c.dilations, 1) || !isList(c.inputDilations, 1) ||
        !isList(c.padsBegin, INT32_MIN))
      return "has impossible strides, dilations or pads";
    for (size_t d = 0; d + 2 < rank; ++d)
      if (p.ints(c.strides)[d] != 1 && p.ints(c.inputDilations)[d] != 1)
        return "has a stride along a dimension in which its input is dilated";
    int64_t in = sizes(0)[1], out = sizes(2)[1], groups = c.groups;
    if (in % groups != 0 || out % groups != 0 || sizes(1)[0] != out || sizes(1)[1] != in / groups ||
        sizes(0)[0] != sizes(2)[0])
      return "has channels that do not fit its weight and groups";
    if (c.hasBias && (sizes(3).size() != 1 || sizes(3)[0] != out))
      return "has a bias that is not one value a channel";
    for (uint32_t i = 0; i < command->views.count; ++i)
      if (view(i).dtype != view(0).dtype || !isFloat(view(i).dtype))
        return "has operands of different or non-floating dtypes";
    return "";
  }

  /// The first `operands` views and the one at `maskView`.
  std::string attentionViews(const Attention &a, unsigned operands, unsigned maskView) const {
    for (unsigned i = 0; i < operands; ++i)
      if (sizes(i).size() != 4 || view(i).dtype != view(0).dtype || !isFloat(view(i).dtype))
        return "has operands that are not of tensor rank 4 and one floating "
               "dtype";
    Table<int64_t> q = sizes(0), k = sizes(1), v = sizes(2), out = sizes(3);
    if (k[0] != q[0] || v[0] != q[0] || out[0] != q[0] || v[1] != k[1] || out[1] != q[1] ||
        (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0) || out[2] != q[2] || v[2] != k[2] ||
        k[3] != q[3] || out[3] != v[3])
      return "has operands whose sizes do not fit";
    if (a.hasMask) {
      Table<int64_t> mask = sizes(maskView);
      DType type = view(maskView).dtype;
      if (mask.size() != 4 || mask[0] != q[0] || mask[1] != q[1] || mask[2] != q[2] ||
          mask[3] != k[2])
        return "has a mask of another shape";
      if (type != view(0).dtype && type != DType::F32 && type != DType::Bool)
        return "has a mask of a dtype that no library takes";
    }
    return "";
  }

  std::string attentionGradient(const Attention &a) const {
    unsigned count = 8 + (a.hasMask != 0);
    if (!hasViews(count, count))
      return "has the wrong number of views";
    std::string fault = attentionViews(a, 8, 8);
    if (!fault.empty())
      return fault;
    if (!sameSizes(4, 3) || !sameSizes(5, 0) || !sameSizes(6, 1) || !sameSizes(7, 2))
      return "has a gradient of other sizes than what it belongs to";
    if (a.hasLogSumExp || a.keyLength != kNone)
      return "has a logSumExp or a key length, which gradients do not take";
    return "";
  }

  std::string attention(const Attention &a) const {
    unsigned count = 4 + (a.hasMask != 0) + (a.hasLogSumExp != 0);
    if (!hasViews(count, count))
      return "has the wrong number of views";
    std::string fault = attentionViews(a, 4, 4);
    if (!fault.empty())
      return fault;
    Table<int64_t> q = sizes(0);
    if (a.hasLogSumExp) {
      Table<int64_t> sum = sizes(count - 1);
      DType wanted = view(0).dtype == DType::F64 ? DType::F64 : DType::F32;
      if (sum.size() != 3 || sum[0] != q[0] || sum[1] != q[1] || sum[2] != q[2] ||
          view(count - 1).dtype != wanted)
        return "has a logSumExp of another shape or dtype";
    }
    if (a.keyLength != kNone &&
        (a.keyLength >= p.ScalarValues().size() || !isInteger(p.ScalarValues()[a.keyLength])))
      return "has a key length that does not exist";
    return "";
  }

  std::string slice(const Slice &s) const {
    if (!inRange(s.axes, p.AxisIds().size()) || !hasViews(2, 2) || view(0).dtype != view(1).dtype)
      return "has axes or views that do not exist";
    if (!holds(0, product({s.outer, s.extent, s.inner})) ||
        !holds(1, product({s.outer, shard(p.axes(s.axes), s.extent), s.inner})))
      return "moves elements outside of its views";
    return "";
  }

  /// The tensors that one command moves.
  std::string bucket(uint32_t params) const {
    uint32_t count = std::max(1u, command->views.count / 2);
    const Collective &first = p.Collectives()[params];
    if (count > p.Collectives().size() - params)
      return "has parameters that do not exist";
    if (count > 1 && first.kind != CollectiveKind::AllGather &&
        first.kind != CollectiveKind::AllReduce && first.kind != CollectiveKind::ReduceScatter)
      return "moves several tensors, which its kind does not";
    if (!hasViews(count > 1 ? 2 * count : 1, count > 1 ? 2 * count : 2))
      return "has the wrong number of views";
    for (uint32_t i = 0; i < count; ++i) {
      const Collective &c = p.Collectives()[params + i];
      if (c.kind != first.kind || c.communicator != first.communicator || c.dtype != first.dtype ||
          c.reduction != first.reduction || c.accumulator != first.accumulator)
        return "moves tensors that have not all one kind, group, dtype and "
               "reduction";
      std::string fault = collective(c, 2 * i);
      if (!fault.empty())
        return fault;
    }
    return "";
  }

  /// The views from `at` on are one collective's.
  std::string collective(const Collective &c, uint32_t at) const {
    if (c.communicator >= p.Communicators().size() || unsigned(c.kind) >= kNumCollectiveKinds ||
        unsigned(c.reduction) > unsigned(Reduction::Or) || unsigned(c.dtype) >= kNumDTypes ||
        unsigned(c.accumulator) >= kNumDTypes)
      return "has an unknown kind, reduction, dtype or communicator";
    Table<uint32_t> axes = p.axes(p.Communicators()[c.communicator].axes);
    bool single = c.kind == CollectiveKind::Send || c.kind == CollectiveKind::Recv;
    uint32_t count = single ? 1 : 2;
    if (command->views.count < at + count || (single && command->views.count != 1))
      return "has the wrong number of views";
    for (uint32_t i = at; i < at + count; ++i)
      if (view(i).dtype != c.dtype)
        return "has views of another dtype than it moves";
    if (c.outer < 0 || c.extent < 0 || c.inner < 0 || c.middle < 0 || c.otherExtent < 0)
      return "has negative extents";
    auto whole = product({c.outer, c.extent, c.inner});
    int64_t local = shard(axes, c.extent);
    auto part = product({c.outer, local, c.inner});
    bool fits = false;
    switch (c.kind) {
    case CollectiveKind::AllGather:
      fits = holds(at, part) && holds(at + 1, whole);
      break;
    case CollectiveKind::ReduceScatter:
      fits = holds(at, whole) && holds(at + 1, part);
      break;
    case CollectiveKind::AllReduce:
    case CollectiveKind::Shift:
      fits = holds(at, whole) && holds(at + 1, whole);
      break;
    case CollectiveKind::Send:
    case CollectiveKind::Recv: {
      int64_t members = 1;
      for (uint32_t axis : axes)
        members *= p.MeshAxes()[axis].size;
      fits = holds(at, whole) && (c.peerRelative || (c.peer >= 0 && c.peer < members));
      break;
    }
    case CollectiveKind::AllToAll: {
      int64_t other = shard(axes, c.otherExtent);
      fits = holds(at, product({c.outer, c.extent, c.middle, other, c.inner})) &&
             holds(at + 1, product({c.outer, local, c.middle, c.otherExtent, c.inner}));
      break;
    }
    }
    if (!fits)
      return "moves elements outside of its views or to a member that does not "
             "exist";
    if (c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter)
      return reduction(c);
    return "";
  }

  static std::string reduction(const Collective &c) {
    bool logical = c.reduction == Reduction::And || c.reduction == Reduction::Or;
    if (logical ? isFloat(c.dtype) || c.accumulator != c.dtype
                : c.dtype == DType::Bool || (isFloat(c.dtype) != isFloat(c.accumulator)))
      return "has a reduction that its dtype does not have";
    bool half = c.dtype == DType::BF16 || c.dtype == DType::F16;
    if (c.accumulator != c.dtype && !(half && c.accumulator == DType::F32) &&
        !(isFloat(c.dtype) && c.accumulator == DType::F64))
      return "has an accumulation dtype that is not its own, f32 or f64";
    return "";
  }

  const ProgramView &p;
  const Body &body;
  uint64_t arenaBytes;
  const Command *command = nullptr;
};

} // namespace

Status weft::runtime::verifyBody(const ProgramView &program, const Body &body,
                                 uint64_t arenaBytes) {
  return BodyVerifier(program, body, arenaBytes).run();
}
