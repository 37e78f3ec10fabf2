// Compiling on from the text of a phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Resume.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/NodeStages.h"
#include "weft/Compiler/Phases.h"
#include "weft/Cost/CostModel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

bool isOfTheProgram(llvm::StringRef flag) { return !flagActs().of(flag).ofTheRun; }

using FlagList = std::vector<GivenFlag>;

SmallVector<llvm::StringRef> valuesOf(const FlagList &flags, llvm::StringRef flag) {
  SmallVector<llvm::StringRef> values;
  for (const GivenFlag &entry : flags)
    if (entry.flag == flag)
      values.push_back(entry.value);
  return values;
}

std::string textOf(const GivenFlag &entry) {
  return entry.isSwitch ? entry.flag
                        : entry.flag + (llvm::StringRef(entry.flag).starts_with("--") ? "=" : " ") +
                              entry.value;
}

std::string absolute(const std::string &file) {
  SmallString<256> path(file);
  if (llvm::sys::fs::make_absolute(path)) // there is no working directory
    return file;
  llvm::sys::path::remove_dots(path);
  return path.str().str();
}

GivenFlag withFiles(GivenFlag entry, ChangeFile change) {
  if (ChangeFiles changeFiles = flagActs().of(entry.flag).changeFiles)
    entry.value = changeFiles(entry.value, change);
  return entry;
}

/// The flags that a program's text lists; nothing if it lists none.
std::optional<FlagList> recordedFlags(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>(kFlagsAttr);
  if (!list)
    return std::nullopt;
  FlagList flags;
  for (Attribute attribute : list)
    if (auto text = dyn_cast<StringAttr>(attribute)) {
      size_t end = text.getValue().find_first_of(text.getValue().starts_with("--") ? '=' : ' ');
      // A text says nothing of this run: not what is started, read or written.
      if (!isOfTheProgram(text.getValue().take_front(end)))
        continue;
      bool isSwitch = end == StringRef::npos;
      flags.push_back({text.getValue().take_front(end).str(),
                       isSwitch ? std::string() : text.getValue().drop_front(end + 1).str(),
                       isSwitch});
    }
  return flags;
}

/// As its row says, unless this program has been asked earlier.
Acts actsIn(llvm::StringRef flag, ModuleOp module, const FlagList &recorded) {
  Acts acts = flagActs().of(flag);
  // Device configurations were read for a mesh, statistics were made of microbatches.
  bool isRead = (flag == "--mesh" &&
                 (module->hasAttr(dist::kDevicesAttr) || module->hasAttr(dist::kNodeStagesAttr))) ||
                (flag == "--microbatches" &&
                 llvm::is_contained(valuesOf(recorded, "--batch-stats"), kPerMicrobatch));
  if (isRead)
    acts.presence = acts.value = Phase::Graph;
  return acts;
}

/// Why `flag` comes too late for a program at `at`; empty if it does not.
std::string whyTooLate(llvm::StringRef flag, ModuleOp module, Phase at, const Options &given,
                       const std::optional<FlagList> &recorded) {
  Acts acts = actsIn(flag, module, recorded.value_or(FlagList()));
  std::string where = ("'" + given.model + "' is at phase '" + phaseName(at) + "'").str();
  if (!recorded)
    return acts.last > at ? ""
                          : (flag + " has no effect any more: " + where + "; leave it out").str();
  FlagList asked;
  for (const GivenFlag &entry : given.given)
    asked.push_back(withFiles(entry, absolute));
  SmallVector<llvm::StringRef> before = valuesOf(*recorded, flag), now = valuesOf(asked, flag);
  if (before == now || (before.empty() ? acts.presence : acts.value) > at)
    return "";
  std::string how = before.empty() ? ("without " + flag).str() : "";
  for (const GivenFlag &entry : *recorded)
    if (entry.flag == flag)
      how += (how.empty() ? "with " : " ") + textOf(entry);
  return (flag + " cannot be chosen any more: " + where + " and was compiled " + how +
          "; leave it out, or compile the model anew")
      .str();
}

/// What is recomputed, placed and moved was decided for the text's own cluster.
std::string whyOtherCluster(ModuleOp module, Phase at, const Options &given) {
  auto own = module->getAttrOfType<StringAttr>(kClusterAttr);
  if (given.cluster.empty() || at < Phase::Step || (own && own.getValue() == given.cluster))
    return "";
  return ("--cluster cannot be chosen any more: '" + given.model + "' is at phase '" +
          phaseName(at) + "' and was compiled for " + (own ? "another" : "the standard one") +
          "; leave it out, or compile the model anew")
      .str();
}

} // namespace

void weft::driver::recordCommandLine(ModuleOp module, const std::string &model,
                                     const Options &options) {
  SmallString<256> path(model);
  if (!llvm::sys::fs::make_absolute(path))
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  Builder builder(module.getContext());
  module->setAttr(kModelAttr, builder.getStringAttr(path));
  SmallVector<Attribute> flags;
  for (const GivenFlag &entry : options.given)
    if (isOfTheProgram(entry.flag))
      flags.push_back(builder.getStringAttr(textOf(withFiles(entry, absolute))));
  module->setAttr(kFlagsAttr, builder.getArrayAttr(flags));
  if (!options.cluster.empty())
    module->setAttr(kClusterAttr, builder.getStringAttr(options.cluster));
}

static std::string textWithoutFolders(const GivenFlag &entry) {
  return textOf(withFiles(
      entry, [](const std::string &file) { return llvm::sys::path::filename(file).str(); }));
}

std::string weft::driver::flagsText(ModuleOp module) {
  std::vector<std::string> texts;
  for (const GivenFlag &entry : recordedFlags(module).value_or(FlagList()))
    texts.push_back(textWithoutFolders(entry));
  return llvm::join(texts, " ");
}

std::vector<std::string> weft::driver::flagsOfCommands(const std::vector<GivenFlag> &given) {
  std::vector<std::string> texts;
  for (const GivenFlag &entry : given)
    if (isOfTheProgram(entry.flag) && flagActs().of(entry.flag).last < Phase::Executable)
      texts.push_back(textWithoutFolders(entry));
  return texts;
}

llvm::Expected<Options> weft::driver::resumeOptions(ModuleOp module, Phase at,
                                                    const std::vector<std::string> &arguments,
                                                    const Options &given) {
  std::optional<FlagList> recorded = recordedFlags(module);
  std::vector<std::string> merged;
  for (const GivenFlag &entry : recorded.value_or(FlagList()))
    if (valuesOf(given.given, entry.flag).empty()) {
      // Flags of one dash have their value apart.
      if (llvm::StringRef(entry.flag).starts_with("--") || entry.isSwitch)
        merged.push_back(textOf(entry));
      else
        merged.insert(merged.end(), {entry.flag, entry.value});
    }
  for (const GivenFlag &entry : given.given)
    if (isOfTheProgram(entry.flag))
      if (std::string why = whyTooLate(entry.flag, module, at, given, recorded); !why.empty())
        return llvm::createStringError(why);
  if (std::string why = whyOtherCluster(module, at, given); !why.empty())
    return llvm::createStringError(why);
  if (given.until < at)
    return llvm::createStringError("--compile-to " + phaseName(given.until) + ": '" + given.model +
                                   "' is at phase '" + phaseName(at) + "' already");
  merged.insert(merged.end(), arguments.begin(), arguments.end());
  return parseOptions(merged, /*resumes=*/at);
}
