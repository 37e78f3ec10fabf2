// The JSON file of one part: written anew after every measurement, so that a
// part killed at its limit leaves what it had.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Check.h"
#include "Stats.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace weft::gpukit {

using Json = nlohmann::ordered_json;

/// A measurement could not be made; the message says which call failed and how.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Exit codes of every program of the kit. No device is no failure: it is what
/// a machine without a GPU must see.
enum ExitCode { exitOk = 0, exitFailed = 1, exitUsage = 2, exitNoDevice = 77 };

class Report {
public:
  /// `path` empty: nothing is written, lines go to stdout alone.
  Report(std::string part, std::string what, std::string path);

  /// Facts of the whole part, such as library versions.
  Json &facts() { return root["facts"]; }

  /// Appends `measure`'s result under `name`. A thrown Failure becomes a failed
  /// result and the part goes on.
  void attempt(const std::string &name, const std::function<Json()> &measure);

  /// Ends the part: `ok` when every result is, `failed` otherwise. Returns the
  /// exit code.
  int finish();
  /// Ends the part where no GPU can be used; `why` is the driver's own message.
  int finishNoDevice(const std::string &why);
  int finishFailed(const std::string &why);

private:
  void write() const;

  Json root;
  std::string path;
  bool failed = false;
};

/// {"median":..,"p25":..,...} of times in milliseconds.
Json toJson(const Stats &milliseconds);
/// {"ok":..,"norm_error":..,...}.
Json toJson(const Check &check);

/// A result: its times, its rate of `work` (in units of 1e9 per second, named
/// `unit`), its check.
Json result(const Stats &milliseconds, double work, const std::string &unit, const Check &check);

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// The value after `--name` on the command line, or `fallback`.
std::string option(int argc, char **argv, const std::string &name, const std::string &fallback);
bool flag(int argc, char **argv, const std::string &name);

} // namespace weft::gpukit
