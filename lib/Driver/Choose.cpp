// Asks the search, and has its finalists judged by the compiler itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Choose.h"

#include "ChoosePlaces.h"
#include "Report.h"
#include "passes/dist/DeviceSpecs.h"
#include "weft/Account/ProgramAccount.h"
#include "weft/Cost/CostModel.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Planning/Sampler.h"
#include "weft/Support/OutputFile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;
using planner::Candidate;
using planner::Layout;
using planner::Role;

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
/// A search in which no finalist fits is repeated with their memory as measured, so often.
constexpr int kRounds = 3;

/// As --stages has it; "" where there are none, or where one has no block of its own.
std::string stagesOf(const Candidate &candidate) {
  const std::vector<int64_t> &counts = candidate.stageBlocks;
  if (counts.size() < 2 || llvm::is_contained(counts, 0))
    return "";
  std::string text = "blocks:";
  for (int64_t count : counts)
    text += (text.back() == ':' ? "" : ",") + std::to_string(count);
  return text;
}

void setLayout(PhaseOptions &phases, const Candidate &candidate) {
  const Layout &layout = candidate.layout;
  std::string mesh = layout.mesh();
  phases.mesh = mesh.empty() ? Mesh() : *Mesh::parse(mesh);
  phases.microbatches = layout.microbatches;
  phases.schedule = layout.schedule;
  phases.zero = {unsigned(layout.zero), ""};
  phases.recompute = planner::nameOf(layout.recompute);
  phases.sequenceParallel = layout.sequenceParallel;
  // Where a person did not say it.
  if (phases.stages.empty())
    phases.stages = stagesOf(candidate);
}

class Chooser {
public:
  Chooser(Compilation &program, const Options &options, const Question &question,
          const Messages &messages, Choice &choice)
      : program(program), options(options), question(question), messages(messages), choice(choice) {
  }

  int run() {
    if (int code = begin())
      return code;
    choice.batch = sampler->batch();
    if (int code = setSpace())
      return code;
    if (int code = find())
      return code;
    choice.compiledPrograms = sampler->compiled();
    for (const auto &failure : sampler->failures())
      if (llvm::none_of(choice.failures,
                        [&](const auto &told) { return told.second == failure.second; }))
        choice.failures.push_back({planner::textOf(failure.first), failure.second});
    if (!choice.isFound()) {
      relax();
      return Ok;
    }
    compareWithFolklore();
    advise();
    return Ok;
  }

private:
  int begin() {
    program.options.phases.mesh = {};
    Compilation imported = program.clone();
    if (dist::hasDeviceConfigurations(imported.getModule()))
      configured.emplace(imported.clone());
    if (failed(program.runTo(Phase::Graph)))
      return messages.failed(program.compilerIsToBlame());
    sampler.emplace(program, std::move(imported));
    FailureOr<CostModel> costs = costModelOf(program.getModule(), Mesh());
    if (failed(costs))
      return messages.failed(false);
    cluster = costs->cluster();
    choice.model = llvm::sys::path::filename(options.model).str();
    choice.clusterName = cluster.name;
    choice.uncertainty = cluster.uncertainty;
    choice.deviceBytes = options.compile.memoryLimit > 0 ? options.compile.memoryLimit
                                                         : int64_t(cluster.device.usableBytes());
    choice.trains = options.compile.phases.train;
    choice.stages = options.compile.phases.stages;
    choice.devices = question.devices;
    choice.objective = question.objective;
    if (choice.devices == 0)
      return tell("how many devices of cluster '" + cluster.name + "'? give --devices N", Usage);
    return Ok;
  }

  bool isGiven(llvm::StringRef flag) const {
    return llvm::any_of(options.given, [&](const GivenFlag &given) { return given.flag == flag; });
  }

