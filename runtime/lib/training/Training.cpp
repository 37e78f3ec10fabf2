// The loop over steps and what happens between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Training.h"

#include "base/Interrupt.h"
#include "checkpoint/CheckpointFolder.h"
#include "job/Agreement.h"
#include "session/AmongProcesses.h"
#include "session/FirstNotFinite.h"
#include "session/Generation.h"
#include "terminal/Printer.h"
#include "training/BatchFeed.h"
#include "training/FixedInputs.h"
#include "training/Replicas.h"
#include "training/StepRunner.h"
#include "training/TrainingLog.h"

#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/OutputFile.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dirent.h>

using namespace weft::runtime;

namespace {

class Trainer {
public:
  Trainer(weft_session &session, const TrainingOptions &options, bool speaks)
      : session(session), options(options), p(session.view()), roles(BatchFeed::rolesOf(p)),
        log(speaks, !roles.tokens.empty(), {options.quiet, options.logEvery}), reports(session),
        steps(session, "step", roles), evaluation(session, "eval", roles), fixed(session),
        generator(session), runner(session, steps, reports) {}

  Status run() {
    if (options.interrupt)
      options.interrupt->follow(&session.shared.board.header());
    Status status = runAll();
    if (options.interrupt)
      options.interrupt->follow(nullptr);
    return status;
  }

private:
  Status runAll() {
    WEFT_TRY(prepare());
    WEFT_TRY(loadState());
    Status trained = trainSteps();
    log.end();
    WEFT_TRY(trained);
    WEFT_TRY(saveFailure);
    if (evaluates && !evaluated && !stopped) {
      StepRecord record;
      WEFT_TRY(evaluate(record));
      if (record.evaluated) {
        char line[96];
        std::snprintf(line, sizeof line, "eval_loss %.9g over %.0f elements", record.evaluationLoss,
                      record.evaluationElements);
        log.result(line);
      } else {
        log.note("evaluation stopped");
      }
    }
    if (writer) {
      Progress progress(shows(), "saving the checkpoint");
      WEFT_TRY(writer->finish());
    }
    reportMemory();
    reportTraffic();
    if (options.generation.wanted && !stopped)
      WEFT_TRY(generate());
    WEFT_TRY(reportNumbers());
    return log.fileStatus();
  }

  Status generate() {
    log.text(generator.untold(false));
    int64_t done = 0, wanted = options.generation.tokens;
    if (options.generation.wanted)
      WEFT_TRY(fixed.put(Generator::kProgram));
    Status status;
    {
      // Where the text is looked at, it shows itself how far it is.
      Progress progress(shows() && !log.isOnTerminal(), "generating", uint64_t(wanted));
      for (; done < wanted && !stopped && status.ok(); ++done, progress.add(1)) {
        Clock::time_point begun = Clock::now();
        int stop = interrupted();
        status = generator.next(stop);
        log.text(generator.untold(false));
        // What asked during the last token came too late to stop anything.
        if (done + 1 < wanted)
          heed(stop, secondsSince(begun));
      }
    }
    log.text(generator.untold(true));
    log.endText(stopped ? kReaderSeconds : kNoLimit);
    if (stopped)
      log.note("stopped after %lld of %lld tokens", static_cast<long long>(done),
               static_cast<long long>(wanted));
    return status;
  }

