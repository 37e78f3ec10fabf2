// Compares what ranks have counted at two times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/SentMeter.h"

#include "program/ProgramText.h"

using namespace weft::runtime;

SentMeter::SentMeter(const weft_session &session) : session(session) {
  ProgramText text(session.view());
  for (const Communicator &communicator : session.view().Communicators())
    names.push_back(text.names(communicator.axes));
  sent.resize(names.size());
  room.resize(names.size());
  before.resize(names.size() * session.ranks.size());
  start();
}

void SentMeter::start() {
  for (size_t r = 0; r < session.ranks.size(); ++r)
    start(r);
}

void SentMeter::stop() {
  clear();
  for (size_t r = 0; r < session.ranks.size(); ++r) {
    stop(r, room);
    add(room);
  }
}

void SentMeter::start(size_t rank) {
  for (size_t c = 0; c < names.size(); ++c)
    before[rank * names.size() + c] = session.ranks[rank]->trafficOver(Id(c)).sent;
}

void SentMeter::stop(size_t rank, std::vector<Volume> &own) const {
  for (size_t c = 0; c < names.size(); ++c)
    own[c] = session.ranks[rank]->trafficOver(Id(c)).sent - before[rank * names.size() + c];
}

void SentMeter::add(const std::vector<Volume> &own) {
  for (size_t c = 0; c < names.size(); ++c)
    if (own[c].bytes > sent[c].bytes)
      sent[c] = own[c];
}

Status SentMeter::reduce(weft_session &all) {
  for (Volume &volume : sent)
    for (uint64_t *count : {&volume.messages, &volume.bytes}) {
      double most = 0;
      WEFT_TRY(reduceMax(all, double(*count), most));
      *count = uint64_t(most);
    }
  return {};
}

std::string SentMeter::text(uint64_t runs) const {
  std::string text;
  for (size_t c = 0; c < names.size(); ++c) {
    if (sent[c].bytes == 0)
      continue;
    bool first = text.empty();
    text += (first ? "" : ", ") + std::to_string(sent[c].bytes / runs) +
            (first ? " bytes in " : " in ") + std::to_string(sent[c].messages / runs) +
            (first ? " messages over " : " over ") + names[c];
  }
  return text;
}

void SentMeter::printJson(std::FILE *file, uint64_t runs) const {
  auto member = [&](const char *name, uint64_t Volume::*count) {
    std::fprintf(file, "\"%s\":{", name);
    const char *separator = "";
    for (size_t c = 0; c < names.size(); ++c)
      if (sent[c].bytes != 0) {
        std::fprintf(file, "%s\"%s\":%llu", separator, names[c].c_str(),
                     static_cast<unsigned long long>(sent[c].*count / runs));
        separator = ",";
      }
    std::fputc('}', file);
  };
  member("sent_bytes", &Volume::bytes);
  std::fputc(',', file);
  member("sent_messages", &Volume::messages);
}