  int setSpace() {
    const PhaseOptions &phases = options.compile.phases;
    if (isGiven("--batch-axes"))
      return tell("--batch-axes names axes of a mesh, which is to be chosen; leave it out, or ask "
                  "about a mesh with --evaluate",
                  Usage);
    space.batch = choice.batch;
    space.trains = choice.trains;
    choice.blocks = space.blocks = sampler->blocks();
    if (isGiven("--microbatches") || sampler->hasBatchStatistics())
      space.allowedMicrobatches = {phases.microbatches};
    if (isGiven("--zero"))
      space.allowedZero = {int64_t(phases.zero.stage)};
    if (isGiven("--schedule") && !pipeline::findGenerator(phases.schedule))
      return tell("--schedule: plans are made for schedules that have names and one chunk a stage; "
                  "choose 1f1b, zb-h1 or zb-h2",
                  Usage);
    if (isGiven("--schedule"))
      space.schedules = {phases.schedule};
    if (isGiven("--sequence-parallel"))
      space.allowedSequenceParallel = {phases.sequenceParallel};
    for (size_t kind = 0; kind < planner::kRecomputeCount; ++kind)
      if (isGiven("--recompute") && phases.recompute == planner::nameOf(planner::Recompute(kind)))
        space.allowedRecompute = {planner::Recompute(kind)};
    apply(question, space);
    return setPlaces();
  }

  /// Axes over which something is to be split get several devices. Names and sizes are those of the
  /// program, whatever axes will have.
  int setPlaces() {
    const std::vector<dist::PlacementRule> &rules = options.compile.phases.place;
    if (rules.empty())
      return Ok;
    for (const dist::PlacementRule &rule : rules)
      choice.place.push_back(rule.text);
    if (std::string wrong = needAxes(rules, numbersOfDevices(), space); !wrong.empty())
      return tell(wrong, Usage);
    Compilation copy = program.clone();
    copy.options.phases.mesh = *Mesh::parse("dp=1,tp=1");
    return succeeded(copy.checkPlaces()) ? int(Ok) : messages.failed(false);
  }

  /// The numbers that are looked at, one after the other.
  std::vector<int64_t> numbersOfDevices() const {
    std::vector<int64_t> numbers;
    int64_t most = question.devices;
    for (int64_t devices = question.wantsFewestDevices ? 1 : most; devices <= most; ++devices)
      if (most % devices == 0)
        numbers.push_back(devices);
    return numbers;
  }

  static void apply(const Question &question, planner::Space &space) {
    for (size_t role = 0; role < planner::kRoleCount; ++role) {
      if (auto fixed = question.fixed.find(planner::nameOf(Role(role)));
          fixed != question.fixed.end())
        space.allowedSizes[role] = {fixed->second};
      if (question.forbidden.count(planner::nameOf(Role(role))))
        space.allowedSizes[role] = {1};
    }
    if (question.forbidden.count("zero"))
      space.allowedZero = {0};
    if (question.forbidden.count("recompute"))
      space.allowedRecompute = {planner::Recompute::None};
    if (question.forbidden.count("sp"))
      space.allowedSequenceParallel = {false};
    if (question.forbidden.count("microbatches"))
      space.allowedMicrobatches = {1};
  }

  planner::Options searchOptions() const {
    planner::Options search;
    search.objective = question.objective;
    search.deviceBytes = choice.deviceBytes;
    search.memoryScale = memoryScale;
    search.wanted = std::max<size_t>(4, size_t(question.top) + 1);
    search.budget = question.budget;
    search.isExhaustive = question.isExhaustive;
    search.bucketBytes = options.compile.phases.bucketBytes;
    return search;
  }

  void use(int64_t devices) {
    choice.devices = space.devices = devices;
    space.ordersMatter = cluster.levels.size() > 1 && cluster.levels.front().devices < devices;
  }

  int find() {
    for (int64_t devices : numbersOfDevices()) {
      // What fewer devices are too small for is not of this answer.
      choice.finalists.clear();
      choice.refused.clear();
      memoryScale = 1;
      use(devices);
      if (int code = findOnDevices(); code != Ok || choice.isFound())
        return code;
    }
    return Ok;
  }

  /// Searches until a finalist fits as it is compiled, or nothing does.
  int findOnDevices() {
    for (int round = 0; round < kRounds && !choice.isFound(); ++round) {
      choice.search = planner::search(space, cluster, *sampler, searchOptions());
      if (choice.search.best.empty())
        return Ok;
      double worst = memoryScale;
      if (int code = judge(worst))
        return code;
      if (worst == memoryScale)
        break;
      memoryScale = worst;
    }
    return Ok;
  }

  double measureOf(const Evaluation &of) const {
    return question.objective == planner::Objective::Time ? of.prediction.seconds()
                                                          : double(of.memoryBytes());
  }