  /// Everything that can be wrong with the command line, before slow things.
  Status prepare() {
    reports.open();
    trains = options.steps > 0;
    evaluates = !options.evalData.empty() || !options.evalDataTokens.empty();
    if (trains) {
      WEFT_TRY(feed(steps, options.data, options.dataTokens));
      WEFT_TRY(fixed.read("step", options.inputs));
      for (const std::string &doubt : steps.doubts())
        log.warning(doubt);
      WEFT_TRY(runner.open(options.runAhead));
      if (options.replicasEvery > 0)
        replicas.emplace(session);
    }
    if (evaluates) {
      WEFT_TRY(feed(evaluation, options.evalData, options.evalDataTokens));
      WEFT_TRY(fixed.read("eval", options.inputs));
      WEFT_TRY(evalLoss.find(p, "eval", "loss"));
      WEFT_TRY(checkEvaluation());
    }
    // Files of other lengths would put other samples into the same step.
    std::string sizes;
    if (trains)
      sizes += "samples of --data\t" + std::to_string(steps.samples()) + "\n";
    if (evaluates)
      sizes += "samples of --eval-data\t" + std::to_string(evaluation.samples()) + "\n";
    WEFT_TRY(agreeOn(session, sizes));
    if (options.generation.wanted) {
      WEFT_TRY(generator.prepare(options.generation,
                                 steps.holdsByteTokens() || evaluation.holdsByteTokens(),
                                 options.inputs));
      WEFT_TRY(fixed.read(Generator::kProgram, options.inputs));
    }
    WEFT_TRY(chooseStart());
    if (!resumes || !savesWhereItResumes())
      WEFT_TRY(refuseOldCheckpoints());
    CheckpointOptions saving;
    if (options.keep > 0)
      saving.keep = options.keep;
    if (!options.save.empty())
      WEFT_TRY(CheckpointWriter::open(&session, options.save, saving, writer));
    return {};
  }

  /// A batch of evaluation that cannot be filled up is left out.
  Status checkEvaluation() {
    int64_t samples = evaluation.samples(), batch = evaluation.batch(), rest = samples % batch;
    if (evaluation.canFillUp())
      return {};
    std::string size = "a batch is " + std::to_string(batch) +
                       " and cannot be filled up, as no labels say what does not count";
    if (samples < batch)
      return Status::user("the data for --eval-every has " + std::to_string(samples) +
                          " samples, but " + size);
    if (rest > 0 && (options.evalBatches == 0 || options.evalBatches > samples / batch))
      log.warning("evaluation leaves out the last " + std::to_string(rest) + " of " +
                  std::to_string(samples) + " samples: " + size);
    return {};
  }

  static bool holdsCheckpoints(const std::string &path) {
    DIR *folder = path.empty() ? nullptr : opendir(path.c_str());
    bool found = false;
    while (const dirent *entry = folder ? readdir(folder) : nullptr)
      // What an interrupted save left behind is none.
      found |= std::strncmp(entry->d_name, "step-", 5) == 0 && !std::strstr(entry->d_name, ".tmp");
    if (folder)
      closedir(folder);
    return found;
  }

  /// Where a run saves it may resume, before there is anything: so one command
  /// line does for the first start and for all others.
  Status chooseStart() {
    bool isSame = !options.resume.empty() && isSamePlace(options.resume, options.save);
    std::string begins = isSame && !holdsCheckpoints(options.resume) ? "1" : "";
    WEFT_TRY(broadcast(session, begins));
    resumes = !options.resume.empty() && begins.empty();
    if (!begins.empty())
      log.note("--resume: '%s' holds no checkpoint yet; starting anew", options.resume.c_str());
    return {};
  }

  /// --resume may name one checkpoint of the folder, too.
  bool savesWhereItResumes() const {
    bool isOne = checkpointStepOf(options.resume) >= 0;
    return isSamePlace(isOne ? options.resume + "/.." : options.resume, options.save);
  }

  /// A run among the checkpoints of another one would be confusing, as the newest of them is what
  /// --resume takes, and would remove them when they are too many.
  Status refuseOldCheckpoints() const {
    if (!holdsCheckpoints(options.save))
      return {};
    return Status::user("--save: '" + options.save +
                        "' holds checkpoints of an earlier run; go on with "
                        "--resume " +
                        options.save + ", or choose another directory");
  }

