// Compiles training steps, runs them on ranks in process, compares with the oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TrainingTrial.h"

#include "../../support/Distance.h"
#include "dialects/nn/IR/Nn.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Testing/InProcess/InProcess.h"
#include "weft/Testing/Interpreter/StatefulRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::test;

std::string TrainingFlags::text() const {
  std::string text = "--bind " + bind + " --loss " + loss + " --optimizer " + optimizer;
  auto add = [&](const char *flag, StringRef value, StringRef usual = "") {
    if (value != usual)
      text += (" --" + llvm::Twine(flag) + " '" + value + "'").str();
  };
  add("param-group", paramGroups);
  add("freeze", freeze);
  add("grad-dtype", gradDtype);
  add("mesh", mesh);
  add("place", place);
  add("zero", zero, "0");
  add("recompute", recompute, "none");
  add("sequence-parallel", sequenceParallel ? "on" : "off", "off");
  add("microbatches", llvm::utostr(microbatches), "1");
  add("batch-stats", batchStats, "global");
  add("precision", precision, "fp64");
  add("schedule", schedule, "1f1b");
  return text;
}

void TrainingFlags::set(PhaseOptions &options) const {
  std::string wrong;
  options.train = true;
  options.precision = *parsePrecision(precision);
  wrong += options.bindings.add(bind);
  if (!loss.empty())
    options.loss = llvm::cantFail(step::parseLoss(loss));
  if (!optimizer.empty())
    options.optimizer = llvm::cantFail(step::parseOptimizer(optimizer));
  for (const std::string &group : step::splitList(paramGroups))
    options.paramGroups.push_back(llvm::cantFail(step::parseGroup(group)));
  for (const std::string &pattern : step::splitList(freeze))
    options.freeze.push_back(pattern);
  options.gradDtype = parsePrecision(gradDtype);
  options.mesh = *Mesh::parse(mesh);
  llvm::cantFail(dist::appendRules(place, options.place));
  options.zero = *ZeroStage::parse(zero);
  options.recompute = *parseRecompute(recompute);
  options.sequenceParallel = sequenceParallel;
  options.allowIdleAxes = allowIdleAxes;
  options.microbatches = microbatches;
  options.schedule = schedule;
  options.batchStats = batchStats == "global" ? BatchStats::Global : BatchStats::PerMicrobatch;
  if (!wrong.empty())
    llvm::report_fatal_error(llvm::Twine(wrong));
}

