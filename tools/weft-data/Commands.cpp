// The commands of weft-data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/runtime/Nearest.h"
#include "weft/runtime/OutputFile.h"

using namespace weft;
using namespace weft::data;
using runtime::Status;
using runtime::StatusCode;

namespace {

struct Command {
  const char *name, *wants;
  size_t leastFiles, mostFiles;
  bool writes;
  Status (*run)(Request &request);
};

constexpr Command kCommands[] = {
    {"npy", "--shape AxBxC and -o FILE.npy", 0, 0, true,
     [](Request &request) {
       request.npy.output = request.output;
       return request.hasShape ? makeNpy(request.npy)
                               : usage("npy wants --shape AxBxC and -o FILE.npy");
     }},
    {"tokens", "a TEXT and -o FILE", 1, 1, true,
     [](Request &request) {
       request.tokens.input = request.files[0];
       request.tokens.output = request.output;
       return makeTokens(request.tokens);
     }},
    {"show", "a FILE.npy", 1, 1, false, [](Request &request) { return showNpy(request.files[0]); }},
    {"plot", "LOG.jsonl, one or more, and -o FILE.svg", 1, size_t(-1), true,
     [](Request &request) {
       request.plot.logs = request.files;
       request.plot.output = request.output;
       return plot(request.plot);
     }},
    {kIdx, "FILE and -o FILE.npy", 1, 1, true,
     [](Request &request) {
       request.idx.input = request.files[0];
       request.idx.output = request.output;
       return idxToNpy(request.idx);
     }},
};

const Command *find(const std::string &name) {
  for (const Command &command : kCommands)
    if (name == command.name)
      return &command;
  return nullptr;
}

} // namespace

Status weft::data::usage(const std::string &what) {
  return Status(StatusCode::Usage, what + "; --help shows what there is");
}

bool weft::data::isCommand(const std::string &name) { return find(name) != nullptr; }

Status weft::data::runCommand(Request &request) {
  const Command *command = find(request.command);
  if (!command) {
    std::vector<std::string> names;
    for (const Command &known : kCommands)
      names.push_back(known.name);
    return usage(request.command.empty() ? "no command given"
                                         : "there is no command '" + request.command + "'" +
                                               runtime::didYouMean(request.command, names));
  }
  if (request.files.size() < command->leastFiles || (command->writes && request.output.empty()))
    return usage(std::string(command->name) + " wants " + command->wants);
  if (request.files.size() > command->mostFiles)
    return usage("what is '" + request.files[command->mostFiles] + "'?");
  WEFT_TRY(runtime::checkNotRead("-o", request.output, request.files));
  return command->run(request);
}