  /// Constants first, then files.
  Status feed(BatchFeed &target, const TrainingOptions::Files &arrays, const std::string &tokens) {
    for (const auto &entry : options.inputs)
      target.addConstant(entry.first);
    if (!tokens.empty())
      WEFT_TRY(target.addTokens(tokens));
    for (const auto &entry : arrays)
      WEFT_TRY(target.addArray(entry.first, entry.second));
    return target.finish();
  }

  bool shows() const { return log.isSpeaking() && !options.quiet; }

  Status loadState() {
    Progress progress(shows(), "loading weights", stateBytes(session), Progress::Bytes,
                      &session.shared.loadedBytes);
    WEFT_TRY(session.onRanks<touch>());
    if (!resumes) {
      WEFT_TRY(commCall([&](weft_status *s) { return weft_load_state(&session, s); }));
    } else {
      std::vector<std::string> warnings;
      Status status = loadCheckpoint(&session, options.resume, {}, info, warnings);
      for (const std::string &warning : warnings)
        log.warning(warning);
      WEFT_TRY(status);
      log.note("resumed after step %lld, %lld samples seen", static_cast<long long>(info.step),
               static_cast<long long>(info.samples));
    }
    WEFT_TRY(chooseOrder());
    if (!options.log.empty())
      WEFT_TRY(log.openFile(options.log, resumes));
    return {};
  }

  static void touch(weft_session &, RankContext &rank) {
    rank.status = rank.device().makeResident();
  }

  /// A resumed run goes on with the order it had, unless told otherwise.
  Status chooseOrder() {
    bool shuffle = options.shuffle;
    uint64_t seed = options.shuffleSeed;
    auto saved = info.notes.find("shuffle");
    if (resumes && saved != info.notes.end()) {
      bool had = saved->second != "none";
      uint64_t hadSeed = info.seed;
      if (!options.shuffleGiven) {
        shuffle = had;
        seed = hadSeed;
      } else if (shuffle != had || (shuffle && seed != hadSeed)) {
        log.note("--shuffle %s from here on; the checkpoint was made with %s",
                 shuffle ? std::to_string(seed).c_str() : "none",
                 had ? std::to_string(hadSeed).c_str() : "none");
      }
    }
    if (trains)
      if (std::string other = steps.noteSamples(info.notes); resumes && !other.empty())
        log.warning(other);
    info.seed = seed;
    info.notes["shuffle"] = shuffle ? std::to_string(seed) : "none";
    if (shuffle && trains)
      steps.shuffle(seed);
    return {};
  }

  Status trainSteps() {
    if (!trains)
      return {};
    if (info.step >= options.steps) {
      log.note("all %lld steps are done", static_cast<long long>(options.steps));
      return {};
    }
    runner.start(info.step, info.samples, options.steps);
    log.begin(info.step, options.steps);
    bool cut = false; // an evaluation that was due is not there
    while (info.step < options.steps && !(stopped && runner.nextBegun() == info.step)) {
      while (!stopped && runner.nextBegun() < mostBegun()) {
        WEFT_TRY(fixed.put("step"));
        WEFT_TRY(runner.begin());
      }
      StepRecord record;
      WEFT_TRY(endStep(record));
      bool due = evaluates && isEvaluationDue(info.step);
      if (due && !stopped)
        WEFT_TRY(evaluate(record));
      cut = due && !record.evaluated;
      bool last = runner.nextBegun() == info.step && (stopped || info.step == options.steps);
      log.step(record);
      if (options.onStep)
        options.onStep(record.step);
      if (Status lost = checkNumbers(record); !lost.ok()) {
        // A step ahead, spoiled by the same, may fail in a way that says less.
        (void)runner.rest();
        return lost;
      }
      bool saves = writer && (last || isDue(info.step, options.saveEvery));
      if (replicas && (last || saves || isDue(info.step, options.replicasEvery)))
        WEFT_TRY(compareReplicas(record.step));
      if (saves)
        WEFT_TRY(save(last));
    }
    // What asked in the last step came too late to stop anything.
    if (stopped && !cut && !options.generation.wanted && info.step == options.steps &&
        options.interrupt)
      options.interrupt->allDone();
    if (stopped && cut)
      log.note("stopped before the evaluation was done");
    if (stopped && info.step < options.steps)
      log.note("stopped after %lld of %lld steps", static_cast<long long>(info.step),
               static_cast<long long>(options.steps));
    return {};
  }

