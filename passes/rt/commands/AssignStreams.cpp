// Puts communication and transfers on streams of their own, ordered by events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/memory/Lifetimes.h"
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

/// Puts the communication of one program on its stream, and its transfers on theirs; the list keeps
/// its order. Communication waits for the compute command listed before it, and for what else it
/// uses that another such stream makes. Streams run in order, so a wait covers everything that the
/// other stream did before the event.
class Scheduler {
public:
  Scheduler(ProgramOp program, const weft::TargetTraits &traits)
      : program(program), builder(program.getContext()),
        communicationStream(traits.streamFor(weft::StreamKind::Communication)),
        transferStream(traits.streamFor(weft::StreamKind::Transfer)),
        bytesUnderWay(traits.bytesUnderWay) {}

  void run() {
    std::vector<CommandInterface> commands = commandsOf(program);
    auto leaves = [&](CommandInterface command) { return streamOf(command) != kCompute; };
    if (llvm::none_of(commands, leaves))
      return;
    onlyCommunicates = llvm::all_of(commands, leaves);
    unsigned last = kCompute;
    for (CommandInterface command : commands) {
      last = std::max(last, streamOf(command));
      findDependencies(command);
      if (leaves(command))
        for (auto [buffer, writes] : accesses(command))
          raise(writes ? users[buffer].writing : users[buffer].reading, number.lookup(command));
    }
    if (program.isRoutine() && !onlyCommunicates) {
      // The caller goes on behind stream 0.
      awaitsAtEnd = int64_t(communications.size()) - 1 > known[kCompute][communicationStream];
      communications.back().isAwaited |= awaitsAtEnd;
    }
    emit(commands);
    program.setStreams(last + 1);
    program.setEvents(events);
  }

private:
  struct Communication {
    CommandInterface command;
    unsigned stream;
    int64_t slot;                // stands after this compute command; -1 = first
    bool startsAt;               // waits for an event recorded at its slot
    SmallVector<int64_t> awaits; // and for these, of other streams
    bool isAwaited;              // another stream waits for its end
  };
  /// One that is no transfer, and the bytes that all such before it read, states aside.
  struct Counted {
    int64_t communication, bytesBefore;
  };
  /// Of each stream: the last of its communications, by number, that is known to have ended.
  struct Known : std::array<int64_t, 8> {
    Known() { fill(-1); }
  };
  /// The last communications that touch a buffer so far.
  struct Users {
    Known reading, writing;
  };

  unsigned streamOf(CommandInterface command) const {
    if (!command.isCommunication())
      return kCompute;
    return command.isTransfer() ? transferStream : communicationStream;
  }

  static int64_t bytesRead(CommandInterface command) {
    int64_t bytes = 0;
    for (Value view : command.getReads())
      if (auto buffer = bufferOfView(view).getDefiningOp<BufferOp>())
        bytes += weft::bytesOf(buffer);
    return bytes;
  }

