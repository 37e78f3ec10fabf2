// The executable program as data: the tables where compiler and runtime meet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is one relocatable little-endian blob: a header, a directory of
// sections, and one array of plain records per section. Records refer to each
// other by index (`kNone` = absent) and to lists by `Range`, a slice of the
// section named in the member's comment. All offsets are bytes from the start
// of the blob and every section starts on a multiple of 64 bytes.
//
// Writers use ProgramBuilder.h. Readers call `ProgramView::open`, which checks
// the checksum, every index, every range, every enumerator and that every view
// lies inside its buffer; after that the tables can be used without checks.
//
// Units: sizes named `bytes` are bytes; sizes, strides and extents are
// elements.
#ifndef WEFT_RUNTIME_PROGRAM_H
#define WEFT_RUNTIME_PROGRAM_H

#include "weft/runtime/Commands.h"
#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft::runtime {

constexpr uint64_t kProgramMagic = 0x474f525054464557ull; // "WEFTPROG"
constexpr uint32_t kProgramVersion = 11;
constexpr uint64_t kSectionAlignment = 64;

enum class BufferClass : uint8_t {
  Parameter,
  Input,
  Output,
  Activation,
  Communication,
  Workspace,
  Gradient,
  OptimizerState
};
constexpr unsigned kNumBufferClasses = 8;
const char *bufferClassName(BufferClass value);

//===----------------------------------------------------------------------===//
// Mesh, placements, memory
//===----------------------------------------------------------------------===//

/// A mesh axis. Process rank = row-major index over all axes in table order,
/// the last axis fastest.
struct MeshAxis {
  StringId name;
  uint32_t reserved;
  int64_t size; // >= 1
};

/// The ranks that differ only along `axes` talk to each other. A member's index
/// is row-major over the axes *in the order listed*, the last one fastest.
struct Communicator {
  Range axes; // AxisIds -> MeshAxes, distinct
};

/// Where the elements of a global tensor lie: one PlacementDim per dimension.
struct Placement {
  Range dims; // PlacementDims
};
/// A dimension is a row-major product of parts (factors), outermost first.
struct PlacementDim {
  Range parts; // PlacementParts; their sizes multiply to the dimension's size
};
/// One factor, split over `axes` (major to minor) by ceiling division at each
/// level: level i cuts the local extent of level i-1 into pieces of
/// ceil(extent / axis size). The last pieces may be short or empty; the local
/// buffer always has the static extent and the rest of it is padding.
/// Example: 10 over axes a=2, b=2 -> 5 -> 3: shards [0,3) [3,5) [5,8) [8,10).
struct PlacementPart {
  int64_t size;
  Range axes; // AxisIds -> MeshAxes; empty = replicated
};

/// A named range of the arena, or of a block that the caller of a routine gives it.
struct Buffer {
  StringId name;
  BufferClass kind;
  DType dtype;
  uint16_t reserved;
  Id block; // kNone = the arena; else which block of the routine that uses it
  uint32_t reserved2;
  uint64_t offset; // bytes from the start of arena or block, a multiple of 64
  uint64_t bytes;
  Range shape; // Ints: the local shape, for messages and for state and ports
};

//===----------------------------------------------------------------------===//
// State and ports
//===----------------------------------------------------------------------===//

/// Where the ranks of one stage hold a state or port.
struct Home {
  uint32_t stage;
  Id buffer; // Buffers
};

/// Named values that outlive a run, filled at load from `pieces`. Checkpoints
/// hold those whose buffers are of class Parameter or OptimizerState; others are
/// constants of the executable. A name has one record.
struct State {
  StringId name;
  DType dtype; // as stored in its buffers
  uint8_t reserved[3];
  Range shape;  // Ints: global
  Id placement; // Placements
  uint32_t reserved2;
  Range homes;  // Homes, at least one, by ascending stage, of one buffer class
  Range pieces; // StatePieces; elements that no piece covers are zero
};

enum class SourceKind : uint8_t { File, Embedded };

/// A source tensor, row-major, that after `transforms` fills the box of the
/// state's global shape starting at `start`. Concatenation = several pieces.
struct StatePiece {
  SourceKind kind;
  DType dtype; // in the source
  /// File: named by the model, so it must lie in the model's directory: no way
  /// up, no link that leaves it.
  uint8_t confined;
  uint8_t reserved;
  StringId path;       // File: absolute, or relative to the model's directory
  uint64_t byteOffset; // in the file, or in the Data section
  uint64_t byteLength; // = product(sourceShape) * dtypeBytes
  Range hashes;        // SourceHashes, one per block (SourceBlocks.h); empty = no check
  Range sourceShape;   // Ints
  Range transforms;    // Transforms, applied first to last
  Range start;         // Ints, one per state dimension; empty = all zero
};

enum class TransformKind : uint8_t {
  Cast,      // to `dtype`, rounding to nearest even
  Transpose, // result dimension i = operand dimension ints[i]
  Reshape,   // to shape ints, same number of elements
  Broadcast, // to shape ints, same tensor rank; only extents of 1 may grow
  Slice      // ints = starts, sizes, steps (tensor rank of each); steps may be < 0
};
struct Transform {
  TransformKind kind;
  DType dtype;
  uint16_t reserved;
  Range ints;
};