  /// What is done every so many steps, 0 = never, when `step` steps are done.
  static bool isDue(int64_t step, int64_t every) { return every > 0 && step % every == 0; }
  bool isEvaluationDue(int64_t step) const {
    return options.evalEvery > 0 ? isDue(step, options.evalEvery) : step == options.steps;
  }

  /// The step in work, and one ahead unless there is something to do between them with all ranks.
  int64_t mostBegun() const {
    int64_t next = info.step + 1;
    bool rests = (evaluates && isEvaluationDue(next)) ||
                 (writer && isDue(next, options.saveEvery)) ||
                 (replicas && isDue(next, options.replicasEvery));
    return std::min(options.steps, runner.runsAhead() && !rests ? next + 1 : next);
  }

  Status compareReplicas(int64_t step) {
    Interrupt::Patience patience(options.interrupt);
    Status status = replicas->compare(step);
    if (status.ok() && replicas->numCompared() == 0 && log.isSpeaking() && !replicasTold)
      log.warning("--check-replicas: no two ranks hold the same elements of a state; there is "
                  "nothing to compare");
    replicasTold = true;
    // All that was saved was compared before.
    if (status.ok() || !writer || !writer->finish().ok() || writer->lastCommitted().empty())
      return status;
    return {status.code(),
            status.text() + "; --resume " + writer->lastCommitted() + " has the last that agreed"};
  }

  Status endStep(StepRecord &record) {
    Report mine{}, all{};
    WEFT_TRY(runner.end(mine));
    log.remark("step", runner.remark());
    mine.stop = interrupted();
    mine.memory = memory.peak();
    mine.memory = mine.memory > options.baseMemory
                      ? (mine.memory - options.baseMemory) / double(session.ranks.size())
                      : 0;
    WEFT_TRY(reports.exchange(mine, all));
    runner.told(all);
    heed(int(all.stop), mine.seconds);
    record.step = info.step;
    record.steps = options.steps;
    record.loss = all.value[0];
    record.gradientNorm = all.value[1];
    record.rate = all.value[2];
    if (all.has[3] != 0)
      record.lossScale = all.value[3];
    record.seconds = all.seconds;
    record.tokens = double(roles.tokens.empty() ? steps.batch() : steps.elementsPerBatch());
    record.communicationShare = all.communication;
    record.collectiveSeconds = all.collectives / double(reports.count());
    record.overlap = all.collectives > 0 ? all.hidden / all.collectives : 0;
    record.sent = &reports.sent;
    record.memoryBytes = peakBytes = all.memory;
    record.predictedBytes = predictedBytes();
    record.epoch = info.samples / steps.samples();
    info.step += 1;
    info.samples += steps.batch();
    return {};
  }

  int interrupted() const { return options.interrupt ? options.interrupt->requested() : 0; }

  /// After every run: what all processes know of signals, and that all goes on.
  void heed(int signal, double seconds) {
    stopped = signal != 0;
    for (std::unique_ptr<RankContext> &rank : session.ranks)
      rank->slot().heeds.store(1);
    if (!options.interrupt)
      return;
    options.interrupt->stepTook(seconds);
    if (stopped)
      options.interrupt->stopping(signal);
  }

  Status runProgram(const char *name) {
    WEFT_TRY(commCall([&](weft_status *s) { return weft_run(&session, name, s); }));
    log.remark(name, session.ranks[0]->device().takeRemark());
    return {};
  }

