// Which layouts are compiled as a whole, and which of them is the choice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Finalists.h"

#include "ApplyLayout.h"
#include "passes/dist/devices/DeviceSpecs.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Choosing/Evaluate.h"
#include "weft/Choosing/Failure.h"
#include "weft/Planner/Plan.h"
#include "weft/Support/Diagnostics.h"

#include <future>
#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::choosing;
using planner::Candidate;

namespace {

/// Plans whose times differ by less than that are as fast: the simpler one is taken.
constexpr double kTie = 0.01;
/// By how much the account of a layout may be above or below its seconds as compiled, of which it
/// is a share: test/conformance/plan-accounts holds it to that. Two accounts can be wrong about
/// each other by 17 %; so the next one is compared with what was compiled.
constexpr double kAccountError = 0.08;
/// Models of more ops at `graph` are compiled as a whole no more often than they must be: until two
/// are known, if the second may be faster than the first. Others so often.
constexpr int64_t kManyOps = 1500;
constexpr size_t kFewFinalists = 2, kFinalists = 5, kFinalistsOfMesh = 2;

} // namespace

double Finalists::measureOf(const Evaluation &of) const {
  return question.objective == planner::Objective::Time ? of.prediction.seconds()
                                                        : double(of.memoryBytes());
}

/// Makes the simplest of what is as fast as the best the choice.
void Finalists::take(const Candidate &candidate, Evaluation evaluation) {
  equals.push_back({candidate, std::move(evaluation)});
  double least = measureOf(equals.front().second);
  for (const auto &[other, known] : equals)
    least = std::min(least, measureOf(known));
  llvm::erase_if(equals,
                 [&](const auto &other) { return measureOf(other.second) > least * (1 + kTie); });
  auto &[best, known] = *std::min_element(equals.begin(), equals.end(), [&](auto &a, auto &b) {
    return std::make_tuple(a.first.layout.complexity(), measureOf(a.second)) <
           std::make_tuple(b.first.layout.complexity(), measureOf(b.second));
  });
  choice.layout = best.layout;
  choice.evaluation = known;
  choice.compared = best;
}

/// Whether it is worth seconds to know the memory of a finalist exactly: it may be the choice.
bool Finalists::mayBeChosen(const Evaluation &evaluation) const {
  // Lifetimes may be above the arena, where buffers are shared.
  constexpr double kSharing = 1.25;
  if (double(evaluation.memoryBytes()) > kSharing * double(choice.deviceBytes))
    return false;
  return !choice.isFound() || question.objective == planner::Objective::Memory ||
         measureOf(evaluation) <= (1 + kTie) * measureOf(choice.evaluation);
}

/// The best, and the best of each kind: the fast account may be wrong about a kind.
std::vector<Candidate> Finalists::listed() const {
  std::vector<Candidate> all = choice.search.best;
  for (const Candidate &candidate : choice.search.kinds)
    if (llvm::none_of(all,
                      [&](const Candidate &other) { return other.layout == candidate.layout; }))
      all.push_back(candidate);
  if (question.objective == planner::Objective::Time)
    llvm::sort(all, [](const Candidate &a, const Candidate &b) {
      return std::tie(a.prediction.picoseconds, a.layout) <
             std::tie(b.prediction.picoseconds, b.layout);
    });
  return all;
}

/// Whether one more finalist is of no use: if the account is right about it, it is not better
/// than the best so far.
bool Finalists::isEnough(size_t judged, const Candidate &next) const {
  if (question.isExhaustive)
    return false;
  if (!choice.isFound())
    return judged == kFinalists;
  double seconds = next.prediction.seconds(), best = choice.evaluation.prediction.seconds();
  if (judged < kFewFinalists && seconds <= (1 + kAccountError) * best)
    return false;
  bool isWorse = question.objective == planner::Objective::Time && seconds > (1 + kTie) * best;
  return isWorse || judged == kFinalists || isLarge();
}

/// Whether a finalist behind the first ones can be the choice if the account is right about it: it
/// is faster, or as fast and simpler.
bool Finalists::mayWin(const Candidate &next) const {
  if (question.isExhaustive || !choice.isFound() ||
      question.objective != planner::Objective::Time ||
      next.prediction.seconds() <= choice.evaluation.prediction.seconds())
    return true;
  return next.layout.complexity() < choice.layout->complexity();
}

bool Finalists::isLarge() const {
  int64_t ops = 0;
  account::leadProgram(program.getModule()).walk([&](Operation *) { ++ops; });
  return ops > kManyOps;
}

/// The second finalist, which is nearly always asked for, compiled beside the first one if there
/// are cores. What is found is the same.
class Finalists::SecondAhead {
public:
  SecondAhead(const Finalists &finalists, ArrayRef<Candidate> all) {
    if (all.size() < 2 || finalists.program.getContext().getNumThreads() < 2)
      return;
    running = std::async(std::launch::async, [&finalists, candidate = all[1],
                                              first = isFirstJudged.get_future().share()] {
      return finalists.evaluateQuietly(candidate, [&](const Evaluation &evaluation) {
        first.wait();
        return finalists.mayBeChosen(evaluation);
      });
    });
  }
  ~SecondAhead() {
    if (std::optional<llvm::Expected<Judgement>> unused = take())
      llvm::consumeError(unused->takeError());
  }

