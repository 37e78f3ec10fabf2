// The JSON file of one part: written anew after every measurement, so that a
// part killed at its limit leaves what it had.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace weft::gpukit {

Report::Report(std::string part, std::string what, std::string path) : path(std::move(path)) {
  root["part"] = std::move(part);
  root["what"] = std::move(what);
  root["status"] = "running";
  root["facts"] = Json::object();
  root["results"] = Json::array();
  write();
}

void Report::attempt(const std::string &name, const std::function<Json()> &measure) {
  Json entry;
  entry["name"] = name;
  try {
    Json measured = measure();
    bool ok = !measured.contains("check") || measured["check"].value("ok", false);
    entry["status"] = ok ? "ok" : "wrong";
    for (auto &[key, value] : measured.items())
      entry[key] = value;
    failed |= !ok;
  } catch (const std::exception &error) {
    entry["status"] = "failed";
    entry["message"] = error.what();
    failed = true;
  }
  std::string line = name + ": " + entry["status"].get<std::string>();
  if (entry.contains("rate"))
    line +=
        format(", %.4g %s", entry["rate"].get<double>(), entry["unit"].get<std::string>().c_str());
  if (entry.contains("ms"))
    line += format(", %.4g ms", entry["ms"]["median"].get<double>());
  if (entry.contains("message"))
    line += ", " + entry["message"].get<std::string>();
  std::puts(line.c_str());
  std::fflush(stdout);
  root["results"].push_back(std::move(entry));
  write();
}

int Report::finish() {
  root["status"] = failed ? "failed" : "ok";
  write();
  return failed ? exitFailed : exitOk;
}

int Report::finishNoDevice(const std::string &why) {
  root["status"] = "no-device";
  root["message"] = why;
  write();
  std::printf("no device: %s\n", why.c_str());
  return exitNoDevice;
}

int Report::finishFailed(const std::string &why) {
  root["status"] = "failed";
  root["message"] = why;
  write();
  std::printf("failed: %s\n", why.c_str());
  return exitFailed;
}

void Report::write() const {
  if (path.empty())
    return;
  // Renamed into place: a reader, or a kill at any moment, never sees half a
  // file.
  std::string half = path + ".half";
  {
    std::ofstream out(half);
    out << root.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    if (!out) {
      std::fprintf(stderr, "cannot write %s\n", half.c_str());
      return;
    }
  }
  if (std::rename(half.c_str(), path.c_str()) != 0)
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
}

Json toJson(const Stats &stats) {
  return {{"median", stats.median}, {"p25", stats.p25}, {"p75", stats.p75},
          {"min", stats.min},       {"max", stats.max}, {"samples", stats.samples}};
}

Json toJson(const Check &check) {
  return {{"ok", check.ok},
          {"norm_error", check.normError},
          {"element_error", check.elementError},
          {"compared", check.compared},
          {"not_finite", check.notFinite}};
}

Json result(const Stats &milliseconds, double work, const std::string &unit, const Check &check) {
  if (milliseconds.samples < minSamples)
    throw Failure(format("%zu samples; a result needs %zu", milliseconds.samples, minSamples));
  Json entry;
  entry["rate"] = work / (milliseconds.median * 1e6);
  entry["unit"] = unit;
  entry["ms"] = toJson(milliseconds);
  entry["check"] = toJson(check);
  return entry;
}

std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[2048];
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

std::string option(int argc, char **argv, const std::string &name, const std::string &fallback) {
  std::string key = "--" + name;
  for (int i = 1; i + 1 < argc; ++i)
    if (key == argv[i])
      return argv[i + 1];
  return fallback;
}

bool flag(int argc, char **argv, const std::string &name) {
  std::string key = "--" + name;
  for (int i = 1; i < argc; ++i)
    if (key == argv[i])
      return true;
  return false;
}

} // namespace weft::gpukit
