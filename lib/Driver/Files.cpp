// What weft-compile reads and writes, known before it does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"

#include "weft/Support/OutputFile.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

bool driver::makesExecutable(const Options &options) {
  return options.until == Phase::Executable && !options.dryRun;
}

std::vector<std::string> driver::inputFiles(const Options &options) {
  std::vector<std::string> files{options.model};
  for (const std::string &file :
       {options.clusterFile, options.planFile, options.scheduleFile, options.stageCostsFile})
    if (!file.empty())
      files.push_back(file);
  for (const auto &[input, file] : options.compile.phases.bindings.files)
    files.push_back(file);
  return files;
}

static Outputs outputsOf(const Options &options) {
  Outputs outputs;
  bool printsText = options.until != Phase::Executable && options.isGiven("-o");
  if (makesExecutable(options) || (printsText && !options.dryRun))
    outputs.push_back({"-o", options.output});
  if (makesExecutable(options) && options.copyWeights)
    outputs.push_back({"--copy-weights", options.output + ".weights"});
  if (!options.writeDevices.empty())
    outputs.push_back({"--write-devices", options.writeDevices});
  if (!options.report.empty())
    outputs.push_back({"--report", options.report});
  if (!options.dumpSchedule.empty())
    outputs.push_back({"--dump-schedule", options.dumpSchedule});
  if (!options.plotSchedule.empty())
    outputs.push_back({"--plot-schedule", options.plotSchedule});
  return outputs;
}

/// What the system would say of the file is less than what is known of its folder.
static llvm::Error checkFolder(StringRef flag, StringRef output) {
  std::string name = (flag + " '" + output + "'").str();
  if (llvm::sys::fs::is_directory(output))
    return llvm::createStringError(name + " is a folder; name a file in it");
  StringRef folder = llvm::sys::path::parent_path(output);
  if (llvm::sys::fs::exists(output) || folder.empty() ||
      !llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write))
    return llvm::Error::success();
  return llvm::createStringError(
      name + " cannot be written: folder '" + folder +
      (llvm::sys::fs::exists(folder) ? "' is not writable" : "' does not exist"));
}

llvm::Error driver::checkOutputs(const Options &options, ArrayRef<std::string> inputs,
                                 const Outputs &more) {
  Outputs outputs = outputsOf(options);
  llvm::append_range(outputs, more);
  llvm::StringMap<StringRef> flags; // by file
  for (const auto &[flag, output] : outputs) {
    SmallString<128> name(output);
    llvm::sys::path::remove_dots(name, /*remove_dot_dot=*/true);
    if (auto [other, isNew] = flags.try_emplace(name, flag); !isNew)
      return llvm::createStringError(other->second + " and " + flag + " both name '" + output +
                                     "'; give each a file of its own");
    for (const std::string &input : inputs)
      if (llvm::sys::fs::equivalent(output, input))
        return llvm::createStringError(
            flag + " '" + output + "' is " +
            (input == options.model ? "the model itself" : "'" + input + "', which is read") +
            "; name another file");
    if (output != "-")
      if (llvm::Error wrong = checkFolder(flag, output))
        return wrong;
    if (llvm::Error wrong = checkOutput(output))
      return wrong;
  }
  return llvm::Error::success();
}

std::string driver::dumpPath(StringRef folder, Phase phase) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, std::to_string(unsigned(phase)) + "-" + phaseName(phase) + ".mlir");
  return path.str().str();
}

llvm::Error driver::checkDumps(const Options &options, Phase from, ArrayRef<std::string> inputs) {
  for (unsigned i = unsigned(from) + 1;
       !options.dumpDirectory.empty() && i < unsigned(Phase::Executable); ++i) {
    std::string dump = dumpPath(options.dumpDirectory, Phase(i));
    for (const std::string &input : inputs)
      if (llvm::sys::fs::equivalent(dump, input))
        return llvm::createStringError("--dump-phases '" + options.dumpDirectory +
                                       "' would take the place of '" + input +
                                       "', which is read; name another folder");
  }
  return llvm::Error::success();
}
