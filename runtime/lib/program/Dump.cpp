// Prints a program as text, one record a line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Program.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace weft::runtime;

namespace {

class Printer {
public:
  explicit Printer(const ProgramView &p) : p(p) {}

  std::string run() {
    const ModuleInfo &info = p.info();
    text += "program of model '" + str(info.modelName) + "' by weft " + str(info.weftVersion) +
            " for target " + str(info.target) + "\n";
    for (const MetadataEntry &entry : p.Metadata())
      text += "metadata " + str(entry.key) + " = " + str(entry.value) + "\n";
    text += "mesh";
    for (const MeshAxis &axis : p.MeshAxes())
      text += " " + str(axis.name) + "=" + num(axis.size);
    text += " (" + num(p.numRanks()) + " ranks)\n";
    for (size_t i = 0; i < p.Communicators().size(); ++i)
      text += "communicator " + num(i) + " over " + axes(p.Communicators()[i].axes) + "\n";
    for (size_t i = 0; i < p.Stages().size(); ++i) {
      text += "stage " + num(i) + ": arena " + num(p.Stages()[i].arenaBytes) + " bytes; peak";
      for (unsigned c = 0; c < kNumBufferClasses; ++c)
        text += std::string(" ") + bufferClassName(BufferClass(c)) + "=" +
                num(p.Stages()[i].peakBytes[c]);
      text += "\n";
    }
    for (size_t i = 0; i < p.Buffers().size(); ++i) {
      const Buffer &b = p.Buffers()[i];
      text += "buffer " + num(i) + " '" + str(b.name) + "' " + bufferClassName(b.kind) + " [" +
              num(b.offset) + ", " + num(b.offset + b.bytes) + ") " + list(b.shape) + " " +
              dtypeName(b.dtype) + "\n";
    }
    for (size_t i = 0; i < p.Scalars().size(); ++i)
      text += "scalar " + num(i) + " '" + str(p.Scalars()[i].name) +
              "' = " + bits(p.Scalars()[i].kind, p.Scalars()[i].initial) + "\n";
    for (const State &s : p.States())
      state(s);
    for (size_t i = 0; i < p.Kernels().size(); ++i)
      text += "kernel " + num(i) + " = " + str(p.Kernels()[i].symbol) + "\n";
    for (const Program &program : p.Programs())
      print(program);
    return std::move(text);
  }

private:
  std::string str(StringId id) const { return std::string(p.string(id)); }
  template <typename T> static std::string num(T value) { return std::to_string(value); }
  static std::string bits(ScalarKind kind, uint64_t value) {
    if (kind == ScalarKind::I64)
      return num(int64_t(value));
    double real;
    std::memcpy(&real, &value, sizeof real);
    return real64(real);
  }
  static std::string real64(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", value);
    return buffer;
  }
  std::string list(Range range) const {
    std::string result = "[";
    for (uint32_t i = 0; i < range.count; ++i)
      result += (i ? "," : "") + num(p.ints(range)[i]);
    return result + "]";
  }
  std::string axes(Range range) const {
    std::string result = "{";
    for (uint32_t i = 0; i < range.count; ++i)
      result += (i ? "," : "") + str(p.MeshAxes()[p.axes(range)[i]].name);
    return result + "}";
  }
  /// [2304 = 3 x 768{tp}, 768]
  std::string placed(Range shape, Id placement) const {
    std::string result = "[";
    Table<PlacementDim> dims = p.PlacementDims().slice(p.Placements()[placement].dims);
    for (size_t d = 0; d < dims.size(); ++d) {
      Table<PlacementPart> parts = p.PlacementParts().slice(dims[d].parts);
      result += (d ? ", " : "");
      if (parts.size() != 1)
        result += num(p.ints(shape)[d]) + " =";
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts.size() != 1)
          result += i ? " x " : " ";
        result += num(parts[i].size);
        if (parts[i].axes.count)
          result += axes(parts[i].axes);
      }
    }
    return result + "]";
  }

  void state(const State &s) {
    text += "state '" + str(s.name) + "' " + placed(s.shape, s.placement) + " " +
            dtypeName(s.dtype) + " in buffer " + num(s.buffer);
    if (s.stage != kNone)
      text += " of stage " + num(s.stage);
    text += "\n";
    for (const StatePiece &piece : p.StatePieces().slice(s.pieces)) {
      text += "  piece " + list(piece.sourceShape) + " " + dtypeName(piece.dtype) + " from ";
      text += piece.kind == SourceKind::File ? "'" + str(piece.path) + "'" : "embedded data";
      text += " at " + num(piece.byteOffset);
      if (piece.hashes.count)
        text += ", " + num(piece.hashes.count) + " blocks hashed";
      for (const Transform &t : p.Transforms().slice(piece.transforms)) {
        static constexpr const char *names[] = {"cast", "transpose", "reshape", "broadcast",
                                                "slice"};
        text += std::string(" ") + names[unsigned(t.kind)];
        text +=
            t.kind == TransformKind::Cast ? std::string(" ") + dtypeName(t.dtype) : list(t.ints);
      }
      if (piece.start.count)
        text += " to " + list(piece.start);
      text += "\n";
    }
  }

  void print(const Program &program) {
    text += "program '" + str(program.name) + "'\n";
    for (auto [word, range] : {std::pair("input", program.inputs), {"output", program.outputs}})
      for (const Port &port : p.Ports().slice(range))
        text += std::string("  ") + word + " '" + str(port.name) + "' " +
                placed(port.shape, port.placement) + " " + dtypeName(port.dtype) + " in buffer " +
                num(port.buffer) + "\n";
    for (uint32_t i = 0; i < program.bodies.count; ++i) {
      const Body &body = p.Bodies()[program.bodies.begin + i];
      text += "  body of stage " + num(i) + ": " + num(body.streams) + " streams, " +
              num(body.events) + " events\n";
      unsigned depth = 2;
      for (const Command &command : p.Commands().slice(body.commands)) {
        if (command.opcode == Opcode::RepeatEnd)
          --depth;
        text += std::string(2 * depth, ' ') + print(command) + "\n";
        if (command.opcode == Opcode::RepeatBegin)
          ++depth;
      }
    }
  }

  std::string value(const ScalarValue &v) const {
    if (v.base == ValueBase::Constant)
      return num(v.addend);
    std::string base =
        v.base == ValueBase::Scalar ? str(p.Scalars()[v.scalar].name) : "coordinate" + axes(v.axes);
    if (v.scale != 1)
      base += "*" + num(v.scale);
    return v.addend ? base + "+" + num(v.addend) : base;
  }

  std::string print(const View &v) const {
    const Buffer &buffer = p.Buffers()[v.buffer];
    std::string result = "%" + num(v.buffer);
    if (v.byteOffset)
      result += "+" + num(v.byteOffset);
    for (const ScalarValue &term : p.ScalarValues().slice(v.terms))
      result += "+" + num(dtypeBytes(v.dtype)) + "*(" + value(term) + ")";
    result += list(v.sizes);
    int64_t expected = 1;
    bool rowMajor = true;
    for (uint32_t d = v.sizes.count; d-- > 0;) {
      rowMajor &= p.ints(v.strides)[d] == expected;
      expected *= p.ints(v.sizes)[d] > 0 ? p.ints(v.sizes)[d] : 1;
    }
    if (!rowMajor)
      result += " strides " + list(v.strides);
    if (v.dtype != buffer.dtype)
      result += std::string(" as ") + dtypeName(v.dtype);
    return result;
  }

  std::string print(const Command &c) const {
    std::string result = opcodeName(c.opcode);
    result += params(c);
    const char *separator = " (";
    for (const View &v : p.Views().slice(c.views)) {
      result += separator + print(v);
      separator = ", ";
    }
    if (c.views.count)
      result += ")";
    if (c.stream)
      result += " stream " + num(c.stream);
    if (c.predicate != kNone)
      result += std::string(c.predicateInverted ? " unless " : " if ") +
                str(p.Scalars()[c.predicate].name);
    if (!p.string(c.node).empty())
      result += " // " + str(c.node);
    return result;
  }

  static const char *activation(Activation value) {
    static constexpr const char *names[] = {"", " relu", " gelu_erf", " gelu_tanh", " silu"};
    return names[unsigned(value)];
  }

  std::string params(const Command &c) const {
    switch (c.opcode) {
    case Opcode::Launch: {
      const Launch &l = p.Launches()[c.params];
      std::string result = " " + str(p.Kernels()[l.kernel].symbol) + " over " + num(l.extent) +
                           " grain " + num(l.grain);
      for (const ScalarValue &v : p.ScalarValues().slice(l.scalars))
        result += " " + value(v);
      return result;
    }
    case Opcode::Gemm: {
      const Gemm &g = p.Gemms()[c.params];
      return std::string(" in ") + dtypeName(g.accumulator) + activation(g.activation) +
             (g.hasBias ? " bias" : "") + (g.hasResidual ? " residual" : "") +
             (g.accumulate ? " accumulate" : "") +
             (g.alpha != 1.0 ? " alpha " + real64(g.alpha) : "");
    }
    case Opcode::Convolution: {
      const Convolution &v = p.Convolutions()[c.params];
      return " groups " + num(v.groups) + " strides " + list(v.strides) + " dilations " +
             list(v.dilations) + " input dilations " + list(v.inputDilations) + " pads " +
             list(v.padsBegin) + (v.hasBias ? " bias" : "") + activation(v.activation);
    }
    case Opcode::AttentionGradient:
    case Opcode::Attention: {
      const Attention &a = p.Attentions()[c.params];
      return " scale " + real64(a.scale) + (a.causal ? " causal" : "") +
             (a.softcap != 0 ? " softcap " + real64(a.softcap) : "") + (a.hasMask ? " mask" : "") +
             (a.hasLogSumExp ? " log_sum_exp" : "") +
             (a.keyLength != kNone ? " keys " + value(p.ScalarValues()[a.keyLength]) : "");
    }
    case Opcode::Fill: {
      char buffer[24];
      std::snprintf(buffer, sizeof buffer, " 0x%" PRIx64, p.Fills()[c.params].bits);
      return buffer;
    }
    case Opcode::Slice: {
      const Slice &s = p.Slices()[c.params];
      return " " + axes(s.axes) + " of [" + num(s.outer) + "," + num(s.extent) + "," +
             num(s.inner) + "]";
    }
    case Opcode::Collective:
      return bucket(c);
    case Opcode::EventRecord:
    case Opcode::EventWait:
      return " " + num(c.params);
    case Opcode::RepeatBegin: {
      const Repeat &r = p.Repeats()[c.params];
      return " " + value(p.ScalarValues()[r.count]) +
             (r.counter != kNone ? " counter " + str(p.Scalars()[r.counter].name) : "");
    }
    case Opcode::ScalarUpdate: {
      const ScalarUpdate &u = p.ScalarUpdates()[c.params];
      static constexpr const char *names[] = {"set",       "add",   "multiply",
                                              "remainder", "equal", "less"};
      const Scalar &target = p.Scalars()[u.target];
      return " " + str(target.name) + " " + names[unsigned(u.op)] + " " +
             (u.operand != kNone ? str(p.Scalars()[u.operand].name)
                                 : bits(target.kind, u.immediate));
    }
    case Opcode::Copy:
    case Opcode::RepeatEnd:
      break;
    }
    return "";
  }

  std::string bucket(const Command &c) const {
    std::string result = collective(p.Collectives()[c.params]);
    for (uint32_t i = 1; i < c.views.count / 2; ++i)
      result += " and " + box(p.Collectives()[c.params + i]);
    return result;
  }

  /// What is moved.
  std::string box(const Collective &c) const {
    std::string result = "[" + num(c.outer) + "," + num(c.extent) + ",";
    if (c.kind == CollectiveKind::AllToAll)
      result += num(c.middle) + "," + num(c.otherExtent) + ",";
    return result + num(c.inner) + "]";
  }

  std::string collective(const Collective &c) const {
    static constexpr const char *reductions[] = {"sum", "product", "max", "min", "and", "or"};
    std::string result = std::string(" ") + collectiveKindName(c.kind);
    if (c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter)
      result +=
          std::string(" ") + reductions[unsigned(c.reduction)] + " in " + dtypeName(c.accumulator);
    result += " over " + axes(p.Communicators()[c.communicator].axes) + " of " + box(c) + " " +
              dtypeName(c.dtype);
    if (c.kind == CollectiveKind::AllToAll && c.gatherFirst)
      result += " gather first";
    if (c.kind == CollectiveKind::Send || c.kind == CollectiveKind::Recv ||
        c.kind == CollectiveKind::Shift)
      result +=
          std::string(c.peerRelative || c.kind == CollectiveKind::Shift ? " peer me+" : " peer ") +
          num(c.peer);
    return result;
  }

  const ProgramView &p;
  std::string text;
};

} // namespace

std::string weft::runtime::dump(const ProgramView &program) { return Printer(program).run(); }