/// An input or output of a program, of one record a name.
struct Port {
  StringId name;
  DType dtype; // its buffers'
  uint8_t reserved[3];
  Range shape;  // Ints: global
  Id placement; // Placements
  uint32_t reserved2;
  Range homes; // Homes, at least one, by ascending stage: who reads it, or all that make it
};

struct Kernel {
  StringId symbol;
  uint32_t reserved;
};

/// The commands of one stage of a program.
struct Body {
  Range commands;   // Commands
  uint32_t streams; // >= 1
  uint32_t events;
};

/// Commands over blocks of memory whose places its callers say (Commands.h, Invoke): what
/// many microbatches or layers share. They use buffers of these blocks alone, number events
/// from 0, and call nothing.
struct Routine {
  StringId name;
  uint32_t streams; // >= 1
  uint32_t events;
  uint32_t reads; // so many blocks, the first ones, are not written
  Range commands; // Commands, at least one
  Range blocks;   // Ints: bytes of each; scratch, where it needs some, is the last one
};

struct Program {
  StringId name;
  uint32_t reserved;
  Range inputs;  // Ports
  Range outputs; // Ports
  Range bodies;  // Bodies, one per stage
};

/// Memory that one stage's ranks need.
struct Stage {
  uint64_t arenaBytes;                   // a multiple of 64; the runtime adds library scratch
  uint64_t peakBytes[kNumBufferClasses]; // by BufferClass, for reports
};

struct MetadataEntry {
  StringId key, value;
};

struct ModuleInfo {
  StringId weftVersion;
  StringId modelName;
  StringId modelDirectory; // where relative paths start, unless --model-dir
  StringId target;         // "cpu"
  StringId device;         // the kind that runs it: "cuda"; empty = "host"
  StringId processor;      // that kernels are for: "x86-64-v3", "znver5"
  StringId features;       // that kernels may use (Processor.h), comma-separated
  StringId options;        // what weft-compile was told, to be read by people
  Range stageAxes;         // AxisIds; a rank's stage is its coordinate along them
  uint32_t threadsPerRank; // 0 = cores / local ranks
};

struct StringRef {
  uint64_t offset; // in StringBytes
  uint64_t bytes;
};

//===----------------------------------------------------------------------===//
// Container
//===----------------------------------------------------------------------===//

#define WEFT_PROGRAM_SECTIONS(X)                                                                   \
  X(Info, ModuleInfo)                                                                              \
  X(Stages, Stage)                                                                                 \
  X(Strings, StringRef)                                                                            \
  X(StringBytes, char)                                                                             \
  X(Ints, int64_t)                                                                                 \
  X(AxisIds, uint32_t)                                                                             \
  X(Metadata, MetadataEntry)                                                                       \
  X(MeshAxes, MeshAxis)                                                                            \
  X(Communicators, Communicator)                                                                   \
  X(Placements, Placement)                                                                         \
  X(PlacementDims, PlacementDim)                                                                   \
  X(PlacementParts, PlacementPart)                                                                 \
  X(Buffers, Buffer)                                                                               \
  X(Homes, Home)                                                                                   \
  X(States, State)                                                                                 \
  X(StatePieces, StatePiece)                                                                       \
  X(SourceHashes, uint64_t)                                                                        \
  X(Transforms, Transform)                                                                         \
  X(Ports, Port)                                                                                   \
  X(ScalarValues, ScalarValue)                                                                     \
  X(Kernels, Kernel)                                                                               \
  X(Programs, Program)                                                                             \
  X(Bodies, Body)                                                                                  \
  X(Routines, Routine)                                                                             \
  X(Commands, Command)                                                                             \
  X(Views, View)                                                                                   \
  X(Data, uint8_t)                                                                                 \
  WEFT_COMMANDS(WEFT_RECORD_SECTION)

/// The records of commands: a section for each row of their table. Whoever asks for the
/// sections calls X WEFT_SECTION.
#define WEFT_RECORD_SECTION(RECORD, NAME, VIEWS) WEFT_SECTION(RECORD##Records, RECORD)

enum class Section : uint32_t {
#define WEFT_SECTION(NAME, TYPE) NAME,
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION
      Count
};
constexpr uint32_t kNumSections = uint32_t(Section::Count);

struct SectionRecord {
  uint64_t offset;      // bytes from the blob's start
  uint64_t count;       // records
  uint32_t recordBytes; // must equal the reader's sizeof
  uint32_t reserved;
};

struct ProgramHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t sections;
  uint64_t bytes;    // of the whole blob
  uint64_t checksum; // XXH3_64bits of all bytes after the header
};

