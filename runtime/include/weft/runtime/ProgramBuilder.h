// Writes the program blob: appends records, interns text and lists.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same calls give the same bytes. Equal strings, integer lists, axis lists,
// placements, kernels and lists of views are stored once. Worked example:
//
//   ProgramBuilder b;
//   Id tp = b.addMeshAxis("tp", 2);
//   Id rows = b.addPlacement({{{8, {tp}}}, {{4, {}}}});       // 8x4, rows split
//   Id x = b.addBuffer("x", BufferClass::Input, DType::F32, 0, 64, {4, 4});
//   Id y = b.addBuffer("y", BufferClass::Output, DType::F32, 64, 64, {4, 4});
//   Id in = b.addPort("x", DType::F32, {8, 4}, rows, x);
//   Id out = b.addPort("y", DType::F32, {8, 4}, rows, y);
//   b.beginProgram("forward", {in}, {out});
//   b.beginBody(/*streams=*/1, /*events=*/0);
//   b.add({}, Copy{}, {b.view(x), b.view(y)});
//   b.endBody();
//   b.endProgram();
//   b.addStage({128, {}});
//   std::vector<uint8_t> blob = b.finish();
//
// Instead, with a routine that copies a block of 64 bytes to another one:
//
//   Id from = b.addBuffer("from", BufferClass::Activation, DType::F32, 0, 64, {4, 4}, 0);
//   Id to = b.addBuffer("to", BufferClass::Activation, DType::F32, 0, 64, {4, 4}, 1);
//   Id copy = b.beginRoutine("copy", {64, 64}, /*reads=*/1, /*streams=*/1, /*events=*/0);
//   b.add({0, "/h.{}/copy"}, Copy{}, {b.view(from), b.view(to)});
//   b.endRoutine();
//   ... and in a body
//   b.invoke({0}, copy, {b.view(x), b.view(y)}, "5", /*microbatch=*/2);
#ifndef WEFT_RUNTIME_PROGRAMBUILDER_H
#define WEFT_RUNTIME_PROGRAMBUILDER_H

#include "weft/runtime/Program.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace weft::runtime {

class ProgramBuilder {
public:
  using Ints = std::vector<int64_t>;
  using Ids = std::vector<uint32_t>;

  struct Part {
    int64_t size;
    Ids axes;
  };
  /// [dimension][part]
  using PlacementDesc = std::vector<std::vector<Part>>;

  /// Fields that all commands have.
  struct On {
    On(unsigned stream = 0, std::string node = {}) : stream(stream), node(std::move(node)) {}
    unsigned stream;
    std::string node;
    std::string action = {}; // as Command's
  };

  struct LoadTransform {
    TransformKind kind;
    DType dtype = DType::F32; // Cast only
    Ints ints;
  };
  struct PieceDesc {
    SourceKind kind = SourceKind::File;
    DType dtype = DType::F32;
    Ints sourceShape;
    std::string path;        // File
    uint64_t byteOffset = 0; // File; Embedded: what addData returned
    bool confined = false;   // File
    /// Of each block; empty = not checked.
    std::vector<uint64_t> hashes;
    std::vector<LoadTransform> transforms;
    Ints start;
  };

  /// Where a state or port lies: in a buffer of the only stage, in one of each stage that holds it,
  /// or at the same place in all stages.
  struct HomeList : std::vector<Home> {
    HomeList(Id buffer) : vector{{0, buffer}} {}
    HomeList(std::vector<Home> homes) : vector(std::move(homes)) {}
    static HomeList everywhere(Id buffer, uint32_t stages) {
      std::vector<Home> homes;
      for (uint32_t stage = 0; stage < stages; ++stage)
        homes.push_back({stage, buffer});
      return homes;
    }
  };

  ProgramBuilder();

  StringId string(std::string_view text);
  Range ints(const Ints &values);
  Range axes(const Ids &values);

