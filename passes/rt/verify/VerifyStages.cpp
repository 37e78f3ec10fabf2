// Rejects stages whose programs would not hear of each other, or would wait for each other forever.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/memory/Lifetimes.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace weft::rt {
#define GEN_PASS_DEF_RTVERIFYSTAGES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft::rt;

namespace {

/// The programs of one name, one of each stage. What two or all of them do together is one event;
/// what must come before what is a graph of events.
class StagesVerifier {
public:
  explicit StagesVerifier(ArrayRef<ProgramOp> programs) : programs(programs) {}

  LogicalResult verify() {
    for (auto [stage, program] : llvm::enumerate(programs)) {
      commands.push_back(commandsOf(program));
      for (CommandInterface command : commands.back())
        number(command, int64_t(stage));
    }
    if (failed(joinTransfers()) || failed(joinSums()))
      return failure();
    return verifyOrder();
  }

private:
  void number(CommandInterface command, int64_t stage) {
    event[command] = count++;
    if (auto send = dyn_cast<SendOp>(*command))
      transfers[{stage, int64_t(send.getPeer())}].first.push_back(send);
    else if (auto receive = dyn_cast<RecvOp>(*command))
      transfers[{int64_t(receive.getPeer()), stage}].second.push_back(receive);
    else if (auto sum = dyn_cast<CollectiveOp>(*command); sum && isOverStages(sum))
      sums.try_emplace(sum.getAxesAttr(), programs.size()).first->second[stage].push_back(sum);
  }

  bool isOverStages(CollectiveOp op) {
    auto module = op->getParentOfType<ModuleOp>();
    for (auto mesh : module.getOps<MeshOp>())
      for (Attribute stages : mesh.getStages().value_or(ArrayAttr::get(op.getContext(), {})))
        if (llvm::is_contained(op.getAxes(), stages))
          return true;
    return false;
  }

  static StringRef channelOf(Operation *op) {
    auto send = dyn_cast<SendOp>(op);
    return send ? send.getChannel() : cast<RecvOp>(op).getChannel();
  }
  static MemRefType typeOf(Operation *op) { return cast<MemRefType>(op->getOperand(0).getType()); }

  /// The sends from one stage to another and the receives there, one by one.
  LogicalResult joinTransfers() {
    for (auto &[stages, lists] : transfers) {
      auto &[sends, receives] = lists;
      for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
        if (i >= sends.size() || i >= receives.size())
          return (i < sends.size() ? sends : receives)[i]->emitError()
                 << "has no other end: stage " << stages.first << " sends " << sends.size()
                 << " values to stage " << stages.second << ", which receives " << receives.size();
        Operation *send = sends[i], *receive = receives[i];
        bool fits = channelOf(send) == channelOf(receive) &&
                    typeOf(send).getElementType() == typeOf(receive).getElementType() &&
                    typeOf(send).getNumElements() == typeOf(receive).getNumElements();
        if (!fits) {
          InFlightDiagnostic diagnostic = send->emitError()
                                          << "sends " << typeOf(send) << " on \"" << channelOf(send)
                                          << "\", its other end receives " << typeOf(receive)
                                          << " on \"" << channelOf(receive) << "\"";
          diagnostic.attachNote(receive->getLoc()) << "this is the other end";
          return diagnostic;
        }
        event[receive] = event[send];
      }
    }
    return success();
  }

  static Type elementOf(CollectiveOp op) {
    return cast<MemRefType>(op.getSources().front().getType()).getElementType();
  }

