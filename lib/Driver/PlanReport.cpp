// One screen, or one JSON document.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PlanReport.h"

#include "weft/Explain/Explain.h"
#include "weft/Pipeline/Plot.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <numeric>

using namespace weft;
using namespace weft::driver;
using choosing::Evaluation;
using explain::sizeText;
using explain::timeText;

namespace {

constexpr const char *kKernels[] = {"stream", "gemm", "attention", "conv"};
/// By cost::StateClass, as exact memory calls them, too.
constexpr const char *kStates[] = {"parameter", "gradient", "master", "optimizer", "other"};

double seconds(int64_t picoseconds) { return double(picoseconds) * 1e-12; }

int64_t sumOf(llvm::ArrayRef<int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t(0));
}

/// `478720`, `1.746e+11`.
std::string countText(int64_t count) {
  if (count < 10'000'000)
    return std::to_string(count);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", double(count));
  return text;
}

/// Classes of memory with their bytes, empty ones left out.
std::vector<std::pair<std::string, int64_t>> classesOf(const Evaluation &evaluation) {
  std::vector<std::pair<std::string, int64_t>> classes;
  auto add = [&](const std::string &name, int64_t bytes) {
    if (bytes != 0)
      classes.push_back({name, bytes});
  };
  if (evaluation.isScheduled) {
    const explain::Memory &memory = evaluation.document.memory;
    for (auto [name, bytes] : llvm::zip_equal(memory.classes, memory.peaks))
      add(name, bytes);
    return classes;
  }
  const cost::Memory &memory = evaluation.prediction.memory[evaluation.prediction.fullest];
  for (auto [name, bytes] : llvm::zip_equal(kStates, memory.state))
    add(name, bytes);
  add("activation", memory.activations);
  add("transient", memory.transient);
  add("fixed", memory.fixed);
  return classes;
}

const explain::Program *programOf(const Evaluation &evaluation) {
  for (const explain::Program &program : evaluation.document.programs)
    if (program.name == evaluation.program)
      return &program;
  return nullptr;
}

class Text {
public:
  Text(const Evaluation &evaluation, llvm::raw_ostream &out)
      : it(evaluation), prediction(evaluation.prediction), out(out) {}

  void print() {
    out << it.model << ": " << countText(it.parameters) << " parameters, "
        << (it.trains ? "a step of training" : "a run") << " on " << it.account.devices()
        << (it.account.devices() == 1 ? " device" : " devices");
    if (!it.account.axes.empty())
      out << " as " << it.layout;
    if (it.microbatches > 1)
      out << ", " << it.microbatches << " microbatches";
    if (!it.schedule.empty())
      out << ", " << it.schedule;
    out << "; cluster " << it.clusterName << '\n';
    printCosts();
    explain::printChunks(it.document.chunks, explain::Detail::Classes, out);
  }

  void printCosts() {
    printFit();
    printTime();
    line("memory");
    list(classesOf(it), [](int64_t bytes) { return sizeText(double(bytes)); });
    out << (it.isExact       ? " (exact: of the arena that weft-compile plans)"
            : it.isScheduled ? " (of the arena with --routines called: there are too many ops to "
                               "write them out here)"
                             : " (by lifetimes of values, before buffers are shared)")
        << '\n';
    line("sent");
    list(axes(prediction.bytesByAxis), [](int64_t bytes) { return sizeText(double(bytes)); });
    out << " a device and " << (it.trains ? "step" : "run") << '\n';
  }

  void printRemarks() {
    for (const std::string &remark : prediction.remarks)
      out << "note: " << remark << '\n';
  }

private:
  void line(llvm::StringRef title) { out << llvm::left_justify(title, 10); }

  /// Names with values that are not 0, the largest first.
  template <typename Format>
  void list(std::vector<std::pair<std::string, int64_t>> values, Format format) {
    llvm::erase_if(values, [](const auto &entry) { return entry.second == 0; });
    llvm::sort(values, [](const auto &a, const auto &b) {
      return std::tie(b.second, a.first) < std::tie(a.second, b.first);
    });
    if (values.empty())
      out << "nothing";
    llvm::interleave(
        values, out, [&](const auto &entry) { out << entry.first << ' ' << format(entry.second); },
        ", ");
  }

  std::vector<std::pair<std::string, int64_t>> axes(llvm::ArrayRef<int64_t> values) const {
    std::vector<std::pair<std::string, int64_t>> named;
    for (auto [axis, value] : llvm::zip(it.account.axes, values))
      named.push_back({axis.name, value});
    return named;
  }

  void printFit() {
    line("fits");
    double perParameter = it.parameters ? double(it.stateBytes) / double(it.parameters) : 0;
    out << (it.fits() ? "yes" : "no") << ": a process needs " << sizeText(double(it.memoryBytes()))
        << " of " << sizeText(double(it.deviceBytes)) << "; state "
        << sizeText(double(it.stateBytes)) << " (" << llvm::format("%.3g", perParameter)
        << " bytes a parameter) needs " << devices(it.leastDevices())
        << ", with what this layout keeps beside it " << it.leastDevicesOfLayout() << '\n';
  }

