// The commands of a program: one table, and a record of parameters for each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of WEFT_COMMANDS makes a command: its opcode, name and section, what the
// builder adds, the number of views that is checked, what a dump prints. Whoever
// must know more of a command has a function for its record, without which the
// build fails: what it must hold and how it reads as text (lib/program/*Commands.cpp),
// and how a device does it (makeHostCommand).
#ifndef WEFT_RUNTIME_COMMANDS_H
#define WEFT_RUNTIME_COMMANDS_H

#include "weft/runtime/Types.h"

#include <string_view>

namespace weft::runtime {

/// X(record and opcode, name, views): the views by their roles and in order, `>` before one
/// that is written, `?` before one that may lack. `*`: as many as the record tells, which
/// also tells the written ones. New rows go to the end.
#define WEFT_COMMANDS(X)                                                                           \
  X(Launch, "launch", "*")                                                                         \
  X(Gemm, "gemm", "lhs rhs >result ?addend ?second_addend")                                        \
  X(Convolution, "convolution", "input weight >output")                                            \
  X(Attention, "attention", "query key value >output ?mask")                                       \
  X(Copy, "copy", "source >destination")                                                           \
  X(Slice, "slice", "source >destination")                                                         \
  X(Collective, "collective", "*")                                                                 \
  X(EventRecord, "event_record", "")                                                               \
  X(EventWait, "event_wait", "")                                                                   \
  X(AttentionGradient, "attention_gradient",                                                       \
    "query key value output output_gradient >query_gradient >key_gradient >value_gradient ?mask")  \
  X(Invoke, "invoke", "*")                                                                         \
  X(ScatterAdd, "scatter_add", "indices updates >result ?operand")                                 \
  X(AttentionWithSums, "attention_with_sums", "query key value >output >log_sums")                 \
  X(AttentionWithSumsGradient, "attention_with_sums_gradient",                                     \
    "query key value output output_gradient log_sums >query_gradient >key_gradient "               \
    ">value_gradient")

enum class Opcode : uint8_t {
#define WEFT_OPCODE(RECORD, NAME, VIEWS) RECORD,
  WEFT_COMMANDS(WEFT_OPCODE)
#undef WEFT_OPCODE
};

/// A row of the table.
struct CommandRow {
  const char *name, *views;
};
constexpr CommandRow kCommandTable[] = {
#define WEFT_ROW(RECORD, NAME, VIEWS) {NAME, VIEWS},
    WEFT_COMMANDS(WEFT_ROW)
#undef WEFT_ROW
};
constexpr unsigned kNumOpcodes = sizeof kCommandTable / sizeof kCommandTable[0];

const char *opcodeName(Opcode value);
/// The opcode of that name; kNumOpcodes if there is none.
unsigned opcodeNamed(std::string_view name);

/// What a row says of its views.
struct ViewRoles {
  unsigned least = 0, most = 0;
  uint32_t written = 0; // a bit each
  bool isList = false;  // `*`
};
ViewRoles viewRoles(Opcode value);

/// addend + scale * base, where the base is 0 (Constant) or this rank's row-major coordinate
/// along `axes` (Coordinate).
enum class ValueBase : uint8_t { Constant, Coordinate };
struct ScalarValue {
  ValueBase base;
  uint8_t reserved[7];
  Range axes; // AxisIds, for ValueBase::Coordinate
  int64_t scale;
  int64_t addend;
};

/// A strided window of a buffer, in elements of `dtype`, which may reinterpret the buffer.
/// Strides may be 0 (broadcast, sources only) or negative.
struct View {
  Id buffer; // Buffers
  DType dtype;
  uint8_t reserved[3];
  int64_t byteOffset; // of the first element from the buffer's start, a multiple of dtype's bytes
  Range sizes;        // Ints
  Range strides;      // Ints, as many
};

/// Streams run at the same time, each in list order. Stream 0 is the rank's
/// own thread, others get a thread each; by custom stream 1 communicates.
/// EventWait waits for the latest EventRecord of that event before it in
/// program order, on whatever stream. An event is recorded on one stream. All streams join when
/// a program ends.
struct Command {
  Opcode opcode;
  uint8_t reserved;
  uint16_t stream;
  StringId node;   // the model's node, for messages and traces
  StringId action; // of a pipeline's schedule that it is part of, as "F0.3" (Action.h); "": of none
  uint32_t params; // in the section of the opcode's records
  Range views;     // Views
};

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Of a command about which its views say all.
struct NoParameters {
  uint32_t reserved;
};

/// kernel(begin, end, pointers, scalars) over pieces of [0, extent). The views are the
/// kernel's pointers; the first `reads` of them are not written.
struct Launch {
  Id kernel; // Kernels
  uint32_t reads;
  int64_t extent; // parallel iterations; 1 = not parallel
  int64_t grain;  // least iterations worth a thread, >= 1
  Range scalars;  // ScalarValues
};

/// result[b.., m, n] = sum_k lhs[b.., m, k] * rhs[b.., k, n]. 0 to 4 batch dimensions; all
/// views have tensor rank batch+2; what is read may have stride 0. Dtypes of lhs, rhs: equal;
/// f64 f32 bf16 f16 or integer (integers wrap in `accumulator`, the result has that type).
/// Result: the dtype of lhs, or f32 for bf16 and f16. Addends have the
/// result's dtype, one of floats, and one may be the result: one after the other they are added
/// to the sum, in the accumulator's dtype, when it was rounded to the result's.
struct Gemm {
  DType accumulator; // F64, F32, I32 or I64
  uint8_t reserved[3];
};
constexpr uint32_t kGemmAddend = 3; // the number of its first view

/// output[n, m, o] = sum over c and t of weight[m, c, t] *
/// x[n, c, o * stride + t * dilation - pad], where x is the input with
/// inputDilation - 1 zeros between its elements, and zero outside. Input [n,
/// c, s..], output [n, m, o..], weight [m, c/groups, t..]; any
/// strides. Along a dimension either stride or inputDilation is 1.
struct Convolution {
  uint32_t groups;
  Range strides; // Ints, one per spatial dimension
  Range dilations;
  Range inputDilations;
  Range padsBegin; // the end pads follow from the output's extents
};

/// output = softmax(scale * q k^T [softcap] + mask) v, per batch and head.
/// query [b, h, s, d], key [b, g, t, d], value [b, g, t, e], output [b, h, s, e]; h a
/// multiple of g. mask [b, h, s, t] is additive in the query's dtype or f32, or Bool
/// (true = attend); strides may be 0. Causal: query i sees keys j <= i + t -
/// s. softcap c > 0: x -> c * tanh(x / c) before the mask. A row that sees nothing is zero.
struct Attention {
  double scale;
  double softcap; // 0 = none
  uint8_t causal;
  uint8_t reserved[7];
};

/// The gradients of that. The probabilities are computed again.
struct AttentionGradient : Attention {};

/// Attention without a mask, which also writes the logarithm of the sum of exp(score) of each row,
/// [b, h, s] without gaps, f64 if the query is, else f32; and its gradient, which may make the
/// probabilities of them.
struct AttentionWithSums : Attention {};
struct AttentionWithSumsGradient : Attention {};

/// destination = source, of the same sizes and dtype.
struct Copy : NoParameters {};

/// result = the operand, or zeros where it lacks; then, over i.. in row-major order,
/// result[indices[i.., 0], w..] += updates[i.., w..], each sum rounded to the result's dtype. What
/// is outside of the rows is dropped. The operand may be the result. Rows are contiguous.
struct ScatterAdd : NoParameters {};

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

/// The first four in the order of dialect rt.
enum class CollectiveKind : uint8_t {
  AllGather,     // source [outer, shard, inner] -> destination [outer, extent, inner]
  AllReduce,     // source [outer, extent, inner] -> the same shape; may be in place
  ReduceScatter, // source [outer, extent, inner] -> destination [outer, shard, inner]
  AllToAll,      // see Collective
  Send,          // source [outer, extent, inner] -> member `peer`
  Recv           // member `peer` -> destination [outer, extent, inner]
};
constexpr unsigned kNumCollectiveKinds = 6;
const char *collectiveKindName(CollectiveKind value);
enum class Reduction : uint8_t { Sum, Product, Max, Min, And, Or };
constexpr unsigned kNumReductions = 6;

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
///
/// A bucket moves several tensors: source destination source destination ..., the first one's
/// record at the command's params, the others' behind it. Those of a bucket (AllGather,
/// AllReduce or ReduceScatter) have one kind, communicator, dtype, reduction, accumulator, order;
/// they go in the same messages.
struct Collective {
  CollectiveKind kind;
  Reduction reduction;
  DType dtype; // of the elements moved (wire)
  DType accumulator;
  Id communicator;       // Communicators
  int64_t peer;          // Send, Recv: member index
  uint32_t peerRelative; // Send, Recv: peer is (me + peer) mod n
  uint8_t gatherFirst;   // AllToAll
  uint8_t inOrder;       // AllReduce, ReduceScatter: floats are added in the order of members
  uint8_t reserved[2];
  StringId channel; // Send, Recv: the same at both ends, for checks and messages
  uint32_t reserved2;
  int64_t outer, extent, inner;
  int64_t middle, otherExtent; // AllToAll only, else 1
  uint64_t padBits;
};

struct EventRecord {
  uint32_t event;
};
struct EventWait {
  uint32_t event;
};

/// A call: stands for the routine's commands, each on the stream that it names. The views are
/// the routine's blocks in order. A block begins at its view's first element, and all its bytes
/// lie in the view's buffer; what else the view says is for readers. A block that is written
/// shares no byte with another one of the call, but for one operand that lies in exactly the
/// same bytes: then the result takes its place.
///
/// A block may be unset: a sum to which nothing was added yet, of which no byte was written. The
/// routine does nothing with it before a product adds to it in place, reads nothing else of it, and
/// that product then is written as it is.
///
/// To the caller it is one command of the call's stream: what the routine has on other streams
/// begins after a record on the call's stream within the routine, and the call's stream waits
/// for all of it before the routine ends.
struct Invoke {
  Id routine;          // Routines
  StringId label;      // what `{}` in names of the routine's nodes stands for, as "h.5"
  uint32_t microbatch; // for messages and traces; kNone = none
  Range unset;         // Ints: numbers of blocks, each of them written
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMMANDS_H