  /// What all stages do over the same axes, one by one.
  LogicalResult joinSums() {
    for (auto &[axes, lists] : sums)
      for (auto &list : lists)
        for (size_t i = 0; i < std::max(list.size(), lists[0].size()); ++i) {
          if (i >= list.size() || i >= lists[0].size())
            return (i < list.size() ? list : lists[0])[i]->emitError()
                   << "is not done by all stages: one does " << list.size()
                   << " collectives over these axes, another " << lists[0].size();
          CollectiveOp first = lists[0][i], other = list[i];
          if (first.getKind() != other.getKind() || first.getReduction() != other.getReduction() ||
              first.getShape() != other.getShape() ||
              first.getAccumulate() != other.getAccumulate() ||
              elementOf(first) != elementOf(other)) {
            InFlightDiagnostic diagnostic = other->emitError()
                                            << "is not what the first stage does at its place";
            diagnostic.attachNote(first.getLoc()) << "which is this";
            return diagnostic;
          }
          event[other] = event[first];
        }
    return success();
  }

  void follow(Operation *before, Operation *after) {
    followers[event[before]].push_back(event[after]);
    ++waits[event[after]];
  }

  LogicalResult verifyOrder() {
    followers.resize(count);
    waits.resize(count);
    for (std::vector<CommandInterface> &list : commands) {
      std::map<unsigned, Operation *> last; // by stream
      llvm::DenseMap<unsigned, Operation *> records;
      for (CommandInterface command : list) {
        if (Operation *before = std::exchange(last[command.getStreamNumber()], command))
          follow(before, command);
        if (auto record = dyn_cast<RecordOp>(*command))
          records[record.getEvent()] = record;
        else if (auto wait = dyn_cast<WaitOp>(*command))
          if (Operation *record = records.lookup(wait.getEvent()))
            follow(record, wait);
      }
    }
    std::vector<int64_t> ready;
    llvm::DenseSet<int64_t> done;
    for (int64_t i = 0; i < count; ++i)
      if (waits[i] == 0)
        ready.push_back(i);
    while (!ready.empty()) {
      int64_t now = ready.back();
      ready.pop_back();
      done.insert(now);
      for (int64_t next : followers[now])
        if (--waits[next] == 0)
          ready.push_back(next);
    }
    return tellStopped(done);
  }

  /// Of each stage the first exchange that never takes place.
  LogicalResult tellStopped(const llvm::DenseSet<int64_t> &done) {
    bool stops = false;
    for (auto [stage, list] : llvm::enumerate(commands)) {
      auto found = llvm::find_if(list, [&](CommandInterface command) {
        return command.isCommunication() && !done.contains(event[command]);
      });
      if (found == list.end())
        continue;
      stops = true;
      (*found)->emitError() << "waits forever in stage " << stage
                            << ": stages wait for each other in a circle";
    }
    return failure(stops);
  }

  ArrayRef<ProgramOp> programs;
  std::vector<std::vector<CommandInterface>> commands; // by stage
  llvm::DenseMap<Operation *, int64_t> event;
  int64_t count = 0;
  /// From a stage to a stage.
  std::map<std::pair<int64_t, int64_t>,
           std::pair<SmallVector<Operation *>, SmallVector<Operation *>>>
      transfers;
  llvm::MapVector<Attribute, std::vector<SmallVector<CollectiveOp>>> sums; // by axes and stage
  std::vector<SmallVector<int64_t, 2>> followers;
  std::vector<int64_t> waits;
};

struct VerifyStages : weft::rt::impl::RtVerifyStagesBase<VerifyStages> {
  void runOnOperation() override {
    auto stages = llvm::to_vector(getOperation().getOps<ModuleOp>());
    llvm::MapVector<StringRef, std::vector<ProgramOp>> programs;
    for (ModuleOp stage : stages)
      for (auto program : stage.getOps<ProgramOp>())
        if (!program.isRoutine())
          programs[program.getSymName()].push_back(program);
    bool valid = true;
    for (auto &[name, list] : programs) {
      if (list.size() != stages.size()) {
        list.front().emitError() << "is a program of " << list.size() << " of " << stages.size()
                                 << " stages; all have the same programs";
        valid = false;
        continue;
      }
      valid &= succeeded(StagesVerifier(list).verify());
    }
    markAllAnalysesPreserved();
    if (!valid)
      signalPassFailure();
  }
};

} // namespace
