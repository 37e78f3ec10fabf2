// Writes the collected trace events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/TraceActions.h"
#include "program/Action.h"
#include "program/ProgramText.h"
#include "program/commands/Issued.h"
#include "session/AmongProcesses.h"

#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <cerrno>
#include <chrono>
#include <cstring>

using namespace weft::runtime;

namespace {

/// As JSON has it between quotes, which is UTF-8 whatever names are.
std::string quoted(std::string_view text) {
  std::string result;
  for (char c : shownSafely(text)) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += unsigned(c) < 0x20 ? ' ' : c;
  }
  return result;
}

/// The name of a rank, or of one of its streams.
std::string nameEvent(const char *what, int64_t rank, size_t stream, const std::string &name) {
  return std::string("\n{\"name\":\"") + what + "\",\"ph\":\"M\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(stream) + ",\"args\":{\"name\":\"" + name + "\"}},";
}

/// When the session's clock was at zero, in seconds that processes share: to
/// the microsecond on one machine, as well as their clocks agree on several.
double epochOf(const weft_session &session) {
  std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count() - secondsSince(session.shared.epoch);
}

std::string titleOf(const ProgramView &p, const Command &command) {
  if (command.opcode == Opcode::Launch)
    return std::string(p.string(p.Kernels()[p.record<Launch>(command).kernel].symbol));
  if (command.opcode == Opcode::Collective)
    return collectiveKindName(p.record<Collective>(command).kind) +
           (command.views.count > 2 ? " of " + std::to_string(command.views.count / 2)
                                    : std::string());
  return opcodeName(command.opcode);
}

/// Which command it is: `"node":"/h.5/attn/MatMul","command":3,"call":17,...`.
std::string argumentsOf(const ProgramView &p, const Issued &issued) {
  std::string text = "\"node\":\"" + quoted(issued.node(p)) +
                     "\",\"command\":" + std::to_string(issued.index) +
                     ",\"bytes\":" + std::to_string(bytesOf(p, *issued.command));
  Action action;
  bool isOfAction = parse(issued.action(p), action);
  if (isOfAction)
    text += ",\"action\":\"" + std::string(issued.action(p)) +
            "\",\"microbatch\":" + std::to_string(action.microbatch);
  if (!issued.call)
    return text;
  const Invoke &call = p.record<Invoke>(*issued.call);
  text += ",\"call\":" + std::to_string(issued.callIndex) + ",\"routine\":\"" +
          quoted(p.string(p.Routines()[call.routine].name)) + "\",\"label\":\"" +
          quoted(p.string(call.label)) + "\"";
  return call.microbatch == kNone || isOfAction
             ? text
             : text + ",\"microbatch\":" + std::to_string(call.microbatch);
}

/// Of a collective, what the rank sent: `,"axes":"tp","sent_bytes":8192,"sent_messages":1`.
std::string trafficText(const ProgramView &p, const Command &command, const Volume &sent) {
  if (command.opcode != Opcode::Collective)
    return "";
  const Communicator &group = p.Communicators()[p.record<Collective>(command).communicator];
  return ",\"axes\":\"" + quoted(ProgramText(p).names(group.axes)) +
         "\",\"sent_bytes\":" + std::to_string(sent.bytes) +
         ",\"sent_messages\":" + std::to_string(sent.messages);
}

/// A command of stream `stream` of a rank, with `offset` added to its times.
std::string eventOf(const ProgramView &p, const Issued &issued, int64_t rank, size_t stream,
                    const TraceInterval &interval, double offset) {
  char numbers[256];
  std::snprintf(numbers, sizeof numbers,
                "\"ph\":\"X\",\"pid\":%lld,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,"
                "\"tdur\":%.3f,\"args\":{",
                static_cast<long long>(rank), stream, (interval.begin + offset) * 1e6,
                (interval.end - interval.begin) * 1e6, interval.cpu * 1e6);
  const Command &command = *issued.command;
  return "\n{\"name\":\"" + quoted(titleOf(p, command)) + "\",\"cat\":\"" +
         opcodeName(command.opcode) + "\"," + numbers + argumentsOf(p, issued) +
         trafficText(p, command, interval.sent) + "}},";
}

std::vector<IssuedCommands> issuedBy(const ProgramView &p, const RankContext &rank) {
  std::vector<IssuedCommands> issued; // by program
  for (const Program &program : p.Programs())
    issued.emplace_back(p, p.Bodies()[program.bodies.begin + rank.stage()]);
  return issued;
}