  static std::string devices(int64_t count) {
    return std::to_string(count) + (count == 1 ? " device" : " devices");
  }

  void printTime() {
    line("time");
    out << timeText(prediction.seconds());
    if (it.uncertainty > 0)
      out << " +-" << llvm::format("%.0f", it.uncertainty * 100) << " %";
    out << ": ";
    const cost::Causes &causes = prediction.causes;
    std::vector<std::pair<std::string, int64_t>> parts;
    for (auto [kernel, time] : llvm::zip_equal(kKernels, causes.compute))
      parts.push_back({kernel, time});
    for (const auto &[axis, time] : axes(causes.exposed))
      parts.push_back({axis + " exposed", time});
    parts.push_back({"bubble", causes.bubble});
    parts.push_back({"optimizer", causes.optimizer});
    list(parts, [](int64_t time) { return timeText(seconds(time)); });
    out << '\n';
  }

  const Evaluation &it;
  const cost::Prediction &prediction;
  llvm::raw_ostream &out;
};

} // namespace

void driver::printText(const Evaluation &evaluation, llvm::raw_ostream &out) {
  Text text(evaluation, out);
  text.print();
  text.printRemarks();
}

void driver::printCosts(const Evaluation &evaluation, llvm::raw_ostream &out) {
  Text(evaluation, out).printCosts();
}

void driver::printJson(const Evaluation &it, llvm::raw_ostream &out) {
  const cost::Prediction &prediction = it.prediction;
  const cost::Causes &causes = prediction.causes;
  llvm::json::OStream json(out, 1);
  auto byAxis = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> values, auto convert) {
    json.attributeObject(name, [&] {
      for (auto [axis, value] : llvm::zip(it.account.axes, values))
        json.attribute(axis.name, convert(value));
    });
  };
  auto asBytes = [](int64_t bytes) { return bytes; };
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("model", llvm::json::fixUTF8(it.model));
    json.attribute("cluster", llvm::json::fixUTF8(it.clusterName));
    json.attributeObject("mesh", [&] {
      for (const cost::Axis &axis : it.account.axes)
        json.attribute(axis.name, axis.size);
    });
    json.attribute("devices", it.account.devices());
    json.attribute("microbatches", it.microbatches);
    if (!it.schedule.empty())
      json.attribute("schedule", it.schedule);
    json.attribute("parameters", it.parameters);
    json.attribute("fits", it.fits());
    json.attribute("step_seconds", prediction.seconds());
    json.attribute("uncertainty", it.uncertainty);
    json.attributeObject("seconds", [&] {
      json.attribute("compute", seconds(sumOf(causes.compute)));
      byAxis("exposed", causes.exposed, seconds);
      json.attribute("bubble", seconds(causes.bubble));
      json.attribute("optimizer", seconds(causes.optimizer));
    });
    json.attributeObject("compute_seconds", [&] {
      for (auto [kernel, time] : llvm::zip_equal(kKernels, causes.compute))
        json.attribute(kernel, seconds(time));
    });
    json.attribute("memory_bytes", it.memoryBytes());
    json.attribute("memory_is_exact", it.isExact);
    json.attributeObject("memory", [&] {
      for (const auto &[name, bytes] : classesOf(it))
        json.attribute(name, bytes);
    });
    json.attribute("device_bytes", it.deviceBytes);
    json.attribute("state_bytes", it.stateBytes);
    json.attribute("least_devices", it.leastDevices());
    json.attribute("least_devices_of_layout", it.leastDevicesOfLayout());
    byAxis("bytes_by_axis", prediction.bytesByAxis, asBytes);
    if (const explain::Program *program = programOf(it))
      json.attributeObject("sent_by_our_transports", [&] {
        for (const auto &[axes, byMember] : program->sentOver)
          json.attribute(explain::axesText(axes),
                         int64_t(program->bytesSentOver(it.document.mesh, axes)));
      });
    explain::printChunks(it.document.chunks, json);
    json.attributeArray("remarks", [&] {
      for (const std::string &remark : prediction.remarks)
        json.value(llvm::json::fixUTF8(remark));
    });
  });
  out << '\n';
}

explain::Forecast driver::forecastOf(const Evaluation &it) {
  explain::Forecast forecast;
  forecast.cluster = it.clusterName;
  forecast.seconds = it.prediction.seconds();
  forecast.deviceBytes = it.deviceBytes;
  for (auto [number, axis] : llvm::enumerate(it.account.axes))
    forecast.sent.push_back({axis.name, axis.size, it.prediction.bytesByAxis[number],
                             int64_t(number) == it.account.stages
                                 ? it.prediction.bytesBetweenStages
                                 : std::vector<std::vector<int64_t>>()});
  forecast.undrawn = pipeline::checkPicture(it.events.size(), it.microbatches);
  if (!forecast.undrawn.empty())
    return forecast;
  for (const cost::Event &event : it.events)
    forecast.actions.push_back({event.rank, seconds(event.start), seconds(event.end), event.name});
  return forecast;
}
