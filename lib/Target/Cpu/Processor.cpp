// Asks LLVM's tables about processors by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cpu/Processor.h"

#include "weft/Target/NativeCode.h"
#include "weft/runtime/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

using namespace weft;
using namespace weft::cpu;

static llvm::Expected<std::unique_ptr<llvm::MCSubtargetInfo>>
subtarget(const Processor &processor) {
  llvm::Expected<NativeCode> native = nativeCode();
  if (!native)
    return native.takeError();
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      native->target->createMCSubtargetInfo(native->triple, processor.name, processor.features));
}

Processor cpu::resolveProcessor(llvm::StringRef name) {
  if (name != "native")
    return {name.str(), ""};
  // A virtual machine may hide features of its processor.
  std::string features;
  for (auto &[feature, enabled] : llvm::sys::getHostCPUFeatures())
    features += (features.empty() ? "" : ",") + std::string(enabled ? "+" : "-") + feature.str();
  return {llvm::sys::getHostCPUName().str(), features};
}

/// Whether it has them all; false on machines for which no code can be generated.
static bool hasFeatures(const Processor &processor, const std::string &features) {
  auto info = subtarget(processor);
  if (info)
    return (*info)->checkFeatures(features);
  llvm::consumeError(info.takeError());
  return false;
}

/// Of this machine's kind: LLVM's table has its whole history.
static bool fitsMachine(llvm::StringRef name) {
  if (!llvm::Triple(llvm::sys::getDefaultTargetTriple()).isX86_64())
    return true;
  return hasFeatures({name.str(), ""}, "+64bit");
}

/// Names that differ from `name` by little, or that it abbreviates.
static std::string nearest(const llvm::MCSubtargetInfo &info, llvm::StringRef name) {
  std::vector<std::pair<unsigned, llvm::StringRef>> near;
  for (const llvm::SubtargetSubTypeKV &known : info.getAllProcessorDescriptions()) {
    llvm::StringRef candidate = known.Key;
    unsigned distance = candidate.edit_distance_insensitive(name);
    bool begins = name.size() >= 3 && candidate.starts_with_insensitive(name);
    if ((distance <= 1 + name.size() / 4 || begins) && fitsMachine(candidate))
      near.push_back({distance, candidate});
  }
  llvm::sort(near);
  if (near.size() > 4)
    near.resize(4);
  return llvm::join(llvm::make_second_range(near), ", ");
}

llvm::Error cpu::checkProcessor(llvm::StringRef name) {
  if (name == "native")
    return llvm::Error::success();
  auto info = subtarget({"", ""});
  if (!info)
    return info.takeError();
  if (!(*info)->isCPUStringValid(name)) {
    std::string near = nearest(**info, name);
    return llvm::createStringError("'" + name + "' is no processor that LLVM knows; " +
                                   (near.empty() ? "" : "names near it: " + near + "; ") +
                                   "x86-64-v3 suits most machines since 2015, native is this one");
  }
  if (!fitsMachine(name))
    return llvm::createStringError(
        "'" + name + "' is a 32-bit processor; executables are for 64 bits: x86-64 and later");
  return llvm::Error::success();
}

std::string cpu::neededFeatures(llvm::StringRef name) {
  Processor processor = resolveProcessor(name);
  std::vector<llvm::StringRef> needed;
  for (std::string_view feature : runtime::processorFeatures())
    if (hasFeatures(processor, "+" + std::string(feature)))
      needed.push_back(feature);
  return llvm::join(needed, ",");
}

std::vector<std::string> cpu::executableLevels() {
  std::vector<std::string> levels;
  for (llvm::StringRef level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (llvm::Error wrong = checkProcessor(level))
      llvm::consumeError(std::move(wrong));
    else if (runtime::missingFeatures(neededFeatures(level)).empty())
      levels.push_back(level.str());
  }
  return levels;
}
