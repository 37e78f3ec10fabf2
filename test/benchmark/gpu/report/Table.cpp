// Tables for people: a summary for a terminal and docs/gpu-results.md.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KitReport.h"

#include <cstdio>
#include <map>
#include <ostream>
#include <stdexcept>

namespace weft::gpukit {
namespace {

const std::map<std::string, std::string> titles = {
    {"machine", "Machine"},
    {"a", "(a) Ceilings"},
    {"b", "(b) cuBLASLt on the models' shapes"},
    {"c", "(c) cuDNN attention"},
    {"d", "(d) PyTorch's memory-bound kernels"},
    {"e", "(e) PyTorch training steps"},
    {"f", "(f) NCCL ranks on one GPU"},
    {"g", "(g) Kernels made by mlir-opt"},
    {"h", "(h) Executables of weft-compile"},
    {"i", "(i) ONNX's node cases"},
};

/// Three significant digits, four from 1000 on; never an exponent.
std::string number(double value) {
  char text[64];
  double size = value < 0 ? -value : value;
  int decimals = size == 0 || size >= 100 ? 0
                 : size >= 10             ? 1
                 : size >= 1              ? 2
                 : size >= 0.1            ? 3
                 : size >= 0.01           ? 4
                                          : 5;
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string scientific(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.1e", value);
  return text;
}

/// A value as a cell: text, number or list; "-" where there is none. Bars would
/// end the cell.
std::string cell(const Json &entry, const std::string &key) {
  if (!entry.contains(key) || entry[key].is_null())
    return "-";
  const Json &value = entry[key];
  std::string text;
  if (value.is_string())
    text = value.get<std::string>();
  else if (value.is_number_float())
    text = number(value.get<double>());
  else if (value.is_array())
    for (const Json &item : value)
      text +=
          (text.empty() ? "" : ", ") + (item.is_string() ? item.get<std::string>() : item.dump());
  else
    text = value.dump();
  std::string clean;
  for (char c : text)
    clean += c == '\n' || c == '\t' ? std::string(" ")
             : c == '|'             ? std::string("\\|")
                                    : std::string(1, c);
  return clean;
}

std::string rate(const Json &entry) {
  return entry.contains("rate") && entry["rate"].is_number()
             ? number(entry["rate"].get<double>()) + " " + cell(entry, "unit")
             : "-";
}

/// A number as a cell; null stands for NaN and infinity, which JSON lacks.
std::string numberAt(const Json &object, const char *key) {
  return object.contains(key) && object[key].is_number() ? number(object[key].get<double>()) : "-";
}

std::string scientificAt(const Json &object, const char *key) {
  return object.contains(key) && object[key].is_number() ? scientific(object[key].get<double>())
                                                         : "-";
}

const Json &timesOf(const Json &entry) {
  static const Json none = Json::object();
  return entry.contains("ms") && entry["ms"].is_object() ? entry["ms"] : none;
}

std::string median(const Json &entry) { return numberAt(timesOf(entry), "median"); }

std::string spread(const Json &entry) {
  return numberAt(timesOf(entry), "p25") + "-" + numberAt(timesOf(entry), "p75");
}

std::string samples(const Json &entry) { return cell(timesOf(entry), "samples"); }

std::string error(const Json &entry) {
  if (!entry.contains("check") || !entry["check"].is_object())
    return "-";
  const Json &check = entry["check"];
  std::string text = "not finite";
  if (check.contains("norm_error") && check["norm_error"].is_number()) {
    double norm = check["norm_error"].get<double>();
    text = norm == 0 ? "exact" : scientific(norm);
  }
  bool ok = check.contains("ok") && check["ok"] == true;
  return ok ? text : "**wrong** (" + text + ", " + cell(check, "not_finite") + " not finite)";
}

/// Of a suite of cases.
std::string rightOf(const Json &entry) {
  return cell(entry, "right") + " of " + cell(entry, "cases");
}

bool isGood(const Json &entry) { return entry.value("status", "") == "ok"; }

using Row = std::vector<std::string>;

void writeTable(std::ostream &out, const Row &head, const std::vector<Row> &rows) {
  auto line = [&](const Row &row) {
    out << '|';
    for (const std::string &text : row)
      out << ' ' << text << " |";
    out << '\n';
  };
  line(head);
  out << '|';
  for (size_t i = 0; i < head.size(); ++i)
    out << " --- |";
  out << '\n';
  for (const Row &row : rows)
    line(row);
}

Row headOf(const std::string &part) {
  if (part == "b")
    return {"layer",        "pass", "epilogue", "m n k", "first, TFLOP/s", "best of 16, TFLOP/s",
            "best / first", "ms",   "p25-p75",  "error"};
  if (part == "c")
    return {"pass and shape", "TFLOP/s",          "ms",   "p25-p75",
            "plan build, ms", "workspace, bytes", "error"};
  if (part == "e")
    return {"model",   "tokens/s",       "TFLOP/s",           "ms per step",
            "p25-p75", "GPU idle share", "attention kernels", "error"};
  if (part == "f")
    return {"case", "correct", "ms per call", "p25-p75", "samples", "error"};
  if (part == "h")
    return {"training", "right", "steps", "largest difference of a loss", "allowed", "seconds"};
  if (part == "i")
    return {"suite", "right", "wrong", "failed", "not compiled", "not reached", "seconds"};
  return {"measurement", "rate", "ms", "p25-p75", "samples", "error"};
}

Row rowOf(const std::string &part, const Json &entry) {
  if (part == "b")
    return {cell(entry, "layer"),
            cell(entry, "pass"),
            cell(entry, "epilogue"),
            cell(entry, "m") + " " + cell(entry, "n") + " " + cell(entry, "k"),
            cell(entry, "first_rate"),
            cell(entry, "rate"),
            cell(entry, "best_over_first"),
            median(entry),
            spread(entry),
            error(entry)};
  if (part == "c")
    return {cell(entry, "name"), cell(entry, "rate"),          median(entry),
            spread(entry),       cell(entry, "plan_build_ms"), cell(entry, "workspace_bytes"),
            error(entry)};
  if (part == "e")
    return {cell(entry, "name"),
            cell(entry, "rate"),
            cell(entry, "tflops"),
            median(entry),
            spread(entry),
            cell(entry, "gpu_idle_share"),
            cell(entry, "attention_kernels"),
            error(entry)};
  if (part == "f")
    return {cell(entry, "name"), isGood(entry) ? "yes" : "**no**",
            median(entry),       spread(entry),
            samples(entry),      error(entry)};
  if (part == "h")
    return {cell(entry, "name"),          isGood(entry) ? "yes" : "**no**",
            cell(entry, "steps"),         scientificAt(entry, "largest_difference"),
            scientificAt(entry, "limit"), numberAt(entry, "seconds")};
  if (part == "i")
    return {cell(entry, "name"),         rightOf(entry),
            cell(entry, "wrong"),        cell(entry, "failed"),
            cell(entry, "not_compiled"), cell(entry, "not_reached"),
            numberAt(entry, "seconds")};
  return {cell(entry, "name"), rate(entry),    median(entry),
          spread(entry),       samples(entry), error(entry)};
}

/// Versions by name, from the machine's facts.
void writeMachine(const Json &machine, std::ostream &out) {
  Json facts = machine.value("facts", Json::object());
  Json device = facts.value("device", Json::object());
  std::vector<Row> rows;
  for (const char *key : {"name", "compute_capability", "multiprocessors", "memory_bytes",
                          "l2_bytes", "cuda_driver", "cuda_runtime"})
    if (device.contains(key))
      rows.push_back({key, cell(device, key)});
  if (facts.contains("driver"))
    rows.push_back({"driver", cell(facts, "driver")});
  for (const char *library : {"cublaslt", "cudnn", "nccl"})
    if (facts.contains(library))
      rows.push_back(
          {library, facts[library].contains("version")
                        ? cell(facts[library], "version") + ", " + cell(facts[library], "path")
                        : "absent: " + cell(facts[library], "absent")});
  if (facts.contains("processor"))
    rows.push_back({"processor", cell(facts, "processors") + " x " + cell(facts, "processor")});
  writeTable(out, {"what", "value"}, rows);
}

const Json &partsOf(const Json &results) {
  if (!results.is_object() || results.value("kit", 0) != 1 || !results.contains("parts") ||
      !results["parts"].is_object())
    throw std::runtime_error("not a results.json of the GPU kit");
  return results["parts"];
}

/// Facts of a part worth a line: what a reader needs to compare figures with
/// others'.
void writeFacts(const Json &part, std::ostream &out) {
  Json facts = part.value("facts", Json::object());
  bool any = false;
  for (auto &[key, value] : facts.items())
    if (key != "device" && !value.is_object()) {
      out << "- " << key << ": " << cell(facts, key) << '\n';
      any = true;
    }
  if (any)
    out << '\n';
}

} // namespace

void writeSummary(const Json &results, std::ostream &out) {
  const Json &parts = partsOf(results);
  for (auto &[name, part] : parts.items()) {
    std::string title = titles.count(name) ? titles.at(name) : name;
    out << title << ": " << part.value("status", "?");
    if (part.contains("message"))
      out << ", " << cell(part, "message");
    out << '\n';
    for (const Json &entry : part.value("results", Json::array())) {
      out << "  " << cell(entry, "name") << ": ";
      if (entry.contains("message"))
        out << cell(entry, "status") << ", " << cell(entry, "message");
      else
        out << (entry.contains("rate")    ? rate(entry)
                : entry.contains("steps") ? cell(entry, "steps") + " steps, losses differ by " +
                                                scientificAt(entry, "largest_difference")
                : entry.contains("cases") ? rightOf(entry)
                                          : median(entry) + " ms")
            << (isGood(entry) ? "" : ", WRONG");
      out << '\n';
    }
  }
}

void writeTables(const Json &results, std::ostream &out) {
  const Json &parts = partsOf(results);
  out << "# GPU results\n\n";
  if (results.value("sample", false))
    out << "**SAMPLE: made-up input of a test. Nothing here was "
           "measured.**\n\n";
  out << "Generated by `kit-report table` from the `results.json` of "
         "`test/benchmark/gpu`'s kit; do not edit. Run on "
      << cell(results, "date") << ", " << cell(results, "seconds")
      << " s in all. Medians with the quartiles of at least 20 samples, timed "
         "by\n"
      << "device events on random data; error is the Euclidean norm of the "
         "difference from a double precision reference over the\n"
      << "reference's own.\n\n";
  std::vector<Row> status;
  for (auto &[name, part] : parts.items()) {
    size_t good = 0, all = 0;
    for (const Json &entry : part.value("results", Json::array())) {
      ++all;
      good += isGood(entry);
    }
    status.push_back({titles.count(name) ? titles.at(name) : name, cell(part, "status"),
                      std::to_string(good) + " of " + std::to_string(all),
                      cell(part, "wall_seconds"), cell(part, "message")});
  }
  writeTable(out, {"part", "status", "results in order", "seconds", "message"}, status);
  for (auto &[name, part] : parts.items()) {
    out << "\n## " << (titles.count(name) ? titles.at(name) : name) << "\n\n";
    if (name == "machine") {
      writeMachine(part, out);
      continue;
    }
    writeFacts(part, out);
    std::vector<Row> rows;
    std::vector<std::string> failures;
    for (const Json &entry : part.value("results", Json::array())) {
      if (entry.contains("message"))
        failures.push_back("- " + cell(entry, "name") + ": " + cell(entry, "status") + ", " +
                           cell(entry, "message"));
      else if (entry.contains("ms") || entry.contains("steps") || entry.contains("cases"))
        rows.push_back(rowOf(name, entry));
    }
    if (!rows.empty())
      writeTable(out, headOf(name), rows);
    if (!rows.empty() && !failures.empty())
      out << '\n';
    for (const std::string &failure : failures)
      out << failure << '\n';
    if (rows.empty() && failures.empty())
      out << "No result: " << cell(part, "status")
          << (part.contains("message") ? ", " + cell(part, "message") : "") << ".\n";
  }
}

void writeNotRun(std::ostream &out) {
  out << "# GPU results\n\n"
         "The kit has not been run: no machine with a GPU could be reached "
         "yet. This file therefore holds no figure.\n\n"
         "`test/benchmark/gpu/README.md` says how the kit is built and run. `kit-report "
         "table results.json -o docs/gpu-results.md` then\n"
         "writes this file from what was measured.\n";
}

} // namespace weft::gpukit
