// Gathers the parts' files into one results.json, whatever became of the
// parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KitReport.h"

#include <fstream>
#include <sstream>

namespace weft::gpukit {
namespace {

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The last `count` lines of a log: where a part that died says why.
std::string tail(const std::string &text, int count) {
  size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos)
    return "";
  size_t start = end + 1;
  while (count-- > 0 && start != std::string::npos && start > 0)
    start = text.rfind('\n', start - 1);
  start = start == std::string::npos ? 0 : start + (text[start] == '\n');
  return text.substr(start, end + 1 - start);
}

Json onePart(const std::string &stem) {
  std::string exitText = readAll(stem + ".exit");
  if (exitText.empty())
    return {{"status", "not asked for"}};
  std::istringstream stream(exitText);
  std::string code;
  double seconds = 0;
  stream >> code >> seconds;
  if (code == "no-time")
    return {{"status", "not run"}, {"message", "no time was left"}};

  std::string text = readAll(stem + ".json");
  Json part = Json::parse(text, nullptr, false);
  bool written = part.is_object() && part.contains("status");
  if (!written)
    part = {{"status", "running"}, {"results", Json::array()}};
  if (part["status"] == "running") {
    bool ended = code == "124" || code == "137";
    part["status"] = ended ? "ended at its time limit" : "died";
    part["message"] = (written ? "" : "it wrote no JSON; ") +
                      ("exit code " + code + "; its log ends: ") + tail(readAll(stem + ".log"), 3);
  }
  part["exit_code"] = code;
  part["wall_seconds"] = seconds;
  return part;
}

} // namespace

Json mergeParts(const std::string &folder, double seconds, const std::string &date) {
  Json results;
  results["kit"] = 1;
  results["date"] = date;
  results["seconds"] = seconds;
  for (const char *name : partNames)
    results["parts"][name] = onePart(folder + "/part-" + name);
  return results;
}

} // namespace weft::gpukit