/// A table of a checked blob.
template <typename T> class Table {
public:
  Table() = default;
  Table(const T *data, size_t size) : data(data), count(size) {}
  const T &operator[](size_t index) const { return data[index]; }
  const T *begin() const { return data; }
  const T *end() const { return data + count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  Table slice(Range range) const { return {data + range.begin, range.count}; }

private:
  const T *data = nullptr;
  size_t count = 0;
};

/// A checked blob; it refers to the caller's bytes and must not outlive them.
class ProgramView {
public:
  /// Checks the `bytes` at `blob` (8-byte aligned) and makes `view` of them.
  static Status open(const void *blob, uint64_t bytes, ProgramView &view);

#define WEFT_SECTION(NAME, TYPE)                                                                   \
  Table<TYPE> NAME() const {                                                                       \
    const SectionRecord &r = sections[uint32_t(Section::NAME)];                                    \
    return {reinterpret_cast<const TYPE *>(base + r.offset), r.count};                             \
  }
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION

  /// The records of commands of one kind, and that of one command.
  template <typename Record> Table<Record> records() const;
  template <typename Record> const Record &record(const Command &command) const {
    return records<Record>()[command.params];
  }
  const ModuleInfo &info() const { return Info()[0]; }
  std::string_view string(StringId id) const {
    const StringRef &ref = Strings()[id];
    return {StringBytes().begin() + ref.offset, ref.bytes};
  }
  Table<int64_t> ints(Range range) const { return Ints().slice(range); }
  Table<uint32_t> axes(Range range) const { return AxisIds().slice(range); }
  /// Of the blob: tells executables apart.
  uint64_t checksum() const { return reinterpret_cast<const ProgramHeader *>(base)->checksum; }
  int64_t numRanks() const; // product of the mesh's axis sizes

  /// Where a stage holds a State or Port, or null.
  template <typename Tensor> const Home *homeOf(const Tensor &tensor, uint32_t stage) const {
    for (const Home &home : Homes().slice(tensor.homes))
      if (home.stage == stage)
        return &home;
    return nullptr;
  }
  /// Of the stages that hold a State or Port, the one that gives it to files.
  template <typename Tensor> uint32_t firstStage(const Tensor &tensor) const {
    return Homes()[tensor.homes.begin].stage;
  }
  BufferClass classOf(const State &state) const {
    return Buffers()[Homes()[state.homes.begin].buffer].kind;
  }

private:
  const uint8_t *base = nullptr;
  const SectionRecord *sections = nullptr;
};

#define WEFT_RECORDS(RECORD, NAME, VIEWS)                                                          \
  template <> inline Table<RECORD> ProgramView::records<RECORD>() const {                          \
    return RECORD##Records();                                                                      \
  }
WEFT_COMMANDS(WEFT_RECORDS)
#undef WEFT_RECORDS

/// Calls `visit` with the command's record, in its own type. The opcode is known.
template <typename Visit>
auto visitRecord(const ProgramView &program, const Command &command, Visit &&visit)
    -> decltype(visit(std::declval<const Copy &>())) {
  switch (command.opcode) {
#define WEFT_VISIT(RECORD, NAME, VIEWS)                                                            \
  case Opcode::RECORD:                                                                             \
    return visit(program.record<RECORD>(command));
    WEFT_COMMANDS(WEFT_VISIT)
#undef WEFT_VISIT
  }
  __builtin_unreachable();
}

/// Whether a command writes its view of that number; it reads the others.
bool writesView(const ProgramView &program, const Command &command, uint32_t view);

/// The whole program as readable, deterministic text.
std::string dump(const ProgramView &program);

/// XXH3_64bits, the hash of blobs and sources.
uint64_t hashBytes(const void *data, size_t bytes);

} // namespace weft::runtime

//===----------------------------------------------------------------------===//
// Symbols of a compiled object
//===----------------------------------------------------------------------===//
extern "C" {
/// Runs iterations [begin, end) of a launch; `pointers` are the launch's views
/// (first elements), `scalars` its scalars.
typedef void (*weft_kernel_fn)(int64_t begin, int64_t end, void *const *pointers,
                               const int64_t *scalars);
/// A kernel's code for a device that has a driver of its own, which loads it by the kernel's name.
/// Its parameters are the addresses of a launch's views, then its scalars, 8 bytes each; a launch
/// of extent n is a grid of n blocks.
typedef struct weft_device_image {
  const void *binary; // for `chip`, such as a cubin; null = none
  const char *text;   // what the driver assembles for other chips, such as PTX; null = none
  const char *chip;   // "sm_90", for messages
  uint32_t threads;   // of a block
  uint32_t alignment; // bytes: all addresses are multiples of it
  uint32_t table;     // 1 = the addresses are one parameter, an array; 0 = a parameter each
} weft_device_image;
/// Of a program's kernel: how this processor runs it, how a device does, or both.
typedef struct weft_kernel_entry {
  const char *name;
  weft_kernel_fn function = nullptr;
  const weft_device_image *image = nullptr;
} weft_kernel_entry;

/// Defined by the objects the compiler emits into an executable.
extern const unsigned char weft_program_blob[];
extern const uint64_t weft_program_blob_size;
extern const weft_kernel_entry weft_kernel_table[];
extern const uint64_t weft_kernel_count;
/// Where the runtime lay that the executable was linked with, and so its
/// communicators (libweft_NAME.so); null in programs that were linked by hand.
extern const char weft_plugin_directory[] __attribute__((weak));
}

#endif // WEFT_RUNTIME_PROGRAM_H
