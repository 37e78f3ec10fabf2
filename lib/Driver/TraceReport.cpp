// A trace's commands by cause.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TraceReport.h"

#include "weft/Explain/Document.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <tuple>
#include <utility>

using namespace weft;
using namespace weft::driver;
using llvm::StringRef;

namespace {

/// A command of a rank, times in seconds.
struct Event {
  std::string category, node, axes;
  int64_t command = 0, inCall = -1, stream = 0; // in the body, and within a call of it
  double start = 0, end = 0, processor = 0;
};

class Join {
public:
  Join(const cost::StepAccount &account, const cost::Prediction &prediction,
       const llvm::StringSet<> &optimizer)
      : account(account), optimizer(optimizer) {
    static constexpr const char *kKernels[] = {"stream", "gemm", "attention", "conv"};
    auto add = [&](const std::string &cause, int64_t picoseconds, bool isKernels) {
      numberOf[cause] = report.shares.size();
      report.shares.push_back({cause, isKernels, double(picoseconds) * 1e-12, 0, 0});
    };
    for (auto [kernel, time] : llvm::zip_equal(kKernels, prediction.causes.compute))
      add(kernel, time, true);
    add("optimizer", prediction.causes.optimizer, true);
    for (auto [axis, time] : llvm::zip_equal(account.axes, prediction.causes.exposed))
      add(axis.name + " exposed", time, false);
    add("bubble", prediction.causes.bubble, false);
  }

  llvm::Expected<TraceReport> run(StringRef json, StringRef program) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
    if (!value)
      return value.takeError();
    const llvm::json::Object *root = value->getAsObject();
    const llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr;
    if (const llvm::json::Object *other = root ? root->getObject("otherData") : nullptr) {
      StringRef found = other->getString("program").value_or("");
      if (found != program)
        return llvm::createStringError("it is of program '" + found + "', and '" + program +
                                       "' is what is predicted; make it with weft-run --program " +
                                       program + " --bench --trace");
      report.flags = other->getString("flags").value_or("").str();
    }
    if (events)
      for (const llvm::json::Value &event : *events)
        take(event);
    for (auto &[rank, commands] : byRank)
      if (llvm::Error wrong = add(commands))
        return std::move(wrong);
    report.ranks = int64_t(byRank.size());
    if (report.runs == 0 || report.ranks != account.devices())
      return llvm::createStringError(
          "it is of " + std::to_string(report.ranks) + " ranks and " + std::to_string(report.runs) +
          " runs, not of " + std::to_string(account.devices()) +
          " ranks as --evaluate; make it with weft-run --bench --trace, with the same flags");
    for (Share &share : report.shares) {
      share.elapsed /= double(report.runs);
      share.processor /= double(report.runs);
    }
    report.runs /= report.ranks;
    return std::move(report);
  }

private:
  void take(const llvm::json::Value &value) {
    const llvm::json::Object *it = value.getAsObject();
    const llvm::json::Object *told = it ? it->getObject("args") : nullptr;
    std::optional<double> start = it ? it->getNumber("ts") : std::nullopt,
                          passed = it ? it->getNumber("dur") : std::nullopt;
    // The slices of a pipeline's actions are no commands.
    if (!told || !start || !passed || !told->getInteger("command"))
      return;
    Event event;
    event.category = it->getString("cat").value_or("").str();
    event.node = told->getString("node").value_or("").str();
    event.axes = told->getString("axes").value_or("").str();
    event.command = *told->getInteger("command");
    if (std::optional<int64_t> call = told->getInteger("call"))
      event.inCall = std::exchange(event.command, *call);
    event.stream = it->getInteger("tid").value_or(0);
    event.start = *start * 1e-6;
    event.end = event.start + *passed * 1e-6;
    event.processor = it->getNumber("tdur").value_or(0) * 1e-6;
    byRank[it->getInteger("pid").value_or(0)].push_back(std::move(event));
  }

