// Puts communication on its own stream, ordered by events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Lifetimes.h"
#include "passes/rt/Passes.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTASSIGNSTREAMS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft::rt;

namespace {

constexpr unsigned kCompute = 0;

/// Puts the communication of one program on its stream; the list keeps its
/// order. Communication waits for the compute command listed before it. Both
/// streams run in order, so a wait covers everything that the other stream did
/// before the event.
class Scheduler {
public:
  Scheduler(ProgramOp program, const weft::TargetTraits &traits)
      : program(program), builder(program.getContext()),
        communicationStream(traits.streamFor(weft::StreamKind::Communication)),
        bytesUnderWay(traits.bytesUnderWay), numStreams(traits.streams.size()) {}

  void run() {
    std::vector<CommandInterface> commands = commandsOf(program);
    auto communicates = [](CommandInterface command) { return command.isCommunication(); };
    if (communicationStream == kCompute || llvm::none_of(commands, communicates))
      return;
    onlyCommunicates = llvm::all_of(commands, communicates);
    for (CommandInterface command : commands) {
      findDependencies(command);
      if (command.isCommunication())
        for (auto [buffer, writes] : accesses(command))
          users[buffer].push_back({number.lookup(command), writes});
    }
    if (program.isRoutine() && !onlyCommunicates) {
      // The caller goes on behind stream 0.
      awaitsAtEnd = int64_t(communications.size()) - 1 > awaited;
      communications.back().isAwaited |= awaitsAtEnd;
    }
    emit(commands);
    program.setStreams(numStreams);
    program.setEvents(events);
  }

private:
  struct Communication {
    CommandInterface command;
    int64_t slot = -1;      // stands after this compute command; -1 = first
    bool startsAt = false;  // waits for an event recorded at its slot
    bool isAwaited = false; // the compute stream waits for its end
    int64_t bytes = 0;      // of what it reads, states aside
  };

  static int64_t bytesRead(CommandInterface command) {
    int64_t bytes = 0;
    for (Value view : command.getReads())
      if (auto buffer = bufferOfView(view).getDefiningOp<BufferOp>())
        bytes += weft::bytesOf(buffer);
    return bytes;
  }

  /// The last communication that must have ended so that those under way read
  /// no more than a bounded number of bytes; -1: none.
  int64_t lastToEnd() const {
    int64_t bytes = 0;
    for (int64_t i = int64_t(communications.size()) - 1; i > awaited; --i) {
      bytes += communications[i].bytes;
      if (bytes > std::max(bytesUnderWay, 2 * largest))
        return i;
    }
    return -1;
  }

  /// Buffers whose bytes the command touches, and whether it writes them.
  static SmallVector<std::pair<Value, bool>> accesses(CommandInterface command) {
    SmallVector<std::pair<Value, bool>> result;
    for (Value view : command.getReads())
      result.push_back({bufferOfView(view), false});
    for (Value view : command.getWrites())
      result.push_back({bufferOfView(view), true});
    return result;
  }

  void findDependencies(CommandInterface command) {
    int64_t lastCommunication = -1;
    for (auto [buffer, writes] : accesses(command))
      for (auto &[other, otherWrites] : users[buffer])
        if (writes || otherWrites)
          lastCommunication = std::max(lastCommunication, other);
    if (command.isCommunication()) {
      Communication item{command};
      // What a routine communicates starts after what its caller computed before.
      int64_t first = program.isRoutine() && !onlyCommunicates ? -2 : -1;
      int64_t before = communications.empty() ? first : communications.back().slot;
      item.slot = int64_t(compute.size()) - 1;
      item.startsAt = item.slot > before;
      item.bytes = bytesRead(command);
      largest = std::max(largest, item.bytes);
      number[command] = communications.size();
      communications.push_back(item);
      return;
    }
    number[command] = compute.size();
    // What gradients' sums read would otherwise live until someone needs a sum.
    lastCommunication = std::max(lastCommunication, lastToEnd());
    // The compute stream waits once for all communication up to the last.
    awaits.push_back(lastCommunication > awaited ? lastCommunication : -1);
    if (lastCommunication > awaited) {
      communications[lastCommunication].isAwaited = true;
      awaited = lastCommunication;
    }
    compute.push_back(command);
  }

  void emit(ArrayRef<CommandInterface> commands) {
    // Buffers, views and ports need no order: they go first.
    SmallVector<Operation *> others;
    for (Operation &op : program.getBody().front())
      if (!isa<CommandInterface>(op))
        others.push_back(&op);
    for (Operation *op : others)
      op->moveBefore(commands.front());
    Block *body = &program.getBody().front();
    builder.setInsertionPointToEnd(body);
    size_t next = 0;
    auto emitSlot = [&](int64_t slot) {
      for (; next < communications.size() && communications[next].slot == slot; ++next)
        emitCommunication(communications[next]);
    };
    emitSlot(-1);
    for (size_t i = 0; i < compute.size(); ++i) {
      if (awaits[i] >= 0)
        WaitOp::create(builder, compute[i]->getLoc(), endEvent.lookup(awaits[i]), kCompute);
      compute[i]->moveBefore(body, body->end());
      emitSlot(i);
    }
    if (awaitsAtEnd)
      WaitOp::create(builder, communications.back().command->getLoc(),
                     endEvent.lookup(int64_t(communications.size()) - 1), kCompute);
  }

  void emitCommunication(Communication &item) {
    Location loc = item.command->getLoc();
    if (item.startsAt) {
      RecordOp::create(builder, loc, events, kCompute);
      WaitOp::create(builder, loc, events++, communicationStream);
    }
    item.command.setStreamNumber(communicationStream);
    Block &body = program.getBody().front();
    item.command->moveBefore(&body, body.end());
    if (item.isAwaited) {
      endEvent[number.lookup(item.command)] = events;
      RecordOp::create(builder, loc, events++, communicationStream);
    }
  }

  ProgramOp program;
  OpBuilder builder;
  const unsigned communicationStream;
  const int64_t bytesUnderWay, numStreams;
  /// The communications that touch a buffer so far, and whether they write it.
  llvm::DenseMap<Value, SmallVector<std::pair<int64_t, bool>>> users;
  llvm::DenseMap<Operation *, int64_t> number; // within its stream
  std::vector<CommandInterface> compute;
  std::vector<int64_t> awaits; // per compute command: the communication, or -1
  std::vector<Communication> communications;
  llvm::DenseMap<int64_t, int64_t> endEvent;
  int64_t events = 0, awaited = -1;
  bool onlyCommunicates = false; // then stream 0 does nothing
  bool awaitsAtEnd = false; // stream 0 waits for the last communication, behind all it computes
  int64_t largest = 0;      // bytes that one communication reads
};

struct AssignStreams : weft::rt::impl::RtAssignStreamsBase<AssignStreams> {
  void runOnOperation() override {
    const weft::Target *target = weft::targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      Scheduler(program, target->traits()).run();
    // A program has the streams of what it calls.
    for (auto program : getOperation().getOps<ProgramOp>())
      for (auto invoke : program.getOps<InvokeOp>())
        program.setStreams(std::max(program.getStreams(),
                                    symbols.lookup<ProgramOp>(invoke.getRoutine()).getStreams()));
  }
};

} // namespace
