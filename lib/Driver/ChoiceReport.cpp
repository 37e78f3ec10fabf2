// One screen, or one JSON document, of what to choose.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChoiceReport.h"

#include "PlanReport.h"
#include "weft/Choosing/Reasons.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace weft;
using namespace weft::driver;
using choosing::Choice;
using choosing::Finalist;
using choosing::Relaxation;
using explain::sizeText;
using explain::timeText;
using planner::Candidate;
using planner::Layout;
using planner::Role;

namespace {

/// Where a candidate loses most against the choice.
std::string reasonOf(const Candidate &loser, const Candidate &choice) {
  // By Loss::Part.
  static constexpr const char *kNames[] = {"computing", "communication", "bubble", "updates"};
  std::optional<choosing::Loss> loss = choosing::lossOf(loser, choice);
  return loss ? std::string(": ") + kNames[size_t(loss->part)] + " +" +
                    timeText(double(loss->picoseconds) * 1e-12)
              : "";
}

class Text {
public:
  Text(const Choice &choice, int64_t top, llvm::raw_ostream &out)
      : it(choice), top(top), out(out) {}

  void print() {
    out << it.model << ": " << (it.trains ? "a step of training" : "a run") << ", batch "
        << it.batch << ", on " << it.devices << (it.devices == 1 ? " device" : " devices")
        << "; cluster " << it.clusterName << '\n';
    if (!it.isFound())
      return printMisfit();
    printOneDevice();
    printChoice();
    printLosers();
    printRefused();
    printBound();
    for (const std::string &advice : it.advice) {
      line("advice");
      out << advice << '\n';
    }
    for (const std::string &remark : it.evaluation.prediction.remarks)
      out << "note: " << remark << '\n';
  }

private:
  void line(llvm::StringRef title) { out << llvm::left_justify(title, 10); }

  static std::string percent(double share) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.0f", share * 100) << " %";
    return text;
  }

  /// State by class, in bytes a parameter, and what is kept beside it.
  void printOneDevice() {
    if (!it.oneDevice)
      return;
    line("alone");
    int64_t bytes = it.oneDevice->bytes();
    out << (bytes <= it.deviceBytes ? "fits" : "does not fit")
        << " one device: " << sizeText(double(bytes)) << " of " << sizeText(double(it.deviceBytes))
        << ", state " << sizeText(double(it.stateBytes));
    if (it.parameters > 0)
      out << " (" << llvm::format("%.3g", double(it.stateBytes) / double(it.parameters))
          << " bytes a parameter)";
    out << ", one sample at a time" << (it.trains ? ", all recomputed" : "") << '\n';
  }

  void printChoice() {
    line("choice");
    out << it.layout->text() << ": " << timeText(it.evaluation.prediction.seconds());
    if (it.uncertainty > 0)
      out << " +-" << percent(it.uncertainty);
    out << '\n';
    line("why");
    out << why() << '\n';
    printCosts(it.evaluation, out);
  }

  /// What each axis of the choice, and its ZeRO, is good for: of what cannot be the best, not all
  /// was looked at, so that there may be better ones without it.
  std::string why() const {
    std::string text;
    auto add = [&](const std::string &sentence) { text += (text.empty() ? "" : "; ") + sentence; };
    for (const choosing::Use &use : choosing::usesOf(it)) {
      if (use.isAsked)
        add(use.what + " as was asked");
      else if (!use.excess)
        add("nothing that was found without " + use.what + " fits");
      else if (it.objective == planner::Objective::Memory)
        add("without " + use.what +
            (*use.excess < 0.005 ? " no more memory"
                                 : " at most " + percent(*use.excess) + " more memory"));
      else
        add("without " + use.what +
            (*use.excess < 0.005 ? " no slower" : " at most " + percent(*use.excess) + " slower"));
    }
    if (it.ties > 0)
      add(std::to_string(it.ties) + (it.ties == 1 ? " other is" : " others are") +
          " as fast within 1 % and not simpler");
    if (size_t count = it.tooLarge().size(); count > 0)
      add(std::to_string(count) + " faster by the account did not fit as compiled");
    if (!it.refused.empty())
      add(std::to_string(it.refused.size()) + " faster by the account cannot be compiled");
    return text.empty() ? "it is the only one" : text;
  }

  void printLoser(llvm::StringRef title, const Candidate &loser) {
    double more = loser.prediction.seconds() / it.compared.prediction.seconds() - 1;
    line(title);
    out << loser.layout.text() << ": " << timeText(loser.prediction.seconds()) << " ("
        << (more >= 0 ? "+" : "") << llvm::format("%.1f", more * 100) << " %"
        << reasonOf(loser, it.compared) << "), " << sizeText(double(loser.bytes())) << '\n';
  }

