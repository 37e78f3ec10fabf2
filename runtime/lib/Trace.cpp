// Writes the collected trace events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Session.h"

#include <cerrno>
#include <cstring>

using namespace weft::runtime;

int32_t weft_write_trace(const weft_session *session, const char *path,
                         weft_status *status) {
  const ProgramView &p = session->view();
  std::FILE *file = std::fopen(path, "w");
  if (!file)
    return report(Status::user(std::string("'") + path +
                               "' cannot be written: " + std::strerror(errno)),
                  status);
  auto quoted = [](std::string_view text) {
    std::string result;
    for (char c : text) {
      if (c == '"' || c == '\\')
        result += '\\';
      result += unsigned(c) < 0x20 ? ' ' : c;
    }
    return result;
  };
  // What a command reads and writes, for its share of the memory's bandwidth.
  auto bytesOf = [&](const Command &command) {
    uint64_t bytes = 0;
    for (const View &view : p.Views().slice(command.views)) {
      uint64_t size = dtypeBytes(view.dtype);
      for (size_t d = 0; d < p.ints(view.sizes).size(); ++d)
        size *= p.ints(view.strides)[d] ? p.ints(view.sizes)[d] : 1;
      bytes += size;
    }
    return bytes;
  };
  std::fprintf(file, "{\"traceEvents\":[");
  const char *separator = "\n";
  for (const std::unique_ptr<RankContext> &rank : session->ranks) {
    const auto &streams = rank->streamContexts();
    for (size_t s = 0; s < streams.size(); ++s)
      for (const TraceEvent &event : streams[s].trace) {
        const Program &program = p.Programs()[event.program];
        const Body &body = p.Bodies()[program.bodies.begin + rank->stage()];
        const Command &command =
            p.Commands()[body.commands.begin + event.command];
        std::string name = opcodeName(command.opcode);
        if (command.opcode == Opcode::Launch)
          name = std::string(p.string(
              p.Kernels()[p.Launches()[command.params].kernel].symbol));
        else if (command.opcode == Opcode::Collective)
          name = collectiveKindName(p.Collectives()[command.params].kind) +
                 (command.views.count > 2
                      ? " of " + std::to_string(command.views.count / 2)
                      : std::string());
        std::fprintf(
            file,
            "%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%lld,"
            "\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"tdur\":%.3f,\"args\":{"
            "\"node\":\"%s\","
            "\"command\":%u,\"bytes\":%llu}}",
            separator, quoted(name).c_str(), opcodeName(command.opcode),
            static_cast<long long>(rank->rank()), s, event.begin * 1e6,
            (event.end - event.begin) * 1e6, event.cpu * 1e6,
            quoted(p.string(command.node)).c_str(), event.command,
            static_cast<unsigned long long>(bytesOf(command)));
        separator = ",\n";
      }
  }
  std::fprintf(file, "\n],\"displayTimeUnit\":\"ms\"}\n");
  bool good = std::fclose(file) == 0;
  return report(
      good ? Status()
           : Status::user(std::string("'") + path + "' cannot be written"),
      status);
}
