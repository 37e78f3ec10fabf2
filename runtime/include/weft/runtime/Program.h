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

#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::runtime {

constexpr uint64_t kProgramMagic = 0x474f525054464557ull; // "WEFTPROG"
constexpr uint32_t kProgramVersion = 5;
constexpr uint32_t kNone = 0xffffffffu;
constexpr unsigned kMaxTensorRank = 12;
constexpr uint64_t kSectionAlignment = 64;

/// Index into a table; the type says which one the member's comment names.
using Id = uint32_t;
/// Index into `Strings`. Never kNone: absent text is the empty string.
using StringId = uint32_t;

/// `count` consecutive records of some section, from `begin`.
struct Range {
  uint32_t begin;
  uint32_t count;
};

enum class DType : uint8_t { F64, F32, BF16, F16, I8, I16, I32, I64, U8, U16, U32, U64, Bool };
constexpr unsigned kNumDTypes = 13;
unsigned dtypeBytes(DType type);   // a Bool is one byte, 0 or 1
const char *dtypeName(DType type); // "f32", "bf16", "bool"

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

/// A named piece of the arena.
struct Buffer {
  StringId name;
  BufferClass kind;
  DType dtype;
  uint16_t reserved;
  uint64_t offset; // bytes from the arena's start, a multiple of 64
  uint64_t bytes;
  Range shape; // Ints: the local shape, for messages and for state and ports
};

//===----------------------------------------------------------------------===//
// State and ports
//===----------------------------------------------------------------------===//