  /// Makes the simplest of what is as fast as the best the choice.
  void take(const Candidate &candidate, Evaluation evaluation) {
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
  bool mayBeChosen(const Evaluation &evaluation) const {
    // Lifetimes may be above the arena, where buffers are shared.
    constexpr double kSharing = 1.25;
    if (double(evaluation.memoryBytes()) > kSharing * double(choice.deviceBytes))
      return false;
    return !choice.isFound() || question.objective == planner::Objective::Memory ||
           measureOf(evaluation) <= (1 + kTie) * measureOf(choice.evaluation);
  }

  /// The best, and the best of each kind: the fast account may be wrong about a kind.
  std::vector<Candidate> finalists() const {
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
  bool isEnough(size_t judged, const Candidate &next) const {
    if (question.isExhaustive)
      return false;
    if (!choice.isFound())
      return judged == kFinalists;
    double seconds = next.prediction.seconds(), best = choice.evaluation.prediction.seconds();
    if (judged < kFewFinalists && seconds <= (1 + kAccountError) * best)
      return false;
    bool isWorse = question.objective == planner::Objective::Time && seconds > best;
    return isWorse || judged == kFinalists || isLarge();
  }

  /// Compiles finalists. `worst`: the most by which memory exceeded the account's.
  int judge(double &worst) {
    size_t judged = 0;
    std::map<std::string, size_t> judgedOf;
    for (Candidate candidate : finalists()) {
      if (isEnough(judged, candidate))
        break;
      if (!question.isExhaustive && judgedOf[candidate.layout.mesh()] == kFinalistsOfMesh)
        continue;
      Evaluation evaluation;
      std::optional<int> code = evaluateQuietly(candidate, evaluation);
      if (!code)
        continue;
      if (*code != Ok)
        return *code;
      ++judged;
      ++judgedOf[candidate.layout.mesh()];
      evaluation.deviceBytes = choice.deviceBytes;
      choice.finalists.push_back({candidate, evaluation.prediction.seconds(),
                                  evaluation.memoryBytes(), evaluation.fits()});
      if (!evaluation.fits()) {
        worst = std::max(worst, double(evaluation.memoryBytes()) /
                                    double(std::max<int64_t>(1, candidate.bytes())));
        continue;
      }
      choice.parameters = evaluation.parameters;
      choice.stateBytes = evaluation.stateBytes;
      take(candidate, std::move(evaluation));
    }
    if (choice.isFound())
      for (const Candidate &candidate : choice.search.best)
        choice.ties +=
            !(candidate.layout == *choice.layout) &&
            std::abs(candidate.prediction.seconds() - choice.compared.prediction.seconds()) <=
                kTie * choice.compared.prediction.seconds();
    return Ok;
  }

  bool isLarge() const {
    int64_t ops = 0;
    account::leadProgram(program.getModule()).walk([&](Operation *) { ++ops; });
    return ops > kManyOps;
  }

  /// Nothing if the compiler refuses the layout. It cuts stages by itself where a person said what
  /// nodes cost, where the model file says of which stages they are, and where its blocks are
  /// others than the account's: those of a model whose layers differ in more than their ops, by
  /// turns.
  std::optional<int> evaluateQuietly(Candidate &candidate, Evaluation &evaluation) {
    if (!program.options.phases.stageCosts.empty() ||
        (configured && dist::asksForStages(configured->getModule(), candidate.layout.devices())))
      candidate.stageBlocks.clear();
    std::optional<int> code = evaluateAsCut(candidate, evaluation);
    if (code || stagesOf(candidate).empty() || !choice.stages.empty())
      return code;
    candidate.stageBlocks.clear();
    evaluation = Evaluation();
    code = evaluateAsCut(candidate, evaluation);
    choice.refused.pop_back(); // told once, or not at all
    return code;
  }

  std::optional<int> evaluateAsCut(const Candidate &candidate, Evaluation &evaluation) {
    Compilation copy = configured ? configured->clone() : program.clone();
    setLayout(copy.options.phases, candidate);
    // The plan says so, lest the file be asked.
    if (configured && copy.options.phases.mesh.axes.empty())
      copy.options.phases.mesh = *Mesh::parse(planner::kOneDevice);
    std::string error;
    ScopedDiagnosticHandler first(&program.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
        error = diagnostic.str();
      if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
        evaluation.warnings.push_back({diagnostic.getLocation(), diagnostic.str()});
      return success();
    });
    FailureOr<int> code = evaluate(copy, options, "", evaluation,
                                   [&](const Evaluation &known) { return mayBeChosen(known); });
    if (succeeded(code))
      return *code;
    choice.refused.push_back({candidate.layout, error});
    return std::nullopt;
  }

  std::optional<Candidate> simulate(const planner::Space &where, const Layout &layout) {
    return planner::simulate(where, layout, cluster, *sampler, searchOptions(),
                             choice.search.unpriced);
  }

  /// Beside the search for the choice.
  planner::Result searchFor(const planner::Space &where, const planner::Options &options) {
    planner::Result found = planner::search(where, cluster, *sampler, options);
    choice.search.unpriced.merge(found.unpriced);
    return found;
  }

  void compareWithFolklore() {
    int64_t node = cluster.levels.size() > 1 ? cluster.levels.front().devices : choice.devices;
    int64_t tensor = std::gcd(node, choice.devices);
    if (choice.devices > 1 && sampler->blocks() > 1)
      for (int64_t stages = 1; stages <= choice.devices / tensor && !choice.folklore; ++stages) {
        planner::Space narrow = space;
        apply(question, narrow);
        if ((choice.devices / tensor) % stages != 0 || stages > space.blocks ||
            !narrow.allowedSizes[size_t(Role::Tensor)].empty() ||
            !narrow.allowedSizes[size_t(Role::Stages)].empty())
          continue;
        narrow.allowedSizes = {std::vector<int64_t>{stages}, {}, {tensor}};
        narrow.ordersMatter = false;
        narrow.schedules = {"1f1b"};
        if (narrow.allowedZero.empty())
          narrow.allowedZero = {0, 1};
        planner::Options search = searchOptions();
        search.wanted = 1;
        planner::Result found = searchFor(narrow, search);
        if (!found.best.empty())
          choice.folklore = found.best.front();
      }
    // Of its kind the search may have left it out, as it is not among the best of all.
    if (choice.folklore)
      for (Candidate &candidate : choice.search.kinds)
        if (planner::kindOf(candidate.layout) == planner::kindOf(choice.folklore->layout) &&
            choice.folklore->prediction.picoseconds < candidate.prediction.picoseconds)
          candidate = *choice.folklore;
    Layout alone;
    alone.microbatches = choice.batch;
    if (choice.trains)
      alone.recompute = planner::Recompute::Full;
    if (choice.devices > 1)
      choice.oneDevice = simulate(space, alone);
  }

  static double bubbleOf(const Candidate &candidate) {
    return double(candidate.prediction.causes.bubble) / double(candidate.prediction.picoseconds);
  }

  void advise() {
    auto percent = [](double share) { return std::to_string(int(std::lround(100 * share))); };
    constexpr double kMuch = 0.1;
    if (double bubble = bubbleOf(choice.compared); bubble > kMuch) {
      // A larger batch in microbatches of the same size.
      planner::Space larger = space;
      Layout layout = *choice.layout;
      larger.batch *= 2;
      layout.microbatches *= 2;
      std::optional<Candidate> with = simulate(larger, layout);
      if (with && bubbleOf(*with) < bubble)
        choice.advice.push_back("the bubble is " + percent(bubble) +
                                " %: " + std::to_string(layout.microbatches) +
                                " microbatches, of a batch of " + std::to_string(larger.batch) +
                                ", would give " + percent(bubbleOf(*with)) + " %");
    }
    const cost::Causes &causes = choice.compared.prediction.causes;
    for (auto [axis, time] : llvm::zip(choice.evaluation.account.axes, causes.exposed))
      if (double share = double(time) / double(choice.compared.prediction.picoseconds);
          share > 2 * kMuch)
        choice.advice.push_back(percent(share) + " % of the time devices wait for what goes over " +
                                axis.name + ": faster links, or a larger batch, would help");
  }

  /// One constraint at a time, each by as little as helps.
  void relax() {
    auto attempt = [&](const planner::Space &wider, int64_t deviceBytes,
                       const std::string &change) {
      planner::Options search = searchOptions();
      search.wanted = 1;
      search.deviceBytes = deviceBytes;
      planner::Space possible = wider;
      if (sampler->hasBatchStatistics())
        possible.allowedMicrobatches = space.allowedMicrobatches;
      planner::Result found = searchFor(possible, search);
      if (found.best.empty())
        return false;
      choice.relaxations.push_back({change, found.best.front()});
      return true;
    };
    constexpr int kDoublings = 10;
    planner::Space smaller = space, wider = space;
    while (smaller.batch % 2 == 0) {
      smaller.batch /= 2;
      if (attempt(smaller, choice.deviceBytes, "a batch of " + std::to_string(smaller.batch)))
        break;
    }
    for (int i = 0; i < kDoublings; ++i) {
      wider.devices *= 2;
      if (attempt(wider, choice.deviceBytes, std::to_string(wider.devices) + " devices"))
        break;
    }
    if (choice.search.smallest)
      attempt(space, choice.search.smallest->bytes(),
              "devices of " + explain::sizeText(double(choice.search.smallest->bytes())));
    struct Lift {
      const char *what;
      void (*lift)(planner::Space &);
    };
    for (const Lift &lift : std::initializer_list<Lift>{
             {"tensor parallelism (tp)",
              [](planner::Space &to) { to.allowedSizes[size_t(Role::Tensor)].clear(); }},
             {"stages (pp)",
              [](planner::Space &to) { to.allowedSizes[size_t(Role::Stages)].clear(); }},
             {"splitting the batch (dp)",
              [](planner::Space &to) { to.allowedSizes[size_t(Role::Data)].clear(); }},
             {"splitting state (ZeRO)", [](planner::Space &to) { to.allowedZero.clear(); }},
             {"recomputation", [](planner::Space &to) { to.allowedRecompute.clear(); }},
             {"other numbers of microbatches",
              [](planner::Space &to) { to.allowedMicrobatches.clear(); }},
             {"sequence parallelism",
              [](planner::Space &to) { to.allowedSequenceParallel.clear(); }}}) {
      planner::Space lifted = space;
      lift.lift(lifted);
      if (lifted.layouts().size() != space.layouts().size())
        attempt(lifted, choice.deviceBytes, std::string("to allow ") + lift.what);
    }
  }

  Compilation &program;
  const Options &options;
  const Question &question;
  const Messages &messages;
  Choice &choice;
  Cluster cluster;
  /// A model whose file says where its parts are: how much of that is obeyed depends on the mesh.
  std::optional<Compilation> configured;
  std::optional<Sampler> sampler;
  planner::Space space;
  /// By how much more than the account says finalists needed as compiled.
  double memoryScale = 1;
  /// Finalists that fit and are as fast as the best of them.
  std::vector<std::pair<Candidate, Evaluation>> equals;
};

} // namespace