  /// Of these only the account is known, so they are compared with that of the choice.
  void printLosers() {
    bool isFirst = true;
    auto show = [&](const Candidate &loser) {
      if (isFirst) {
        line("losers");
        out << "by the account, which has the choice at "
            << timeText(it.compared.prediction.seconds()) << ":\n";
      }
      isFirst = false;
      printLoser("", loser);
    };
    int64_t shown = 0;
    for (const Candidate &other : it.search.best)
      if (shown < top && !(other.layout == *it.layout)) {
        show(other);
        ++shown;
      }
    for (const Candidate &other : it.search.kinds)
      if (!llvm::any_of(it.search.best,
                        [&](const Candidate &best) { return best.layout == other.layout; }))
        show(other);
    if (it.folklore && !(it.folklore->layout == *it.layout))
      printLoser("folklore", *it.folklore);
  }

  void printRefused() {
    auto print = [&](llvm::StringRef what, llvm::StringRef error) {
      line("refused");
      out << what << ": " << error << '\n';
    };
    for (const auto &[group, error] : it.failures)
      print(group, error);
    for (const auto &[layout, error] : it.refused)
      print(layout.text(), error);
    for (const auto &[error, layout] : it.search.unpriced)
      print(layout.text(), "our bug, its account cannot be simulated: " + error);
  }

  void printBound() {
    line("bound");
    if (!it.search.isComplete) {
      out << "none: the budget ended after " << it.search.simulated << " of " << it.search.layouts
          << " layouts\n";
      return;
    }
    const bool ofTime = it.objective == planner::Objective::Time;
    auto textOf = [&](const Candidate &candidate) {
      return ofTime ? timeText(candidate.prediction.seconds())
                    : sizeText(double(candidate.bytes()));
    };
    const Candidate &best = it.search.best.front();
    double gap = choosing::excess(it.compared, best, it.objective);
    out << "by the account none of " << it.search.layouts << " layouts that fit "
        << (ofTime ? "is faster than " : "needs less than ") << textOf(best) << "; this one, "
        << textOf(it.compared) << " by it, is within " << llvm::format("%.1f", gap * 100) << " % ("
        << it.search.simulated << " simulated, " << it.compiledPrograms
        << " small programs compiled)\n";
  }

  void printMisfit() {
    line("fits");
    out << (it.search.isComplete ? "nothing" : "nothing that was found before the budget ended");
    if (it.search.smallest)
      out << ": of " << it.search.layouts << " layouts " << it.search.smallest->layout.text()
          << " needs least, " << sizeText(double(it.search.smallestBytes)) << " of "
          << sizeText(double(it.deviceBytes));
    else if (it.search.layouts == 0)
      out << ": no layout of " << it.devices << " devices divides a batch of " << it.batch
          << " as was asked; stages are cut between blocks that repeat, of which the model has "
          << (it.blocks > 0 ? std::to_string(it.blocks)
                            : "too few (--evaluate pp=N says what other stages cost)");
    out << '\n';
    for (const Finalist &finalist : it.tooLarge())
      out << "          " << finalist.byAccount.layout.text() << " needs "
          << sizeText(double(finalist.bytes)) << " as compiled\n";
    printRefused();
    llvm::StringRef title = "helps";
    for (const Relaxation &relaxation : it.relaxations) {
      line(title);
      title = "";
      out << relaxation.change << ": " << relaxation.candidate.layout.text() << ", "
          << timeText(relaxation.candidate.prediction.seconds()) << ", "
          << sizeText(double(relaxation.candidate.bytes())) << '\n';
    }
    if (it.relaxations.empty())
      out << "helps     nothing alone that was tried: devices, memory, what was fixed or "
             "forbidden\n";
  }

  const Choice &it;
  int64_t top;
  llvm::raw_ostream &out;
};

void writeLayout(llvm::json::OStream &json, const Layout &layout, double seconds, int64_t bytes) {
  json.object([&] {
    json.attribute("mesh", layout.mesh());
    json.attribute("microbatches", layout.microbatches);
    if (layout.size(Role::Stages) > 1)
      json.attribute("schedule", layout.schedule);
    json.attribute("zero", layout.zero);
    json.attribute("recompute", nameOf(layout.recompute));
    json.attribute("sequence_parallel", layout.sequenceParallel);
    json.attribute("step_seconds", seconds);
    json.attribute("memory_bytes", bytes);
  });
}