OwningOpRef<ModuleOp> test::importGraph(MLIRContext &context, const std::string &path,
                                        const std::string &bind, int64_t batchParts) {
  OwningOpRef<ModuleOp> module = onnx::importModel(path, &context);
  if (!module)
    return {};
  PhaseOptions graph;
  graph.train = true;
  // Of flags that say how, not of the model.
  graph.loss = llvm::cantFail(step::parseLoss("loss"));
  graph.microbatches = batchParts;
  graph.batchStats = BatchStats::PerMicrobatch;
  if (!graph.bindings.add(bind).empty())
    return {};
  return succeeded(lowerToGraph(*module, graph)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

namespace {

/// Inputs of each step by name, and what the oracle computes of them.
struct Expected {
  std::vector<StatefulRun::Tensors> inputs, results;
  StatefulRun::Tensors initial, states;
  /// Of the other programs, on the states at the end and the last step's inputs.
  std::vector<StatefulRun::Tensors> others;
  /// Per parameter, where rounding decides.
  llvm::StringMap<llvm::BitVector> undetermined;
};

StringRef nameOf(func::FuncOp function, unsigned argument) {
  return function.getArgAttrOfType<StringAttr>(argument, nn::kNameAttr).getValue();
}

/// max|a - b| of max(1, max|b|), but where `skip` says so.
double distance(const HostTensor &found, const HostTensor &expected,
                const llvm::BitVector *skip = nullptr) {
  if (found.integers != expected.integers || found.reals.size() != expected.reals.size())
    return INFINITY;
  Distance distance(Specials::AreWrong, 1);
  for (auto [i, a, b] : llvm::enumerate(found.reals, expected.reals))
    if (!skip || !skip->test(i))
      distance.add(a, b);
    else if (std::isfinite(a) && std::isfinite(b))
      distance.addUncompared(b);
    else
      return INFINITY;
  return distance.relative();
}

/// |a - b| in units of `relative` |b - start| + `absolute`, in l2 norm.
double updateDistance(const HostTensor &found, const HostTensor &expected,
                      const HostTensor &initial, double relative, double absolute) {
  double difference = 0, update = 0;
  for (auto [a, b, start] : llvm::zip_equal(found.reals, expected.reals, initial.reals)) {
    difference += (a - b) * (a - b);
    update += (b - start) * (b - start);
  }
  return found.integers == expected.integers
             ? std::sqrt(difference) / (relative * std::sqrt(update) + absolute)
             : INFINITY;
}

class Runner {
public:
  Runner(const TrainingTrial &trial, ModuleOp programs)
      : trial(trial), step(programs.lookupSymbol<func::FuncOp>("step")) {
    for (auto program : programs.getOps<func::FuncOp>())
      if (program != step)
        others.push_back(program);
  }

  bool runOracle() {
    StatefulRun run;
    if (failed(run.start(step, trial.folder)))
      return false;
    expected.initial = run.states;
    drawInputs();
    for (const StatefulRun::Tensors &inputs : expected.inputs) {
      auto results = run.run(step, inputs);
      if (failed(results))
        return false;
      expected.results.push_back(std::move(*results));
    }
    for (func::FuncOp program : others) {
      auto results = run.run(program, expected.inputs.back());
      if (failed(results))
        return false;
      expected.others.push_back(std::move(*results));
    }
    expected.states = std::move(run.states);
    return !trial.discontinuous || !trial.isCompared() || findUndetermined();
  }

  void runCompiled(emit::InProcessProgram &program, TrialOutcome &outcome) {
    for (unsigned k = 0; k < trial.steps; ++k)
      if (!runProgram(program, step, expected.inputs[k], expected.results[k], trial.isCompared(),
                      "step " + llvm::Twine(k), outcome))
        return;
    for (unsigned a = 0; a < step.getNumArguments(); ++a)
      if (expected.states.contains(nameOf(step, a)) && !compareState(program, a, outcome))
        return;
    // Rows of states that rounding decides are as undetermined as these.
    bool isCompared = trial.isCompared() && outcome.undetermined == 0;
    for (auto [other, results] : llvm::zip_equal(others, expected.others))
      if (!runProgram(program, other, expected.inputs.back(), results, isCompared, other.getName(),
                      outcome))
        return;
  }

  /// How far the oracle's own results and states move when weights move by one ulp,
  /// in the unit of what is allowed.
  double sensitivity() {
    double most = 0;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      StatefulRun run;
      if (!runMoved(seed, run, [&](unsigned k, const StatefulRun::Tensors &results) {
            for (const auto &result : results)
              most = std::max(most,
                              distance(result.second, expected.results[k].lookup(result.first())));
          }))
        return 0;
      for (const auto &entry : run.states) {
        auto skip = expected.undetermined.find(entry.first());
        most =
            std::max(most, distance(entry.second, expected.states.lookup(entry.first()),
                                    skip == expected.undetermined.end() ? nullptr : &skip->second));
      }
    }
    return most / trial.tolerance;
  }

private:
  bool runProgram(emit::InProcessProgram &program, func::FuncOp function,
                  const StatefulRun::Tensors &inputs, const StatefulRun::Tensors &results,
                  bool isCompared, const llvm::Twine &where, TrialOutcome &outcome) {
    SmallVector<StringRef> outputs;
    SmallVector<RankedTensorType> types;
    for (unsigned r = 0; r < function.getNumResults(); ++r)
      if (!function.getResultAttr(r, nn::kUpdatesAttr)) {
        outputs.push_back(function.getResultAttrOfType<StringAttr>(r, nn::kNameAttr).getValue());
        types.push_back(cast<RankedTensorType>(function.getResultTypes()[r]));
      }
    std::vector<HostTensor> values, found;
    for (unsigned a = 0; a < function.getNumArguments(); ++a)
      if (!expected.states.contains(nameOf(function, a)))
        values.push_back(inputs.lookup(nameOf(function, a)));
    if (!program.run(function.getName().str(), values, types, found, outcome.message)) {
      outcome.distance = INFINITY;
      return false;
    }
    double allowed = std::max(trial.tolerance, trial.updateTolerance);
    for (auto [name, value] : llvm::zip_equal(outputs, found)) {
      noteBits(outcome.bits, value);
      if (isCompared)
        note(outcome, distance(value, results.lookup(name)) / allowed,
             "in " + name + " of " + where);
    }
    return true;
  }

  bool compareState(emit::InProcessProgram &program, unsigned argument, TrialOutcome &outcome) {
    StringRef name = nameOf(step, argument);
    HostTensor value;
    if (!program.getState(name, cast<RankedTensorType>(step.getArgumentTypes()[argument]), value,
                          outcome.message)) {
      outcome.distance = INFINITY;
      return false;
    }
    noteBits(outcome.bits, value);
    noteBits(outcome.bitsOfStates[name.str()], value);
    if (!trial.isCompared()) {
      bool isFinite = llvm::all_of(value.reals, [](double x) { return std::isfinite(x); });
      note(outcome, isFinite ? 0 : INFINITY, "no number in state " + name);
      return true;
    }
    const HostTensor oracle = expected.states.lookup(name);
    outcome.elements += oracle.size();
    auto skip = expected.undetermined.find(name);
    if (skip != expected.undetermined.end())
      outcome.undetermined += skip->second.count();
    double ratio = trial.updateTolerance > 0
                       ? updateDistance(value, oracle, expected.initial.lookup(name),
                                        trial.updateTolerance, trial.tolerance)
                       : distance(value, oracle,
                                  skip == expected.undetermined.end() ? nullptr : &skip->second) /
                             trial.tolerance;
    note(outcome, ratio, "in state " + name);
    return true;
  }

  static void noteBits(uint64_t &bits, const HostTensor &value) {
    auto hash = [](const auto &list) {
      return llvm::xxh3_64bits(
          ArrayRef(reinterpret_cast<const uint8_t *>(list.data()), list.size() * sizeof(list[0])));
    };
    bits = bits * 31 + hash(value.reals) + 7 * hash(value.integers);
  }

  static void note(TrialOutcome &outcome, double distance, const llvm::Twine &where) {
    if (distance <= outcome.distance)
      return;
    outcome.distance = std::isnan(distance) ? INFINITY : distance;
    outcome.message = where.str();
  }

  void drawInputs() {
    std::mt19937_64 random(trial.seed);
    for (unsigned k = 0; k < trial.steps; ++k) {
      expected.inputs.emplace_back();
      for (BlockArgument arg : step.getArguments())
        if (StringRef name = nameOf(step, arg.getArgNumber()); !expected.initial.contains(name))
          expected.inputs.back()[name] =
              drawInput(name, cast<RankedTensorType>(arg.getType()), random);
    }
  }

  HostTensor drawInput(StringRef name, RankedTensorType type, std::mt19937_64 &random) {
    HostTensor tensor(type);
    for (double &value : tensor.reals)
      value = double(int(random() % 2001) - 1000) / 1000;
    for (auto [i, value] : llvm::enumerate(tensor.integers)) {
      uint64_t number = random();
      if (name == "labels")
        value = number % 100 < 15 ? -100 : int64_t(number / 100 % trial.classes);
      else if (name == "attention_mask") // the first token of each text is there
        value = i % type.getShape().back() == 0 || number % 4 != 0;
      else
        value = number % (name == "token_type_ids" ? 2 : trial.vocabulary);
    }
    roundToOwnType(tensor);
    return tensor;
  }

  /// The oracle from weights of which each is moved by one ulp, or by none.
  bool runMoved(uint64_t seed, StatefulRun &run,
                llvm::function_ref<void(unsigned, const StatefulRun::Tensors &)> visit) {
    if (failed(run.start(step, trial.folder)))
      return false;
    std::mt19937_64 random(trial.seed + seed);
    for (auto &entry : run.states)
      for (double &value : entry.second.reals)
        value *= 1 + double(int(random() % 3) - 1) * 0x1p-52;
    for (auto [k, inputs] : llvm::enumerate(expected.inputs)) {
      auto results = run.run(step, inputs);
      if (failed(results))
        return false;
      visit(k, *results);
    }
    return true;
  }

  /// Judges by what the optimizer remembers of an element's gradient. One that is 0 because
  /// nothing reaches it, as a kernel's elements that only meet padding, is 0 however the
  /// weights are rounded; one that is 0 because a sum cancels is not.
  bool findUndetermined() {
    double squares = 0;
    llvm::StringMap<std::vector<double>> sizes;
    for (const auto &entry : expected.states) {
      sizes[entry.getKey()] = remembered(expected.states, entry.getKey());
      for (double size : sizes[entry.getKey()])
        squares += size * size;
    }
    StatefulRun moved[2];
    for (auto [i, run] : llvm::enumerate(moved))
      if (!runMoved(i + 1, run, [](unsigned, const StatefulRun::Tensors &) {}))
        return false;
    for (const auto &[name, own] : sizes) {
      if (own.empty())
        continue;
      std::vector<double> first = remembered(moved[0].states, name),
                          second = remembered(moved[1].states, name);
      llvm::BitVector &weak = expected.undetermined[name];
      weak.resize(own.size());
      for (auto [i, size] : llvm::enumerate(own))
        if (size < 1e-8 * std::sqrt(squares) && (size > 0 || first[i] > 0 || second[i] > 0))
          weak.set(i);
    }
    return true;
  }

  static std::vector<double> remembered(const StatefulRun::Tensors &states, StringRef parameter) {
    std::vector<double> sizes;
    if (auto average = states.find((parameter + "#exp_avg").str()); average != states.end())
      for (double value : average->second.reals)
        sizes.push_back(std::abs(value));
    else if (auto sum = states.find((parameter + "#sum").str()); sum != states.end())
      for (double value : sum->second.reals)
        sizes.push_back(std::sqrt(value));
    return sizes;
  }

  const TrainingTrial &trial;
  func::FuncOp step;
  SmallVector<func::FuncOp> others;
  Expected expected;
};

} // namespace

TrialOutcome TrainingTrial::run(MLIRContext &context) const {
  return run(context, Routines::Unrolled);
}

TrialOutcome TrainingTrial::run(MLIRContext &context, Routines routines) const {
  TrialOutcome outcome;
  std::string faults;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      faults += diagnostic.str() + "; ";
    return success();
  });
  auto fail = [&](const llvm::Twine &why) {
    outcome.distance = INFINITY;
    outcome.message = (why + " " + faults).str();
    return outcome;
  };
  // The oracle knows nothing of layouts, microbatches and recomputation.
  TrainingFlags whole = flags;
  whole.mesh = whole.place = "";
  whole.zero = "0";
  whole.recompute = "none";
  whole.sequenceParallel = false;
  whole.microbatches = 1;
  PhaseOptions options, alone;
  flags.set(options);
  options.routines = routines;
  whole.set(alone);
  OwningOpRef<ModuleOp> plain = graph(context), module = graph(context);
  if (!plain || !module)
    return fail("no model:");
  PassManager toStep(&context), toScheduled(&context);
  buildPhase(toStep, Phase::Step, alone);
  for (Phase phase : {Phase::Step, Phase::Sharded, Phase::Staged, Phase::Local, Phase::Scheduled})
    buildPhase(toScheduled, phase, options);
  if (failed(toStep.run(*plain)))
    return fail("no step:");
  Runner runner(*this, *plain);
  if (!runner.runOracle())
    return fail("the oracle fails:");
  if (failed(toScheduled.run(*module)))
    return fail("does not compile:");
  KernelOptions kernels;
  kernels.optLevel = optLevel;
  emit::BlobOptions blob;
  blob.modelDirectory = folder;
  auto artifact = emit::emitArtifact(*module, kernels, blob);
  if (failed(artifact))
    return fail("no code:");
  auto program = emit::InProcessProgram::open(std::move(*artifact), outcome.message);
  if (!program)
    return fail(outcome.message);
  outcome.ranks = program->numRanks();
  runner.runCompiled(*program, outcome);
  if (!outcome.good() && std::isfinite(outcome.distance) && updateTolerance == 0)
    outcome.sensitivity = runner.sensitivity();
  return outcome;
}