  /// To be asked once the first one is judged; nothing if the second one was not begun.
  std::optional<llvm::Expected<Judgement>> take() {
    if (!running.valid())
      return std::nullopt;
    isFirstJudged.set_value();
    return running.get();
  }

private:
  std::promise<void> isFirstJudged;
  std::future<llvm::Expected<Judgement>> running;
};

llvm::Expected<bool> Finalists::judge(planner::MemoryScales &scales) {
  std::vector<Candidate> all = listed();
  SecondAhead second(*this, all);
  return judge(all, second, scales);
}

llvm::Expected<bool> Finalists::judge(ArrayRef<Candidate> all, SecondAhead &second,
                                      planner::MemoryScales &scales) {
  bool hasLearned = false;
  size_t judged = 0;
  std::map<std::string, size_t> judgedOf;
  for (auto [index, listed] : llvm::enumerate(all)) {
    if (isEnough(judged, listed))
      break;
    if (judged >= kFewFinalists && !mayWin(listed))
      continue;
    if (!question.isExhaustive && judgedOf[listed.layout.mesh()] == kFinalistsOfMesh)
      continue;
    std::optional<llvm::Expected<Judgement>> found;
    if (index == 1)
      found = second.take();
    if (!found)
      found.emplace(evaluateQuietly(
          listed, [&](const Evaluation &evaluation) { return mayBeChosen(evaluation); }));
    if (!*found)
      return found->takeError();
    auto &[candidate, known, refusal] = **found;
    if (!known) {
      choice.refused.push_back({candidate.layout, refusal});
      continue;
    }
    Evaluation evaluation = std::move(*known);
    ++judged;
    ++judgedOf[candidate.layout.mesh()];
    evaluation.deviceBytes = choice.deviceBytes;
    choice.finalists.push_back(
        {candidate, evaluation.prediction.seconds(), evaluation.memoryBytes(), evaluation.fits()});
    if (!evaluation.fits()) {
      double scale =
          double(evaluation.memoryBytes()) / double(std::max<int64_t>(1, candidate.bytes()));
      hasLearned |= scale > scales.of(candidate.layout);
      scales.note(candidate.layout, scale);
      continue;
    }
    choice.parameters = evaluation.parameters;
    choice.stateBytes = evaluation.stateBytes;
    take(candidate, std::move(evaluation));
  }
  if (choice.isFound())
    countTies();
  return hasLearned;
}

void Finalists::countTies() {
  double seconds = choice.compared.prediction.seconds();
  for (const Candidate &candidate : choice.search.best)
    choice.ties += !(candidate.layout == *choice.layout) &&
                   std::abs(candidate.prediction.seconds() - seconds) <= kTie * seconds;
}

/// The compiler cuts stages by itself where a person said what nodes cost, where the model file
/// says of which stages they are, and where its blocks are others than the account's: those of a
/// model whose layers differ in more than their ops, by turns.
llvm::Expected<Finalists::Judgement> Finalists::evaluateQuietly(Candidate candidate,
                                                                Deserves deserves) const {
  if (!program.options.phases.stageCosts.empty() ||
      (configured && dist::asksForStages(configured->getModule(), candidate.layout.devices())))
    candidate.chunkBlocks.clear();
  llvm::Expected<Judgement> found = evaluateAsCut(candidate, deserves);
  if (!found || found->evaluation || stagesOf(candidate).empty() || !choice.stages.empty())
    return found;
  candidate.chunkBlocks.clear();
  return evaluateAsCut(candidate, deserves);
}

llvm::Expected<Finalists::Judgement> Finalists::evaluateAsCut(const Candidate &candidate,
                                                              Deserves deserves) const {
  Compilation copy = configured ? configured->clone() : program.clone();
  applyLayout(candidate, copy.options.phases);
  // The plan says so, lest the file be asked.
  if (configured && copy.options.phases.mesh.axes.empty())
    copy.options.phases.mesh = *Mesh::parse(planner::kOneDevice);
  Judgement result{candidate, std::nullopt, ""};
  std::vector<std::pair<Location, std::string>> warnings;
  OwnDiagnosticHandler first(&program.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && result.refusal.empty())
      result.refusal = diagnostic.str();
    if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      warnings.push_back({diagnostic.getLocation(), diagnostic.str()});
    return success();
  });
  llvm::Expected<Evaluation> found = evaluate(copy, question.model, /*profile=*/nullptr, deserves);
  if (found) {
    found->warnings = std::move(warnings);
    result.evaluation = std::move(*found);
    return std::move(result);
  }
  llvm::Error other =
      llvm::handleErrors(found.takeError(), [&](std::unique_ptr<Failure> failure) -> llvm::Error {
        if (failure->cause != Failure::Cause::Program)
          return llvm::Error(std::move(failure));
        return llvm::Error::success();
      });
  if (other)
    return std::move(other);
  return std::move(result);
}
