// The data behind --explain and --report: collectives, memory and placements, with their reasons.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EXPLAIN_DOCUMENT_H
#define WEFT_EXPLAIN_DOCUMENT_H

#include "weft/Explain/Sent.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::explain {

/// Placements are texts as `[8{dp}, 3*768{tp}], partial = sum{tp}`, or `whole`. Bytes of
/// communication are those that our runtime makes one rank send in one run of the program, of all
/// the rank that sends most; bytes of memory are one rank's.

struct Axis {
  std::string name;
  int64_t size = 1;
  bool temporal = false; // counts microbatches
};

/// Equal ops of one node.
struct Node {
  std::string node, op, type, placement, role;
  int64_t count = 1;
};

struct Collective {
  std::string kind; // all_reduce, ...
  std::vector<std::string> axes;
  std::string node, type, from, to, role;
  /// Who makes the value, over what it sums (or ""), and who needs it as `wanted`.
  std::string maker, summed, reduction, made, wanted;
  bool wantedWhole = false;         // over `axes`
  std::vector<std::string> readers; // the first
  int64_t readerCount = 0;
  int64_t position = 0; // it comes behind so many of the program's nodes
  int64_t times = 1;    // a run: in each microbatch
  Sent sent;            // by member, one time, if it shares no messages
  bool isMove = false;  // from stages that have it to those that lack it
  /// Before it is scheduled: whose ranks run it, if not all.
  std::vector<int64_t> stages;
  double bytes = 0;     // of that by Program::rank, a move's by all members; of all times
  double ringBytes = 0; // of all times, by the model of costs
  double seconds = 0;   // of all times, one after the other, by the model of costs
  std::string hint;     // what would avoid it, or ""
};

struct State {
  std::string name, kind, type, stored, used;
  int64_t elements = 0; // of the whole
  int64_t bytes = 0;
};

/// A command that moves several tensors in the same messages.
struct Bucket {
  std::string kind, firstNode;
  std::vector<std::string> axes;
  int64_t tensors = 0, bytes = 0; // of the whole tensors
};

/// A command that runs a collective, or sends to another stage, as scheduled.
struct Transfer {
  std::string kind, node;
  std::vector<std::string> axes;
  /// Whose ranks run it; without a pipeline, and for what is sent to another stage, all that
  /// `sent` tells of.
  std::optional<int64_t> stage;
  int64_t tensors = 1;
  int64_t command = 0; // its number in the program or routine
  /// Of a routine's: the call's number in the program, and what is written there.
  std::string routine, label;
  std::optional<int64_t> call, microbatch;
  Sent sent; // by member
};

/// What commands of one kind (rt ops) read and write in a run of one rank.
struct MovedBytes {
  std::string kind;
  int64_t commands = 0, read = 0, written = 0;
};

struct Program {
  std::string name;
  int64_t rank = 0;     // that sends most; of several the first
  double bytesSent = 0; // by it
  /// All that is sent in a run, by axes; those that are used first come first, whatever their
  /// names.
  std::vector<std::pair<std::vector<std::string>, Sent>> sentOver;
  std::vector<Node> nodes;
  std::vector<Collective> collectives;
  std::vector<State> states;
  // Of the schedule.
  bool isScheduled = false;
  int64_t commands = 0, movedTensors = 0;
  std::vector<Transfer> transfers;
  std::vector<Bucket> buckets;
  std::vector<MovedBytes> moved; // by kind, those that move most first
  int64_t arena = 0;             // bytes
  /// What the first input has of: `unit` is "token" for an element of integers, else "sample" for
  /// a first dim's index. Of this rank.
  int64_t units = 0;
  std::string unit;

  /// By generated kernels.
  int64_t generatedBytes() const;
  /// By `rank`.
  double bytesSentOver(const std::vector<Axis> &mesh, const std::vector<std::string> &axes) const;
};

struct MemoryItem {
  std::string name, kind;
  int64_t bytes = 0;
};

/// From this command on so many bytes of each class (Memory::classes) are alive.
struct MemoryMoment {
  int64_t command = 0;
  std::vector<int64_t> bytes;
};

struct MemoryTimeline {
  std::string program;
  int64_t commands = 0;
  std::vector<MemoryMoment> moments;
};

struct Memory {
  std::optional<int64_t> stage; // of a pipeline, the one that needs the most
  int64_t arena = 0;
  std::vector<std::string> classes;
  std::vector<int64_t> peaks; // the most of each class that is alive together
  std::string program;        // the fullest one, and the command at which it is
  int64_t command = 0;
  std::vector<MemoryItem> atPeak; // largest first
  std::vector<MemoryTimeline> timelines;
};

/// One stage of a pipeline: what a rank of it holds, and gives to other stages and gets from them.
struct Stage {
  /// In one run of a program.
  struct Flow {
    std::string program;
    runtime::Volume sent, received;
  };
  int64_t states = 0, stateBytes = 0;
  Memory memory;
  std::vector<Flow> flows;
};

/// One chunk of the model of a pipeline; dialects/dist/IR/ChunkRows.h says of what its numbers are.
struct Chunk {
  int64_t stage = 0;
  std::string first, last; // nodes
  int64_t parameters = 0;
  double forward = 0, backward = 0, weight = 0; // seconds
  int64_t bytesIn = 0, inFlight = 0;
  std::vector<std::pair<std::string, int64_t>> memory; // bytes by class, those that have any
};

/// What a planner says of a step of this program, and of other ways to split it.
struct Forecast {
  std::string cluster;
  double seconds = 0; // of the step
  int64_t deviceBytes = 0;
  /// An axis of the mesh with what a device sends over it in the step, if collectives are rings.
  struct Sent {
    std::string axis;
    int64_t size = 1, bytes = 0;
    /// Of the axis of stages: from each one to each other.
    std::vector<std::vector<int64_t>> between;
  };
  std::vector<Sent> sent;
  /// What ranks of a stage do, in seconds from the start of the step.
  struct Action {
    int64_t stage = 0;
    double start = 0, end = 0;
    std::string name;
  };
  std::vector<Action> actions;
  std::string undrawn; ///< why there are none of these
  /// Ways to split the program: `kind` says what is known of each, as "by the account".
  struct Candidate {
    std::string layout, kind;
    double seconds = 0;
    int64_t bytes = 0;
  };
  std::vector<Candidate> candidates;
};

struct Document {
  /// Of the schema (docs/explain.md); raised when a field changes its meaning or goes.
  static constexpr int kVersion = 1;

  std::string model;
  std::vector<Axis> mesh;
  bool sequenceParallel = false;
  std::vector<Program> programs;
  bool hasMemory = false;
  Memory memory;
  std::vector<Chunk> chunks; // of a pipeline that is cut
  std::vector<Stage> stages; // of one that is scheduled
  std::string schedule;      // of its microbatches, and why
  std::vector<std::string> stageAxes;
  std::vector<std::string> notes; // what was decided where nobody said it
  std::optional<Forecast> forecast;

  int64_t ranks() const;
  int64_t parameters() const; // elements of all parameters
  Program &program(llvm::StringRef name);
  /// Adds up what is sent: by the commands of programs that are scheduled, else by collectives as
  /// if none shared messages.
  void addUpSent();
};

/// `tp`, `dp.0,dp.1`.
std::string axesText(const std::vector<std::string> &axes);

/// `768 KiB`, `1.5 GiB`; whole bytes below 1024.
std::string sizeText(double bytes);

/// `2.86 us`, `1.5 s`.
std::string timeText(double seconds);

} // namespace weft::explain

#endif // WEFT_EXPLAIN_DOCUMENT_H
