// Reads how long commands shall take, and spreads it over them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Pretend.h"

#include "files/MappedFile.h"
#include "program/Action.h"
#include "program/commands/Issued.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

using namespace weft::runtime;

namespace {

/// The words of a line, without its comment.
std::vector<std::string> wordsOf(const std::string &line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

bool isNumber(const std::string &text, double &value) {
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && std::isfinite(value) && value >= 0;
}

/// What a file of costs may say beside seconds.
bool isOfNoConcern(const std::string &name) {
  return name == "comm" || name == "FB" || name == "FW" || name == "BW" || name == "limit";
}

} // namespace

Status PretendedCosts::read(const std::string &path, PretendedCosts &costs) {
  constexpr size_t kMostBytes = 1 << 20;
  costs.path = path;
  MappedFile mapped;
  WEFT_TRY(MappedFile::open(path, mapped));
  if (mapped.size() > kMostBytes)
    return Status::user("'" + path + "' has " + std::to_string(mapped.size()) +
                        " bytes, more than costs may have (" + std::to_string(kMostBytes) + ")");
  std::istringstream file(std::string(mapped.data(), mapped.size()));
  std::string line;
  int number = 0;
  bool hasHeader = false;
  auto wrong = [&](const std::string &what) {
    return Status::user("'" + path + "', line " + std::to_string(number) + ": " + what);
  };
  while (std::getline(file, line)) {
    ++number;
    std::vector<std::string> words = wordsOf(line);
    if (words.empty())
      continue;
    if (!hasHeader) {
      hasHeader = words == std::vector<std::string>{"weft", "costs", "1"};
      if (!hasHeader)
        return wrong("expected 'weft costs 1'");
      continue;
    }
    double value = 0;
    bool isAll = words[0] == "all";
    if (!isAll && ((words[0] != "chunk" && words[0] != "rank") || words.size() < 2 ||
                   !isNumber(words[1], value) || value != std::floor(value) || value > 1e6))
      return wrong("expected 'all', 'chunk N' or 'rank N', found '" + words[0] + "'");
    Chunk ignored;
    Chunk &chunk = isAll ? costs.all : words[0] == "rank" ? ignored : costs.chunks[uint32_t(value)];
    for (size_t i = isAll ? 1 : 2; i < words.size(); ++i) {
      size_t at = words[i].find('=');
      std::string name = words[i].substr(0, at);
      bool isTime = name == "F" || name == "B" || name == "W";
      if (at == std::string::npos || !isNumber(words[i].substr(at + 1), value) ||
          (!isTime && !isOfNoConcern(name)))
        return wrong("expected seconds such as F=0.02 (F, B or W), found '" + words[i] + "'");
      if (isTime)
        chunk.seconds[name[0]] = value;
    }
  }
  return hasHeader ? Status() : wrong("expected 'weft costs 1'");
}

const double *PretendedCosts::find(char kind, uint32_t chunk) const {
  auto own = chunks.find(chunk);
  if (own != chunks.end())
    if (auto found = own->second.seconds.find(kind); found != own->second.seconds.end())
      return &found->second;
  auto found = all.seconds.find(kind);
  return found == all.seconds.end() ? nullptr : &found->second;
}

Status PretendedCosts::spread(const ProgramView &p, unsigned stage,
                              PretendedSeconds &seconds) const {
  seconds.clear();
  bool hasActions = false;
  for (const Program &program : p.Programs()) {
    IssuedCommands issued(p, p.Bodies()[program.bodies.begin + stage]);
    std::vector<double> &own = seconds.emplace_back(issued.size());
    std::map<std::string_view, std::vector<uint64_t>> commands; // by action
    for (uint64_t i = 0; i < issued.size(); ++i) {
      Issued one = issued[i];
      Opcode opcode = one.command->opcode;
      bool computes = opcode != Opcode::Collective && opcode != Opcode::EventRecord &&
                      opcode != Opcode::EventWait;
      if (computes && one.command->stream == 0 && !one.action(p).empty())
        commands[one.action(p)].push_back(i);
    }
    for (const auto &[name, numbers] : commands) {
      Action action;
      parse(name, action);
      double sum = 0;
      for (char kind : action.kind == 'D' ? std::string("BW") : std::string(1, action.kind)) {
        const double *found = find(kind, action.chunk);
        if (!found)
          return Status::user("'" + path + "' does not say " + kind + " of chunk " +
                              std::to_string(action.chunk) + "; add 'chunk " +
                              std::to_string(action.chunk) + " " + kind + "=SECONDS'");
        sum += *found;
      }
      double bytes = 0;
      for (uint64_t number : numbers)
        bytes += double(bytesOf(p, *issued[number].command));
      for (uint64_t number : numbers)
        own[number] = bytes > 0 ? sum * double(bytesOf(p, *issued[number].command)) / bytes
                                : sum / double(numbers.size());
      hasActions = true;
    }
  }
  return hasActions ? Status()
                    : Status::user("stage " + std::to_string(stage) +
                                   " has no actions that could take as long as '" + path +
                                   "' says; --pretend is for pipelines: compile with --mesh pp=2 "
                                   "--microbatches 4, say");
}
