// The folder with checkpoints of many steps: what is in it, and what is sound.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointFolder.h"

#include "checkpoint/CheckpointFiles.h"

#include <algorithm>
#include <cstdio>
#include <sys/stat.h>

using namespace weft::runtime;

std::string weft::runtime::checkpointName(int64_t step) {
  char text[48];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(step));
  return text;
}

/// The step of "step-N" or "step-N.old"; -1 for other names.
static int64_t stepOf(std::string name) {
  if (name.size() > 4 && name.compare(name.size() - 4, 4, ".old") == 0)
    name.resize(name.size() - 4);
  if (name.size() < 13 || name.size() > 23 || name.compare(0, 5, "step-") != 0)
    return -1;
  int64_t step = 0;
  for (char c : name.substr(5)) {
    if (c < '0' || c > '9')
      return -1;
    step = step * 10 + (c - '0');
  }
  return name == checkpointName(step) ? step : -1;
}

/// The last part of a path.
static std::string baseName(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

int64_t weft::runtime::checkpointStepOf(const std::string &path) {
  size_t end = path.find_last_not_of('/');
  return stepOf(baseName(path.substr(0, end + 1)));
}

CheckpointCandidate weft::runtime::inspectCheckpoint(const std::string &path) {
  CheckpointCandidate result;
  result.path = path;
  result.step = stepOf(baseName(path));
  std::string file = path + "/" + kManifestName;
  CheckpointManifest manifest;
  result.status = readFile(file, kManifestLimit, result.manifest);
  if (result.status.ok())
    result.status = parseManifest(result.manifest, manifest);
  if (!result.status.ok())
    return result;
  result.ordinal = manifest.ordinal;
  result.step = manifest.info.step;
  for (size_t i = 0; i < manifest.files.size() && result.status.ok(); ++i) {
    uint64_t expected = manifest.files[i].bytes;
    if (expected == 0)
      continue;
    std::string name = checkpointFileName(i);
    struct stat info;
    if (::stat((path + "/" + name).c_str(), &info) != 0)
      result.status = Status::user("file '" + name + "' is missing");
    else if (!S_ISREG(info.st_mode) || uint64_t(info.st_size) != expected)
      result.status = Status::user("file '" + name + "' has " + std::to_string(info.st_size) +
                                   " bytes, not " + std::to_string(expected));
  }
  return result;
}

Status weft::runtime::findCheckpoints(const std::string &directory,
                                      std::vector<CheckpointCandidate> &candidates) {
  std::vector<std::string> names;
  WEFT_TRY(listDirectory(directory, names));
  for (const std::string &name : names)
    if (stepOf(name) >= 0 && isDirectory(directory + "/" + name)) {
      candidates.push_back(inspectCheckpoint(directory + "/" + name));
      candidates.back().manifest.clear(); // there may be many
    }
  std::sort(candidates.begin(), candidates.end(),
            [](const CheckpointCandidate &a, const CheckpointCandidate &b) {
              if ((a.ordinal == 0) != (b.ordinal == 0))
                return a.ordinal == 0;
              if (a.ordinal != b.ordinal)
                return a.ordinal > b.ordinal;
              return a.step != b.step ? a.step > b.step : a.path < b.path;
            });
  return {};
}

Status weft::runtime::chooseCheckpoints(const std::string &path, int64_t step,
                                        std::vector<CheckpointCandidate> &candidates) {
  if (!isDirectory(path))
    return Status::user("there is no checkpoint folder '" + path +
                        "'; --resume wants the folder that was given to "
                        "--save, or one step-... folder in it");
  struct stat info;
  bool single =
      ::stat((path + "/" + kManifestName).c_str(), &info) == 0 || stepOf(baseName(path)) >= 0;
  if (single && step < 0) {
    candidates.push_back(inspectCheckpoint(path));
    return {};
  }
  if (step >= 0) {
    std::string wanted = path + "/" + checkpointName(step);
    if (!isDirectory(wanted) && isDirectory(wanted + ".old"))
      wanted += ".old";
    if (!isDirectory(wanted)) {
      WEFT_TRY(findCheckpoints(path, candidates));
      std::string there;
      for (const CheckpointCandidate &candidate : candidates)
        there += (there.empty() ? "" : ", ") + std::to_string(candidate.step);
      return Status::user("there is no checkpoint of step " + std::to_string(step) + " in '" +
                          path + "'; it has " + (there.empty() ? "none" : "those of " + there));
    }
    candidates.push_back(inspectCheckpoint(wanted));
    return {};
  }
  WEFT_TRY(findCheckpoints(path, candidates));
  if (candidates.empty())
    return Status::user("there is no checkpoint in '" + path +
                        "'; a run that saves there has not come to its first, or saves elsewhere");
  return {};
}