/// A slice in the track of a rank or stage, of the process `pid` of the trace.
std::string eventOf(const ProgramView &p, const ActionSlice &slice, int64_t pid, const char *kind) {
  char numbers[192];
  std::snprintf(numbers, sizeof numbers,
                "\"ph\":\"X\",\"pid\":%lld,\"tid\":%lld,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"run\":%u,",
                static_cast<long long>(pid), static_cast<long long>(slice.rank), slice.begin * 1e6,
                (slice.end - slice.begin) * 1e6, slice.run);
  Action action;
  parse(slice.action, action);
  return "\n{\"name\":\"" + slice.action + "\",\"cat\":\"" + kind + "\"," + numbers +
         "\"program\":\"" + quoted(p.string(p.Programs()[slice.program].name)) +
         "\",\"microbatch\":" + std::to_string(action.microbatch) + "}},";
}

/// Of a pipeline two processes more, behind those of the ranks: its actions as they ran on each
/// rank, and as the schedule has them on each stage. The first process of the job has all slices.
std::string tracksOfActions(const weft_session &session, const std::vector<ActionSlice> &slices) {
  if (slices.empty())
    return "";
  const ProgramView &p = session.view();
  int64_t ran = p.numRanks(), predicted = ran + 1;
  std::string text = nameEvent("process_name", ran, 0, "actions as they ran") +
                     nameEvent("process_name", predicted, 0, "actions as scheduled");
  for (int64_t rank = 0; rank < ran; ++rank)
    text += nameEvent("thread_name", ran, size_t(rank), "rank " + std::to_string(rank));
  for (size_t stage = 0; stage < p.Stages().size(); ++stage)
    text += nameEvent("thread_name", predicted, stage, "stage " + std::to_string(stage));
  for (const ActionSlice &slice : slices)
    text += eventOf(p, slice, ran, "action");
  for (const ActionSlice &slice : predictedSlices(p, slices))
    text += eventOf(p, slice, predicted, "scheduled");
  return text;
}

/// Of this process's ranks, as text.
std::string slicesOf(const weft_session &session, double offset) {
  std::string text;
  for (const std::unique_ptr<RankContext> &rank : session.ranks)
    text += textOf(actionSlices(session.view(), issuedBy(session.view(), *rank), rank->rank(),
                                rank->device().timeline(0).trace, offset));
  return text;
}

/// The events of this process's ranks, each with a comma behind it; `offset` is
/// added to their times.
std::string eventsOf(const weft_session &session, double offset) {
  const ProgramView &p = session.view();
  std::string text;
  for (const std::unique_ptr<RankContext> &rank : session.ranks) {
    std::vector<IssuedCommands> issued = issuedBy(p, *rank);
    text += nameEvent("process_name", rank->rank(), 0, "rank " + std::to_string(rank->rank()));
    for (size_t s = 0; s < rank->numStreams(); ++s) {
      text += nameEvent("thread_name", rank->rank(), s, "stream " + std::to_string(s));
      for (const TraceInterval &interval : rank->device().timeline(unsigned(s)).trace)
        text += eventOf(p, issued[interval.program][interval.command], rank->rank(), s, interval,
                        offset);
    }
  }
  return text;
}

Status writeTrace(weft_session &session, const char *path) {
  double epoch = epochOf(session), first = epoch;
  std::string mine(reinterpret_cast<const char *>(&epoch), sizeof epoch);
  WEFT_TRY(broadcast(session, mine));
  std::memcpy(&first, mine.data(), sizeof first);
  std::vector<std::string> all, actions;
  WEFT_TRY(gatherTexts(session, eventsOf(session, epoch - first), all));
  WEFT_TRY(gatherTexts(session, slicesOf(session, epoch - first), actions));
  if (session.firstRank != 0)
    return {};
  std::vector<ActionSlice> slices;
  for (const std::string &part : actions)
    readSlices(part, slices);
  all.push_back(tracksOfActions(session, slices));
  OutputFile file(path);
  WEFT_TRY(file.open());
  std::string text = "{\"traceEvents\":[";
  for (const std::string &part : all)
    text += part;
  if (text.back() == ',')
    text.pop_back();
  const ProgramView &p = session.view();
  text += "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"" +
          quoted(p.string(p.Programs()[session.program].name)) + "\",\"flags\":\"" +
          quoted(p.string(p.info().options)) + "\"}}\n";
  // What is not written is seen by commit.
  std::fwrite(text.data(), 1, text.size(), file.stream());
  return file.commit();
}

} // namespace

int32_t weft_write_trace(weft_session *session, const char *path, weft_status *status) {
  return report(writeTrace(*session, path), status);
}