  llvm::Error add(std::vector<Event> &commands) {
    llvm::sort(commands, [](const Event &a, const Event &b) {
      return std::tie(a.end, a.command, a.inCall) < std::tie(b.end, b.command, b.inCall);
    });
    // What is waited for is the collective that has ended last.
    std::string ended;
    const Event *before = nullptr;
    for (const Event &event : commands) {
      if (event.category == "collective")
        ended = event.axes;
      if (event.stream != 0)
        continue;
      double from = event.start;
      if (before &&
          std::tie(event.command, event.inCall) > std::tie(before->command, before->inCall))
        from = before->end;
      else
        ++report.runs;
      before = &event;
      auto cause = numberOf.find(causeOf(event, ended));
      if (cause == numberOf.end())
        return llvm::createStringError("it communicates over axis '" + ended +
                                       "', which --evaluate does not have");
      Share &share = report.shares[cause->second];
      share.elapsed += event.end - from;
      share.processor += event.processor;
    }
    return llvm::Error::success();
  }

  std::string causeOf(const Event &event, const std::string &ended) const {
    bool isKernel = event.category != "collective" && event.category != "event_wait";
    if (isKernel && optimizer.contains(event.node))
      return "optimizer";
    if (event.category == "gemm")
      return "gemm";
    if (event.category == "convolution")
      return "conv";
    if (StringRef(event.category).starts_with("attention"))
      return "attention";
    if (isKernel || ended.empty())
      return "stream";
    // An axis that was cut in pieces, `dp.1`, is still that axis; of several the first one counts.
    std::string axis = StringRef(ended).split(',').first.split('.').first.str();
    bool crossesStages = account.stages >= 0 && account.axes[size_t(account.stages)].name == axis;
    return crossesStages ? "bubble" : axis + " exposed";
  }

  const cost::StepAccount &account;
  const llvm::StringSet<> &optimizer;
  TraceReport report;
  std::map<std::string, size_t> numberOf;
  std::map<int64_t, std::vector<Event>> byRank;
};

std::string errorText(double predicted, double measured) {
  std::string text;
  if (measured > 0)
    llvm::raw_string_ostream(text) << llvm::format("%+.1f %%", 100 * (predicted / measured - 1));
  return text;
}

} // namespace

llvm::Expected<TraceReport> driver::joinTrace(StringRef json, StringRef program,
                                              const cost::StepAccount &account,
                                              const cost::Prediction &prediction,
                                              const llvm::StringSet<> &optimizer) {
  return Join(account, prediction, optimizer).run(json, program);
}

void driver::printReport(const TraceReport &report, llvm::raw_ostream &out) {
  auto cell = [&](const std::string &text, unsigned width) {
    out << llvm::right_justify(text, width);
  };
  auto line = [&](const Share &share) {
    out << "  " << llvm::left_justify(share.cause, 16);
    cell(explain::timeText(share.predicted), 10);
    cell(explain::timeText(share.elapsed), 10);
    cell(errorText(share.predicted, share.elapsed), 11);
    cell(explain::timeText(share.processor), 11);
    // Who waits takes no processor time.
    cell(share.isKernels ? errorText(share.predicted, share.processor) : "", 10);
    out << '\n';
  };
  out << "measured  " << report.runs << (report.runs == 1 ? " run" : " runs") << " of "
      << report.ranks << (report.ranks == 1 ? " rank" : " ranks") << ", of the mean one:\n  "
      << llvm::left_justify("cause", 16)
      << " predicted   elapsed      error  processor     error\n";
  Share kernels{"kernels", true}, all{"in all", false};
  for (const Share &share : report.shares) {
    for (Share *sum : {&kernels, &all}) {
      if (sum == &kernels && !share.isKernels)
        continue;
      sum->predicted += share.predicted;
      sum->elapsed += share.elapsed;
      sum->processor += share.processor;
    }
    if (share.predicted > 0 || share.elapsed > 0)
      line(share);
  }
  line(kernels);
  line(all);
}
