// Compiling on from the text of a phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Resume.h"

#include "dialects/dist/IR/Dist.h"
#include "passes/pipelines/Phases.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

/// When a flag acts: from `presence` on it matters whether it was given, from `value` on
/// which value it has, after `last` not any more.
struct FlagPhases {
  llvm::StringLiteral flag;
  Phase presence, value, last;
};
constexpr FlagPhases kPhases[] = {
    {"--bind", Phase::Graph, Phase::Graph, Phase::Graph},
    {"--keep-weights", Phase::Graph, Phase::Graph, Phase::Graph},
    {"--precision", Phase::Graph, Phase::Graph, Phase::Step},
    {"--seed", Phase::Graph, Phase::Graph, Phase::Step},
    {"--train", Phase::Graph, Phase::Graph, Phase::Sharded},
    {"--batch-stats", Phase::Graph, Phase::Graph, Phase::Sharded},
    {"--loss", Phase::Graph, Phase::Step, Phase::Step},
    {"--optimizer", Phase::Graph, Phase::Step, Phase::Step},
    {"--param-group", Phase::Step, Phase::Step, Phase::Step},
    {"--freeze", Phase::Step, Phase::Step, Phase::Step},
    {"--grad-dtype", Phase::Step, Phase::Step, Phase::Step},
    {"--recompute", Phase::Step, Phase::Step, Phase::Step},
    {"--microbatches", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--mesh", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--place", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--batch-axes", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--allow-idle-axes", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--sequence-parallel", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--zero", Phase::Sharded, Phase::Sharded, Phase::Sharded},
    {"--bucket-size", Phase::Local, Phase::Local, Phase::Local},
    {"--memory-limit", Phase::Executable, Phase::Executable, Phase::Executable},
    {"--threads-per-rank", Phase::Executable, Phase::Executable, Phase::Executable},
    {"--deterministic", Phase::Executable, Phase::Executable, Phase::Executable},
    {"--target", Phase::Local, Phase::Local, Phase::Executable},
    {"--processor", Phase::Executable, Phase::Executable, Phase::Executable},
    {"-O", Phase::Executable, Phase::Executable, Phase::Executable},
    {"--opt-level", Phase::Executable, Phase::Executable, Phase::Executable},
};

/// About one run of weft-compile, not about what it makes. Any other flag is of the
/// program, so that a new one cannot be lost on the way.
constexpr llvm::StringLiteral kOfTheRun[] = {
    "-o",        "--output",       "--compile-to", "--dump-phases", "--write-devices",
    "--explain", "--report",       "--linker",     "--runtime-dir", "--dry-run",
    "--timing",  "--copy-weights", "-q",           "--quiet",       "-v",
    "--verbose"};

bool isOfTheProgram(llvm::StringRef flag) { return !llvm::is_contained(kOfTheRun, flag); }

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

FlagPhases phasesOf(llvm::StringRef flag, ModuleOp module, const FlagList &recorded) {
  const FlagPhases *found =
      llvm::find_if(kPhases, [&](const FlagPhases &entry) { return entry.flag == flag; });
  // What nobody has judged may act anywhere.
  FlagPhases phases = found != std::end(kPhases)
                          ? *found
                          : FlagPhases{"", Phase::Import, Phase::Import, Phase::Executable};
  // Device configurations were read for a mesh, statistics were made of microbatches.
  bool isRead = (flag == "--mesh" && module->hasAttr(dist::kDevicesAttr)) ||
                (flag == "--microbatches" &&
                 llvm::is_contained(valuesOf(recorded, "--batch-stats"), kPerMicrobatch));
  if (isRead)
    phases.presence = phases.value = Phase::Graph;
  return phases;
}

/// Why `flag` comes too late for a program at `at`; empty if it does not.
std::string whyTooLate(llvm::StringRef flag, ModuleOp module, Phase at, const Options &given,
                       const std::optional<FlagList> &recorded) {
  FlagPhases phases = phasesOf(flag, module, recorded.value_or(FlagList()));
  std::string where = ("'" + given.model + "' is at phase '" + phaseName(at) + "'").str();
  if (!recorded)
    return phases.last > at ? ""
                            : (flag + " has no effect any more: " + where + "; leave it out").str();
  SmallVector<llvm::StringRef> before = valuesOf(*recorded, flag),
                               now = valuesOf(given.given, flag);
  if (before == now || (before.empty() ? phases.presence : phases.value) > at)
    return "";
  std::string how = before.empty() ? ("without " + flag).str() : "";
  for (const GivenFlag &entry : *recorded)
    if (entry.flag == flag)
      how += (how.empty() ? "with " : " ") + textOf(entry);
  return (flag + " cannot be chosen any more: " + where + " and was compiled " + how +
          "; leave it out, or compile the model anew")
      .str();
}

} // namespace

void weft::driver::recordCommandLine(ModuleOp module, const std::string &model,
                                     const Options &options) {
  SmallString<256> path(model);
  llvm::sys::fs::make_absolute(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  Builder builder(module.getContext());
  module->setAttr(kModelAttr, builder.getStringAttr(path));
  SmallVector<Attribute> flags;
  for (const GivenFlag &entry : options.given)
    if (isOfTheProgram(entry.flag))
      flags.push_back(builder.getStringAttr(textOf(entry)));
  module->setAttr(kFlagsAttr, builder.getArrayAttr(flags));
}

bool weft::driver::resumeOptions(ModuleOp module, Phase at,
                                 const std::vector<std::string> &arguments, Options &options,
                                 std::string &error) {
  const Options given = options;
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
      if (error = whyTooLate(entry.flag, module, at, given, recorded); !error.empty())
        return false;
  if (given.until < at) {
    error = ("--compile-to " + phaseName(given.until) + ": '" + given.model + "' is at phase '" +
             phaseName(at) + "' already")
                .str();
    return false;
  }
  merged.insert(merged.end(), arguments.begin(), arguments.end());
  options = Options();
  return parseOptions(merged, options, error, /*resumes=*/true);
}
