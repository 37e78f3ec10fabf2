// Whether what a run writes would take the place of what it reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Application.h"

#include "files/DataFile.h"
#include "files/FileCache.h"
#include "weft/runtime/OutputFile.h"

#include <set>

using namespace weft::runtime;

namespace {

using Paths = std::set<std::string>;

Paths filesRead(const CommandLine &options, const ProgramView &p) {
  Paths read;
  std::string weights = modelDirectory(options, p);
  for (const StatePiece &piece : p.StatePieces())
    if (piece.kind == SourceKind::File)
      read.insert(FileCache::join(weights, std::string(p.string(piece.path))));
  const TrainingOptions &training = options.training;
  for (const CommandLine::Files *files :
       {&options.inputs, &options.expected, &training.data, &training.evalData})
    for (const auto &[name, path] : *files)
      read.insert(path);
  for (const std::string &spec : {training.dataTokens, training.evalDataTokens})
    if (!spec.empty())
      read.insert(DataFile::tokenFile(spec).path);
  if (!options.pretend.empty())
    read.insert(options.pretend);
  return read;
}

} // namespace

Status weft::runtime::checkOutput(const char *flag, const std::string &path,
                                  const CommandLine &options, const ProgramView &program) {
  if (isSameFile(path, "/proc/self/exe"))
    return Status::user(std::string(flag) + " '" + path +
                        "' is the program itself; name another file");
  Paths read = filesRead(options, program);
  return checkNotRead(flag, path, {read.begin(), read.end()});
}