  ModuleInfo &info() { return tables.Info[0]; }
  void addMetadata(std::string_view key, std::string_view value);
  Id addMeshAxis(std::string_view name, int64_t size);
  Id addCommunicator(const Ids &axes);
  Id addPlacement(const PlacementDesc &dims);
  /// A placement that splits nothing.
  Id addReplicated(const Ints &shape);
  Id addBuffer(std::string_view name, BufferClass kind, DType dtype, uint64_t offset,
               uint64_t bytes, const Ints &shape, Id block = kNone);
  /// Embeds bytes; returns the offset for PieceDesc::byteOffset.
  uint64_t addData(const void *bytes, size_t count);
  Id addState(std::string_view name, DType dtype, const Ints &shape, Id placement,
              const HomeList &homes, const std::vector<PieceDesc> &pieces);
  Id addPort(std::string_view name, DType dtype, const Ints &shape, Id placement,
             const HomeList &homes);
  Id addKernel(std::string_view symbol);
  void addStage(const Stage &stage) { tables.Stages.push_back(stage); }

  /// The whole buffer, row-major, in its own shape.
  View view(Id buffer);
  /// A window; row-major strides if `strides` is empty and `sizes` is not.
  View view(Id buffer, DType dtype, int64_t byteOffset, const Ints &sizes,
            const Ints &strides = {});

  ScalarValue constant(int64_t value);
  ScalarValue coordinate(const Ids &axes, int64_t scale = 1, int64_t addend = 0);

  /// Ports must be added before the program that lists them; the lists must be
  /// consecutive ids, as addPort gives them.
  void beginProgram(std::string_view name, const Ids &inputs, const Ids &outputs);
  void beginBody(uint32_t streams, uint32_t events);
  void endBody();
  void endProgram();

  /// The commands that follow, up to endRoutine, are a routine's. No body is open meanwhile.
  /// `blocks`: bytes of what it reads (the first `reads`), then of what it writes, scratch last.
  Id beginRoutine(std::string_view name, const Ints &blocks, uint32_t reads, uint32_t streams,
                  uint32_t events);
  void endRoutine();

#define WEFT_ADD(RECORD, NAME, VIEWS)                                                              \
  void add(const On &on, const RECORD &record, const std::vector<View> &views) {                   \
    tables.RECORD##Records.push_back(record);                                                      \
    append(on, Opcode::RECORD, tables.RECORD##Records.size() - 1, views);                          \
  }
  WEFT_COMMANDS(WEFT_ADD)
#undef WEFT_ADD
  /// Several tensors at once: views are source, destination, source, ...
  void add(const On &on, const std::vector<Collective> &bucket, const std::vector<View> &views);
  /// A command about which its views say all; false if that opcode needs parameters.
  bool add(const On &on, Opcode opcode, const std::vector<View> &views);
  /// The first `reads` of the kernel's pointers are not written.
  void launch(const On &on, Id kernel, int64_t extent, int64_t grain,
              const std::vector<View> &pointers, const std::vector<ScalarValue> &scalars,
              uint32_t reads = 0);
  /// Calls a routine: a view for each of its blocks, whose first element is the block's start;
  /// `unset` are numbers of blocks.
  void invoke(const On &on, Id routine, const std::vector<View> &blocks,
              std::string_view label = {}, uint32_t microbatch = kNone, const Ints &unset = {});

  /// The blob. The builder may go on afterwards and finish again.
  std::vector<uint8_t> finish() const;

private:
  void append(const On &on, Opcode opcode, size_t params, const std::vector<View> &views);
  Range values(const std::vector<ScalarValue> &list);
  Range homes(const HomeList &list);
  Range viewList(const std::vector<View> &views);

  struct Tables {
#define WEFT_SECTION(NAME, TYPE) std::vector<TYPE> NAME;
    WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION
  } tables;
  std::map<std::string, StringId, std::less<>> stringIds;
  std::map<Ints, Range> intLists;
  std::map<Ids, Range> axisLists;
  std::map<Ids, Id> communicatorIds;
  std::map<std::vector<std::vector<std::pair<int64_t, Ids>>>, Id> placementIds;
  std::map<StringId, Id> kernelIds;
  std::map<std::string, Range> viewLists; // by their bytes
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PROGRAMBUILDER_H
