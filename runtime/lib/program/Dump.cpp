// Prints a program as text, one record a line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/commands/CommandRules.h"

using namespace weft::runtime;

namespace {

class Printer : public ProgramText {
public:
  using ProgramText::ProgramText;

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
              num(b.offset) + ", " + num(b.offset + b.bytes) + ") " +
              (b.block == kNone ? "" : "of block " + num(b.block) + " ") + list(b.shape) + " " +
              dtypeName(b.dtype) + "\n";
    }
    for (const State &s : p.States())
      state(s);
    for (size_t i = 0; i < p.Kernels().size(); ++i)
      text += "kernel " + num(i) + " = " + str(p.Kernels()[i].symbol) + "\n";
    for (const Routine &routine : p.Routines())
      print(routine);
    for (const Program &program : p.Programs())
      print(program);
    return std::move(text);
  }

private:
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

  /// in buffer 3 of stage 0, buffer 5 of stage 2
  std::string homes(Range range) const {
    std::string result = " in";
    for (const Home &home : p.Homes().slice(range)) {
      result += (result == " in" ? " buffer " : ", buffer ") + num(home.buffer);
      if (p.Stages().size() > 1)
        result += " of stage " + num(home.stage);
    }
    return result;
  }

  void state(const State &s) {
    text += "state '" + str(s.name) + "' " + placed(s.shape, s.placement) + " " +
            dtypeName(s.dtype) + homes(s.homes) + "\n";
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

  /// routine 'F.block': blocks of 4096, 64 -> 64, 1024 bytes, 1 streams, 0 events
  void print(const Routine &routine) {
    text += "routine '" + str(routine.name) + "': blocks of";
    for (uint32_t i = 0; i < routine.blocks.count; ++i)
      text += (i == routine.reads ? " -> " : i ? ", " : " ") + num(p.ints(routine.blocks)[i]);
    text += " bytes, " + num(routine.streams) + " streams, " + num(routine.events) + " events\n";
    print(CommandScope(routine), "  ");
  }

  void print(const CommandScope &scope, const char *indent) {
    for (const Command &command : p.Commands().slice(scope.commands))
      text += indent + print(scope, command) + "\n";
  }

  void print(const Program &program) {
    text += "program '" + str(program.name) + "'\n";
    for (auto [word, range] : {std::pair("input", program.inputs), {"output", program.outputs}})
      for (const Port &port : p.Ports().slice(range))
        text += std::string("  ") + word + " '" + str(port.name) + "' " +
                placed(port.shape, port.placement) + " " + dtypeName(port.dtype) +
                homes(port.homes) + "\n";
    for (uint32_t i = 0; i < program.bodies.count; ++i) {
      const Body &body = p.Bodies()[program.bodies.begin + i];
      text += "  body of stage " + num(i) + ": " + num(body.streams) + " streams, " +
              num(body.events) + " events\n";
      print(CommandScope(body, p.Stages()[i].arenaBytes, nullptr), "    ");
    }
  }

  std::string print(const View &v) const {
    const Buffer &buffer = p.Buffers()[v.buffer];
    std::string result = "%" + num(v.buffer);
    if (v.byteOffset)
      result += "+" + num(v.byteOffset);
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

  /// gemm in f32 (%0[4,4], %1[4,4] -> %2[4,4]): what is read before what is written, where the
  /// command has it so.
  std::string print(const CommandScope &scope, const Command &c) const {
    CommandContext context(p, scope, c);
    std::string result = opcodeName(c.opcode);
    result += visitRecord(p, c, [&](const auto &record) { return describe(context, record); });
    bool wasWritten = false;
    for (uint32_t i = 0; i < c.views.count; ++i) {
      bool isWritten = writesView(p, c, i);
      result += isWritten && !wasWritten ? (i ? " -> " : " (-> ") : i ? ", " : " (";
      result += print(context.view(i));
      wasWritten = isWritten;
    }
    if (c.views.count)
      result += ")";
    if (c.stream)
      result += " stream " + num(c.stream);
    if (!p.string(c.action).empty())
      result += " action " + std::string(p.string(c.action));
    if (!p.string(c.node).empty())
      result += " // " + str(c.node);
    return result;
  }

  std::string text;
};

} // namespace

std::string weft::runtime::dump(const ProgramView &program) { return Printer(program).run(); }