int driver::choose(Compilation &program, const Options &options, const Question &question,
                   const Messages &messages, Choice &choice) {
  return Chooser(program, options, question, messages, choice).run();
}

std::vector<Finalist> Choice::tooLarge() const {
  std::vector<Finalist> found;
  llvm::copy_if(finalists, std::back_inserter(found),
                [](const Finalist &finalist) { return !finalist.fits; });
  return found;
}

planner::Plan driver::planOf(const Choice &choice) {
  planner::Plan plan = planner::planOf(*choice.layout, choice.trains);
  plan.model = choice.model;
  plan.cluster = choice.clusterName;
  plan.place = choice.place;
  // Where a mesh must be said, lest the model file be asked for its own.
  if (choice.evaluation.layout == planner::kOneDevice)
    plan.mesh = choice.evaluation.layout;
  std::string stages = choice.stages.empty() ? stagesOf(choice.compared) : choice.stages;
  if (plan.schedule && !stages.empty())
    plan.stages = stages;
  plan.stepSeconds = choice.evaluation.prediction.seconds();
  plan.memoryBytes = choice.evaluation.memoryBytes();
  return plan;
}

llvm::Error driver::writePlan(const Choice &choice, const std::string &path) {
  OutputFile file;
  if (llvm::Error wrong = file.open(path))
    return wrong;
  file.os() << planner::writePlan(planOf(choice));
  return file.commit();
}
