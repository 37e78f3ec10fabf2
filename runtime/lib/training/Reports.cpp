// Puts numbers of all processes together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/Reports.h"

#include "base/Convert.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

constexpr size_t kReportSize = sizeof(Report) / sizeof(double);

Status ScalarOutput::find(const ProgramView &p, const char *program, const char *name,
                          bool isNeeded) {
  uint32_t index = 0;
  WEFT_TRY(findProgram(p, program, index));
  for (const Port &entry : p.Ports().slice(p.Programs()[index].outputs))
    if (p.string(entry.name) == name && entry.shape.count == 0)
      port = &entry;
  if (!port && isNeeded)
    return Status::internal(std::string("program '") + program + "' has no scalar output '" + name +
                            "'");
  return {};
}

Status ScalarOutput::read(RankContext &rank, double &holds, double &value) const {
  if (!port || !rank.holds(*port))
    return {};
  alignas(8) char bytes[8];
  WEFT_TRY(rank.device().download(bytes, rank.buffer(*port).offset, dtypeBytes(port->dtype)));
  convertElements(port->dtype, bytes, DType::F64, &value, 1);
  holds = 1;
  return {};
}

Status ScalarOutput::read(weft_session &session, double &holds, double &value) const {
  for (std::unique_ptr<RankContext> &rank : session.ranks)
    if (holds == 0)
      WEFT_TRY(read(*rank, holds, value));
  return {};
}

Reports::Reports(weft_session &session)
    : sent(session), session(session), message(kReportSize + 2 * sent.sent.size()) {}

Status Reports::meet() {
  const double nothing = 0;
  World::Patience patience(session.world);
  return processes.exchange(&nothing, 1);
}

Status Reports::exchange(const Report &mine, Report &all) {
  std::memcpy(message.data(), &mine, sizeof mine);
  for (size_t c = 0; c < sent.sent.size(); ++c) {
    message[kReportSize + 2 * c] = double(sent.sent[c].messages);
    message[kReportSize + 2 * c + 1] = double(sent.sent[c].bytes);
  }
  WEFT_TRY(processes.exchange(message.data(), message.size()));
  for (int64_t i = 0; i < processes.count(); ++i) {
    Report other;
    std::memcpy(&other, processes.of(i), sizeof other);
    const double *counts = processes.of(i) + kReportSize;
    for (Volume &volume : sent.sent) {
      volume.messages = std::max(volume.messages, uint64_t(*counts++));
      volume.bytes = std::max(volume.bytes, uint64_t(*counts++));
    }
    for (size_t j = 0; j < Report::kValues; ++j)
      if (other.has[j] != 0 && all.has[j] == 0) {
        all.has[j] = 1;
        all.value[j] = other.value[j];
      }
    all.stop = std::max(all.stop, other.stop);
    all.seconds = std::max(all.seconds, other.seconds);
    all.communication = std::max(all.communication, other.communication);
    all.memory = std::max(all.memory, other.memory);
    all.counted += other.counted;
    all.collectives += other.collectives;
    all.hidden += other.hidden;
  }
  return {};
}