  /// The last communication that must have ended so that those under way read
  /// no more than a bounded number of bytes; -1: none. Transfers do not count: when one ends is
  /// another stage's to say, and to wait for it could be to wait for ever.
  int64_t lastToEnd() const {
    int64_t most = std::max(bytesUnderWay, 2 * largest);
    auto *behind = llvm::partition_point(
        counted, [&](const Counted &one) { return countedBytes - one.bytesBefore > most; });
    if (behind == counted.begin())
      return -1;
    int64_t last = std::prev(behind)->communication;
    return last > known[kCompute][communicationStream] ? last : -1;
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

  /// Of each stream, the last communication that uses the command's bytes as it must not do at the
  /// same time.
  Known dependenciesOf(CommandInterface command) const {
    Known last;
    for (auto [buffer, writes] : accesses(command))
      if (auto found = users.find(buffer); found != users.end()) {
        raise(last, found->second.writing);
        if (writes)
          raise(last, found->second.reading);
      }
    return last;
  }

  static void raise(Known &last, const Known &other) {
    for (auto [mine, its] : llvm::zip_equal(last, other))
      mine = std::max(mine, its);
  }

  void raise(Known &last, int64_t communication) const {
    int64_t &mine = last[communications[communication].stream];
    mine = std::max(mine, communication);
  }

  /// What a command of the stream waits for that is not known to have ended.
  SmallVector<int64_t> await(unsigned stream, const Known &last) {
    SmallVector<int64_t> awaited;
    for (unsigned other = 0; other < last.size(); ++other) {
      if (other == stream || last[other] <= known[stream][other])
        continue;
      awaited.push_back(last[other]);
      communications[last[other]].isAwaited = true;
      known[stream][other] = last[other];
    }
    return awaited;
  }

  void findDependencies(CommandInterface command) {
    Known last = dependenciesOf(command);
    unsigned stream = streamOf(command);
    if (stream != kCompute)
      return addCommunication(command, stream, last);
    number[command] = compute.size();
    // What gradients' sums read would otherwise live until someone needs a sum.
    if (int64_t toEnd = lastToEnd(); toEnd >= 0)
      raise(last, toEnd);
    // The compute stream waits once for all communication up to the last.
    awaits.push_back(await(kCompute, last));
    compute.push_back(command);
  }

  void addCommunication(CommandInterface command, unsigned stream, const Known &last) {
    // What a routine communicates starts after what its caller computed before.
    int64_t first = program.isRoutine() && !onlyCommunicates ? -2 : -1;
    int64_t &before = slots.try_emplace(stream, first).first->second;
    int64_t slot = int64_t(compute.size()) - 1;
    bool startsAt = slot > before;
    before = slot;
    if (startsAt) // what stream 0 waited for up to there has ended
      for (unsigned other = 0; other < known[stream].size(); ++other)
        known[stream][other] = std::max(known[stream][other], known[kCompute][other]);
    number[command] = communications.size();
    if (stream == communicationStream) {
      int64_t bytes = bytesRead(command);
      counted.push_back({int64_t(communications.size()), countedBytes});
      countedBytes += bytes;
      largest = std::max(largest, bytes);
    }
    communications.push_back({command, stream, slot, startsAt, await(stream, last), false});
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
      emitWaits(compute[i]->getLoc(), awaits[i], kCompute);
      compute[i]->moveBefore(body, body->end());
      emitSlot(i);
    }
    if (awaitsAtEnd)
      emitWaits(communications.back().command->getLoc(), int64_t(communications.size()) - 1,
                kCompute);
  }

  void emitWaits(Location loc, ArrayRef<int64_t> communications, unsigned stream) {
    for (int64_t communication : communications)
      WaitOp::create(builder, loc, endEvent.lookup(communication), stream);
  }

  void emitCommunication(Communication &item) {
    Location loc = item.command->getLoc();
    if (item.startsAt) {
      RecordOp::create(builder, loc, events, kCompute);
      WaitOp::create(builder, loc, events++, item.stream);
    }
    emitWaits(loc, item.awaits, item.stream);
    item.command.setStreamNumber(item.stream);
    Block &body = program.getBody().front();
    item.command->moveBefore(&body, body.end());
    if (item.isAwaited) {
      endEvent[number.lookup(item.command)] = events;
      RecordOp::create(builder, loc, events++, item.stream);
    }
  }

  ProgramOp program;
  OpBuilder builder;
  const unsigned communicationStream, transferStream;
  const int64_t bytesUnderWay;
  llvm::DenseMap<Value, Users> users;
  llvm::DenseMap<Operation *, int64_t> number; // of a communication, or of what computes
  std::vector<CommandInterface> compute;
  std::vector<SmallVector<int64_t>> awaits; // per compute command: communications
  std::vector<Communication> communications;
  SmallVector<Counted> counted;
  int64_t countedBytes = 0;
  llvm::DenseMap<unsigned, int64_t> slots; // of each stream's last communication
  std::array<Known, 8> known;              // by stream: what it has waited for
  llvm::DenseMap<int64_t, int64_t> endEvent;
  int64_t events = 0;
  bool onlyCommunicates = false; // then stream 0 does nothing
  bool awaitsAtEnd = false; // stream 0 waits for the last communication, behind all it computes
  int64_t largest = 0;      // bytes that a counted one reads
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