/// Named values that outlive a run, filled at load from `pieces`. Checkpoints
/// hold those whose buffer is of class Parameter or OptimizerState; others are
/// constants of the executable.
struct State {
  StringId name;
  DType dtype; // as stored in `buffer`
  uint8_t reserved[3];
  Range shape;    // Ints: global
  Id placement;   // Placements
  Id buffer;      // Buffers
  Range pieces;   // StatePieces; elements that no piece covers are zero
  uint32_t stage; // the stage that holds it, kNone = every one
  uint32_t reserved2;
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

/// An input or output of a program.
struct Port {
  StringId name;
  DType dtype; // the buffer's
  uint8_t reserved[3];
  Range shape;    // Ints: global
  Id placement;   // Placements
  Id buffer;      // Buffers
  uint32_t stage; // the stage that reads or makes it, kNone = every one
};

enum class ScalarKind : uint8_t { I64, F64 };
/// A value on the host that commands may read and write, equal on all ranks.
struct Scalar {
  StringId name;
  ScalarKind kind;
  uint8_t reserved[3];
  uint64_t initial; // the bits of an int64_t or double
};

/// addend + scale * base. Base is 0 (Constant), this rank's row-major
/// coordinate along `axes` (Coordinate), or an I64 scalar (Scalar).
/// An F64 scalar is passed as its bits and must have addend 0 and scale 1.
enum class ValueBase : uint8_t { Constant, Coordinate, Scalar };
struct ScalarValue {
  ValueBase base;
  uint8_t reserved[3];
  Id scalar;  // Scalars, for ValueBase::Scalar
  Range axes; // AxisIds, for ValueBase::Coordinate
  int64_t scale;
  int64_t addend;
};

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// A strided window of a buffer. `offset + sum(terms)` is its first element;
/// strides are elements of the buffer's dtype (`dtype` may reinterpret a buffer
/// and then rules), may be 0 (broadcast, sources only) or negative.
struct View {
  Id buffer; // Buffers
  DType dtype;
  uint8_t reserved[3];
  int64_t byteOffset; // from the buffer's start, a multiple of the dtype's bytes
  Range sizes;        // Ints
  Range strides;      // Ints, as many
  Range terms;        // ScalarValues in elements, summed; checked at each use
};

enum class Opcode : uint8_t {
  Launch,      // params: Launches; views: the kernel's pointers
  Gemm,        // params: Gemms; views: a b c [bias] [residual]
  Convolution, // params: Convolutions; views: input weight output [bias]
  Attention,   // params: Attentions; views: q k v out [mask] [logSumExp]
  Copy,        // params: kNone; views: source destination, same sizes and dtype
  Fill,        // params: Fills; views: destination
  Slice,       // params: Slices; views: source destination
  /// params: Collectives; views: source destination (see there). A bucket moves
  /// several tensors: source destination source destination ..., the first
  /// one's Collective at params, the others' behind it.
  Collective,
  EventRecord,  // params: event number
  EventWait,    // params: event number
  RepeatBegin,  // params: Repeats
  RepeatEnd,    // params: kNone
  ScalarUpdate, // params: ScalarUpdates
  /// params: Attentions; views: q k v out, out's gradient, the gradients of q,
  /// k and v, [mask]. The probabilities are computed again.
  AttentionGradient
};
constexpr unsigned kNumOpcodes = 14;
const char *opcodeName(Opcode value);

/// Streams run at the same time, each in list order. Stream 0 is the rank's
/// own thread, others get a thread each; by custom stream 1 communicates.
/// EventWait waits for the latest EventRecord of that event before it in
/// program order, on whatever stream. All streams join when a program ends.
/// Repeats, scalar updates and predicates are followed by every stream alike,
/// so their `stream` is ignored.
struct Command {
  Opcode opcode;
  uint8_t predicateInverted; // run if the predicate is 0 instead of non-zero
  uint16_t stream;
  Id predicate;  // Scalars (I64); kNone = always. Not on repeats.
  StringId node; // the model's node, for messages and traces
  uint32_t params;
  Range views; // Views
};

/// kernel(begin, end, pointers, scalars) over pieces of [0, extent).
struct Launch {
  Id kernel; // Kernels
  uint32_t reserved;
  int64_t extent; // parallel iterations; 1 = not parallel
  int64_t grain;  // least iterations worth a thread, >= 1
  Range scalars;  // ScalarValues
};

enum class Activation : uint8_t { None, Relu, GeluErf, GeluTanh, Silu };

/// c[b.., m, n] = act(alpha * sum_k a[b.., m, k] * b[b.., k, n] + bias)
/// + residual, plus the old c if `accumulate`. 0 to 4 batch dimensions; all
/// views have tensor rank batch+2; a, b, bias and residual may have stride 0
/// (bias and residual have c's sizes). Dtypes of a, b: equal; f64 f32 bf16 f16
/// or integer (integers wrap in `accumulator`, c has that type). c: the dtype
/// of a, or f32 for bf16 and f16.
struct Gemm {
  DType accumulator; // F64, F32, I32 or I64
  Activation activation;
  uint8_t accumulate;
  uint8_t hasBias;
  uint8_t hasResidual;
  uint8_t reserved[3];
  double alpha;
};

/// out[n, m, o] = act(bias[m] + sum over c and t of weight[m, c, t] *
/// x[n, c, o * stride + t * dilation - pad]), where x is the input with
/// inputDilation - 1 zeros between its elements, and zero outside. Input [n,
/// c, s..], output [n, m, o..], weight [m, c/groups, t..], bias [m]; any
/// strides. Along a dimension either stride or inputDilation is 1.
struct Convolution {
  uint8_t hasBias;
  Activation activation;
  uint8_t reserved[2];
  uint32_t groups;
  Range strides; // Ints, one per spatial dimension
  Range dilations;
  Range inputDilations;
  Range padsBegin; // the end pads follow from the output's extents
};

/// out = softmax(scale * q k^T [softcap] + mask) v, per batch and head.
/// q [b, h, s, d], k [b, g, t, d], v [b, g, t, e], out [b, h, s, e]; h a
/// multiple of g. mask [b, h, s, t] is additive in q's dtype or f32, or Bool
/// (true = attend); strides may be 0. Causal: query i sees keys j <= i + t' -
/// s, where t' is `keyLength`. softcap c > 0: x -> c * tanh(x / c) before the
/// mask. A row that sees nothing is zero, its logSumExp [b, h, s] (f32, f64 if
/// q is) -inf.
struct Attention {
  double scale;
  double softcap; // 0 = none
  uint8_t causal;
  uint8_t hasMask;
  uint8_t hasLogSumExp;
  uint8_t reserved;
  Id keyLength; // ScalarValues: keys that count, 0 <= it <= t; kNone = t
};

struct Fill {
  uint64_t bits; // the low dtypeBytes are the value
};

/// destination[o, i, x] = source[o, start + i, x] where [start, start + valid)
/// is this rank's shard of `extent` over `axes` (as in PlacementPart); the
/// padding beyond `valid` gets `padBits`. source [outer, extent, inner] and
/// destination [outer, shard, inner] are contiguous from their view's first
/// element.
struct Slice {
  Range axes; // AxisIds
  int64_t outer, extent, inner;
  uint64_t padBits;
};

enum class CollectiveKind : uint8_t {
  AllGather,     // source [outer, shard, inner] -> destination [outer, extent,
                 // inner]
  AllReduce,     // source [outer, extent, inner] -> the same shape; may be in place
  ReduceScatter, // source [outer, extent, inner] -> destination [outer, shard,
                 // inner]
  AllToAll,      // see Collective
  Send,          // source [outer, extent, inner] -> member `peer`
  Recv,          // member `peer` -> destination [outer, extent, inner]
  Shift          // source goes to member (me + peer) mod n; may not be in place
};
constexpr unsigned kNumCollectiveKinds = 7;
const char *collectiveKindName(CollectiveKind value);
enum class Reduction : uint8_t { Sum, Product, Max, Min, And, Or };

/// One view for Send and Recv, two (source, destination) for the others; both
/// contiguous from the view's first element. `shard` is the static extent of
/// `extent` split over the communicator's axes as in PlacementPart, so uneven
/// shards gather to exact extents and scattered padding becomes `padBits`.
///
/// AllToAll moves the split from one dimension to another: source
/// [outer, extent, middle, otherShard, inner] -> destination
/// [outer, shard, middle, otherExtent, inner]; with `gatherFirst` the gathered
/// dimension stands before the scattered one, source
/// [outer, otherShard, middle, extent, inner] -> destination
/// [outer, otherExtent, middle, shard, inner].
/// Reductions go over members in order 0, 1, ... in `accumulator`.
/// And, Or: logical on Bool, bitwise on integers.
/// Those of a bucket (AllGather, AllReduce or ReduceScatter) have one kind,
/// communicator, dtype, reduction and accumulator; they go in the same messages.
struct Collective {
  CollectiveKind kind;
  Reduction reduction;
  DType dtype; // of the elements moved (wire)
  DType accumulator;
  Id communicator;       // Communicators
  int64_t peer;          // Send, Recv: member index; Shift: distance
  uint32_t peerRelative; // Send, Recv: peer is (me + peer) mod n
  uint8_t gatherFirst;   // AllToAll
  uint8_t reserved[3];
  int64_t outer, extent, inner;
  int64_t middle, otherExtent; // AllToAll only, else 1
  uint64_t padBits;
};

/// Runs the commands up to the matching RepeatEnd `count` times; `counter`
/// holds 0, 1, ... in them.
struct Repeat {
  Id count;   // ScalarValues
  Id counter; // Scalars (I64), kNone = not wanted
};

enum class ScalarOp : uint8_t { Set, Add, Multiply, Remainder, Equal, Less };
/// target = target op operand (Set: operand). Both have the target's kind;
/// Equal, Less yield 1 or 0; Remainder is for I64 and 0 for a zero divisor.
struct ScalarUpdate {
  Id target;  // Scalars
  Id operand; // Scalars; kNone = immediate
  ScalarOp op;
  uint8_t reserved[7];
  uint64_t immediate; // bits
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
  X(States, State)                                                                                 \
  X(StatePieces, StatePiece)                                                                       \
  X(SourceHashes, uint64_t)                                                                        \
  X(Transforms, Transform)                                                                         \
  X(Ports, Port)                                                                                   \
  X(Scalars, Scalar)                                                                               \
  X(ScalarValues, ScalarValue)                                                                     \
  X(Kernels, Kernel)                                                                               \
  X(Programs, Program)                                                                             \
  X(Bodies, Body)                                                                                  \
  X(Commands, Command)                                                                             \
  X(Views, View)                                                                                   \
  X(Launches, Launch)                                                                              \
  X(Gemms, Gemm)                                                                                   \
  X(Convolutions, Convolution)                                                                     \
  X(Attentions, Attention)                                                                         \
  X(Fills, Fill)                                                                                   \
  X(Slices, Slice)                                                                                 \
  X(Collectives, Collective)                                                                       \
  X(Repeats, Repeat)                                                                               \
  X(ScalarUpdates, ScalarUpdate)                                                                   \
  X(Data, uint8_t)

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
    const SectionRecord &r = records[uint32_t(Section::NAME)];                                     \
    return {reinterpret_cast<const TYPE *>(base + r.offset), r.count};                             \
  }
  WEFT_PROGRAM_SECTIONS(WEFT_SECTION)
#undef WEFT_SECTION

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

private:
  const uint8_t *base = nullptr;
  const SectionRecord *records = nullptr;
};

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
typedef struct weft_kernel_entry {
  const char *name;
  weft_kernel_fn function;
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