  /// The mean over all elements that count, whatever the batches. Nothing is
  /// recorded if the run is stopped meanwhile.
  Status evaluate(StepRecord &record) {
    int64_t batch = evaluation.batch(), samples = evaluation.samples();
    if (options.evalBatches > 0 && options.evalBatches <= samples / batch)
      samples = options.evalBatches * batch;
    int64_t end = evaluation.canFillUp() ? samples : samples / batch * batch;
    double total = 0, elements = 0;
    WEFT_TRY(fixed.put("eval"));
    evaluation.start(0, end);
    Progress progress(shows(), "evaluating", uint64_t((end + batch - 1) / batch));
    for (int64_t at = 0; at < end; at += batch) {
      Clock::time_point begun = Clock::now();
      WEFT_TRY(evaluation.take());
      WEFT_TRY(evaluation.putAll());
      Report mine{}, all{};
      mine.counted = evaluation.countedHere();
      if (at + batch < end)
        evaluation.start(at + batch, end);
      WEFT_TRY(runProgram("eval"));
      WEFT_TRY(evalLoss.read(session, mine.has[0], mine.value[0]));
      mine.stop = interrupted();
      WEFT_TRY(reports.exchange(mine, all));
      heed(int(all.stop), secondsSince(begun));
      if (stopped)
        return {};
      progress.add(1);
      double counted = evaluation.countsLabels() ? all.counted : double(batch);
      if (counted == 0)
        continue;
      total += all.value[0] * counted;
      elements += counted;
    }
    record.evaluated = evaluated = true;
    if (elements == 0)
      log.warning("no label of the evaluation counts, so that it has no loss");
    record.evaluationLoss = elements > 0 ? total / elements : double(NAN);
    record.evaluationElements = elements;
    return {};
  }

  /// A failed save is told and training goes on: the last good one stays.
  Status save(bool last) {
    Interrupt::Patience patience(options.interrupt);
    Progress progress(shows(), "saving the checkpoint");
    log.sync();
    // The write before this one may have failed; that is told, and no reason to
    // give up this one.
    WEFT_TRY(warnOf(writer->finish()));
    Status status = writer->save(info);
    if (status.ok() && last)
      status = writer->finish();
    WEFT_TRY(warnOf(status));
    saveFailure = last ? status : Status();
    if (status.ok() && last)
      log.note("saved %s", writer->lastCommitted().c_str());
    return {};
  }

  /// Of a failed save, after which training goes on; a rank or a device that is lost
  /// is none, and nothing goes on without it.
  Status warnOf(const Status &status) {
    if (status.code() == StatusCode::RankFailed || status.code() == StatusCode::Hang ||
        status.code() == StatusCode::DeviceFailed)
      return status;
    if (!status.ok())
      log.warning(status.text());
    return {};
  }

  /// Whether training can go on from what a step made. A program that scales the loss takes back a
  /// step whose gradients are not finite, which happens to good ones, too, though not for ever.
  Status checkNumbers(const StepRecord &record) {
    bool isLost = !std::isfinite(record.gradientNorm), isTakenBack = isLost && record.lossScale;
    // From the first scale on, half of it each time: smaller than any that helps.
    constexpr int64_t kMostSkipped = 64;
    skipped = isTakenBack ? skipped + 1 : 0;
    if (skipped == kMostSkipped)
      return Status::user("step " + std::to_string(record.step) + ": the gradients of " +
                          std::to_string(skipped) +
                          " steps in a row were not finite, however small the loss was scaled, and "
                          "no step changed anything; compute in a wider type (--precision bf16)");
    if (!std::isfinite(record.loss) || (isLost && !isTakenBack))
      return spoiled(record, isTakenBack);
    for (std::unique_ptr<RankContext> &rank : session.ranks)
      if (NumberCheck *check = rank->numberCheck(); check && isTakenBack)
        check->forget();
    return {};
  }