void writeLayout(llvm::json::OStream &json, const Candidate &candidate) {
  writeLayout(json, candidate.layout, candidate.prediction.seconds(), candidate.bytes());
}

} // namespace

void driver::printText(const Choice &choice, int64_t top, llvm::raw_ostream &out) {
  Text(choice, top, out).print();
}

explain::Forecast driver::forecastOf(const Choice &it) {
  explain::Forecast forecast = forecastOf(it.evaluation);
  auto add = [&](const Layout &layout, const char *kind, double seconds, int64_t bytes) {
    forecast.candidates.push_back({layout.text(), kind, seconds, bytes});
  };
  auto addAll = [&](const std::vector<Candidate> &candidates, const char *kind) {
    for (const Candidate &candidate : candidates)
      add(candidate.layout, kind, candidate.prediction.seconds(), candidate.bytes());
  };
  add(*it.layout, "the choice", it.evaluation.prediction.seconds(), it.evaluation.memoryBytes());
  for (const Finalist &finalist : it.finalists)
    if (!(finalist.byAccount.layout == *it.layout))
      add(finalist.byAccount.layout, "as compiled", finalist.seconds, finalist.bytes);
  addAll(it.search.best, "among the best by the account");
  addAll(it.search.kinds, "best of its kind by the account");
  if (it.folklore)
    addAll({*it.folklore}, "folklore by the account");
  return forecast;
}

void driver::printJson(const Choice &it, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, 1);
  auto list = [&](llvm::StringRef name, const std::vector<Candidate> &candidates) {
    json.attributeArray(name, [&] {
      for (const Candidate &candidate : candidates)
        writeLayout(json, candidate);
    });
  };
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("model", llvm::json::fixUTF8(it.model));
    json.attribute("cluster", llvm::json::fixUTF8(it.clusterName));
    json.attribute("devices", it.devices);
    json.attribute("batch", it.batch);
    json.attribute("device_bytes", it.deviceBytes);
    json.attribute("fits", it.isFound());
    if (it.isFound()) {
      json.attributeBegin("choice");
      writeLayout(json, it.compared);
      json.attributeEnd();
      json.attribute("step_seconds", it.evaluation.prediction.seconds());
      json.attribute("memory_bytes", it.evaluation.memoryBytes());
      json.attribute("memory_is_exact", it.evaluation.isExact);
      json.attribute("parameters", it.parameters);
      json.attribute("state_bytes", it.stateBytes);
      const Candidate &best = it.search.best.front();
      // What was not simulated before the budget ended may be better.
      if (it.search.isComplete && it.objective == planner::Objective::Time)
        json.attribute("bound_seconds", best.prediction.seconds());
      else if (it.search.isComplete)
        json.attribute("bound_bytes", best.bytes());
    }
    json.attribute("layouts", it.search.layouts);
    json.attribute("simulated", it.search.simulated);
    json.attribute("complete", it.search.isComplete);
    list("best", it.search.best);
    list("kinds", it.search.kinds);
    if (it.folklore) {
      json.attributeBegin("folklore");
      writeLayout(json, *it.folklore);
      json.attributeEnd();
    }
    if (it.search.smallest && !it.isFound()) {
      json.attributeBegin("smallest");
      writeLayout(json, *it.search.smallest);
      json.attributeEnd();
    }
    json.attributeArray("too_large", [&] {
      for (const Finalist &finalist : it.tooLarge())
        json.object([&] {
          json.attribute("layout", finalist.byAccount.layout.text());
          json.attribute("memory_bytes", finalist.bytes);
        });
    });
    json.attributeArray("compiled", [&] {
      for (const Finalist &finalist : it.finalists)
        if (finalist.fits)
          writeLayout(json, finalist.byAccount.layout, finalist.seconds, finalist.bytes);
    });
    auto write = [&](const std::string &what, const std::string &error) {
      json.object([&] {
        json.attribute("layout", what);
        json.attribute("error", llvm::json::fixUTF8(error));
      });
    };
    json.attributeArray("refused", [&] {
      for (const auto &[group, error] : it.failures)
        write(group, error);
      for (const auto &[layout, error] : it.refused)
        write(layout.text(), error);
    });
    json.attributeArray("unpriced", [&] {
      for (const auto &[error, layout] : it.search.unpriced)
        write(layout.text(), error);
    });
    json.attributeArray("relaxations", [&] {
      for (const Relaxation &relaxation : it.relaxations)
        json.object([&] {
          json.attribute("change", relaxation.change);
          json.attributeBegin("layout");
          writeLayout(json, relaxation.candidate);
          json.attributeEnd();
        });
    });
  });
  out << '\n';
}