  Status spoiled(const StepRecord &record, bool isTakenBack) {
    auto plain = [](double value) { return std::isnan(value) ? NAN : value; };
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "step %lld: the loss is %g (grad_norm %g, lr %g)",
                  static_cast<long long>(record.step), plain(record.loss),
                  plain(record.gradientNorm), plain(record.rate));
    std::string text = numbers;
    text += isTakenBack
                ? "; the step changed nothing, but what the model computes leaves the range "
                  "of fp16"
                : "; the parameters are spoiled";
    text += ". Lower lr, clip gradients (clip=1), or compute in a wider type";
    std::string first = "--check-numbers tells which command made the first of them";
    if (session.options.check_numbers)
      WEFT_TRY(firstNotFinite(session, first));
    text += "; " + (first.empty() ? "no command wrote such numbers" : first);
    if (writer) {
      Interrupt::Patience patience(options.interrupt);
      bool saved = writer->finish().ok() && !writer->lastCommitted().empty();
      const std::string &last = writer->lastCommitted();
      // What was saved just before this step gave this loss.
      if (saved && !std::isfinite(record.loss) && checkpointStepOf(last) == record.step)
        text += "; those of " + last + " gave that loss: --resume one before it";
      else if (saved)
        text += "; --resume " + last + " has the last good ones";
    }
    return Status::user(text);
  }

  /// A rank's arena, which was planned when compiling, and the images that
  /// --save writes checkpoints from.
  double predictedBytes() const {
    weft_statistics statistics;
    weft_get_statistics(&session, &statistics);
    double images = writer ? double(writer->snapshotBytes()) : 0;
    return double(statistics.arena_bytes) + images / double(session.ranks.size());
  }

  Status reportNumbers() {
    std::string found;
    if (session.options.check_numbers)
      WEFT_TRY(firstNotFinite(session, found));
    if (!found.empty())
      log.warning(found);
    else if (session.options.check_numbers)
      log.note("all numbers are finite that were written in runs that count");
    return {};
  }

  void reportTraffic() {
    if (std::string text = reports.sent.text(1); trains && !text.empty())
      log.note("a rank sent at most %s a step", text.c_str());
  }

  void reportMemory() {
    if (peakBytes == 0)
      return;
    constexpr double kMebibyte = 1 << 20;
    log.note("memory a rank: peak %.1f MiB measured (VmHWM, less %.1f MiB of "
             "the process before the arena), %.1f MiB predicted",
             peakBytes / kMebibyte, options.baseMemory / kMebibyte, predictedBytes() / kMebibyte);
    weft_statistics statistics;
    weft_get_statistics(&session, &statistics);
    double images = writer ? double(writer->snapshotBytes()) : 0;
    log.note("of which %llu bytes are the arena as compiled, %.1f MiB scratch of "
             "library calls, and %.1f MiB what checkpoints are written from",
             static_cast<unsigned long long>(statistics.arena_bytes - statistics.scratch_bytes),
             double(statistics.scratch_bytes) / kMebibyte,
             images / kMebibyte / double(session.ranks.size()));
  }

  weft_session &session;
  const TrainingOptions &options;
  const ProgramView &p;
  BatchFeed::Roles roles;
  TrainingLog log;
  MemoryMeter memory;
  Reports reports;
  BatchFeed steps, evaluation;
  FixedInputs fixed;
  Generator generator;
  std::unique_ptr<CheckpointWriter> writer;
  std::optional<Replicas> replicas; // to be compared
  bool replicasTold = false;        // that there are none
  CheckpointInfo info;
  ScalarOutput evalLoss;
  bool resumes = false; // from a checkpoint that is there
  bool trains = false, evaluates = false, evaluated = false, stopped = false;
  int64_t skipped = 0; // steps in a row that changed nothing
  double peakBytes = 0;
  Status saveFailure;
  StepRunner runner; // last, as it waits for steps that use the others
};

} // namespace

double weft::runtime::restartPeakMemory() {
  MemoryMeter meter;
  meter.restart();
  return meter.peak();
}

Status weft::runtime::train(weft_session *session, const TrainingOptions &options, bool speaks) {
  return Trainer(*session, options, speaks).run();
}
