// What an executable does: a run, timings, a training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Application.h"

#include "base/Interrupt.h"
#include "session/FirstNotFinite.h"
#include "session/SentMeter.h"
#include "terminal/Printer.h"
#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Nearest.h"
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status parseInjection(const std::string &text, weft_options &options) {
  long long rank = -1, command = -1;
  char rest[16] = "";
  int fields = std::sscanf(text.c_str(), "%lld:%lld:%15s", &rank, &command, rest);
  bool stalls = fields == 3 && std::strcmp(rest, "stall") == 0,
       flips = fields == 3 && std::strcmp(rest, "flip") == 0;
  if (fields < 2 || (fields == 3 && !stalls && !flips))
    return {StatusCode::Usage, "--inject wants RANK:COMMAND[:stall] or RANK:STEP:flip"};
  options.inject_rank = rank;
  (flips ? options.inject_flip : options.inject_command) = command;
  options.inject_stall = stalls;
  return {};
}

/// A file name of an output's name: anything but a path, and none of `taken`.
std::string fileName(std::string_view name, std::set<std::string> &taken) {
  std::string result(name);
  for (char &c : result)
    if (c == '/' || c == '\0')
      c = '_';
  std::string unique = result;
  for (int i = 2; !taken.insert(unique).second; ++i)
    unique = result + "-" + std::to_string(i);
  return unique;
}

class Application {
public:
  Application(const CommandLine &options, const ProgramView &program, bool speaks)
      : options(options), p(program), speaks(speaks), chats(speaks && !options.quiet) {}

  Status run() {
    if (options.training.wanted)
      return runTraining();
    WEFT_TRY(chooseProgram());
    WEFT_TRY(checkNames());
    WEFT_TRY(checkFiles());
    WEFT_TRY(open());
    WEFT_TRY(loadState());
    WEFT_TRY(bindInputs());
    Status done =
        options.bench ? bench(session, p, programName.c_str(), options, speaks) : runOnce();
    if (done.ok())
      done = tellNumbers();
    if (done.ok())
      done = giveOutputs();
    return withTrace(done, allDiffer);
  }

  /// The signal that stopped training before its end; 0 = none.
  int stopped() const { return interrupt ? interrupt->stopped() : 0; }

  weft_session *session = nullptr;

private:
  template <typename Call> Status call(Call function) { return checked(function); }

  /// Training, evaluation and generation: the programs that --train makes.
  Status runTraining() {
    WEFT_TRY(chooseProgram());
    for (const auto &[name, path] : options.inputs) {
      bool known = false;
      for (const Program &entry : p.Programs())
        known |= find(entry.inputs, name) != nullptr;
      if (!known)
        return {StatusCode::Usage,
                "no program has an input '" + name + "'" + didYouMean(name, inputNames())};
    }
    WEFT_TRY(checkTraining());
    interrupt.emplace(speaks); // before there are other threads
    if (speaks)
      printer.emplace();
    WEFT_TRY(open());
    TrainingOptions training = options.training;
    training.inputs = options.inputs;
    training.interrupt = &*interrupt;
    training.baseMemory = restartPeakMemory();
    training.quiet = options.quiet;
    WEFT_TRY(withTrace(train(session, training, speaks), /*isToldAll=*/false));
    // All is done, but what is told; whoever wants to stop does not wait for its reader.
    isEmitted(stopped() ? kReaderSeconds : kNoLimit);
    int error = printer ? printer->outFailure() : 0;
    return error != 0 ? outputFailed(error) : Status();
  }

  std::vector<std::string> inputNames() const {
    std::vector<std::string> names;
    for (const Program &entry : p.Programs())
      for (const Port &port : p.Ports().slice(entry.inputs))
        names.emplace_back(p.string(port.name));
    return names;
  }

  /// What the flags want of the executable, and then of the user.
  Status checkTraining() const {
    const TrainingOptions &training = options.training;
    bool trains = false;
    for (const Program &entry : p.Programs())
      trains |= p.string(entry.name) == "step";
    if (training.steps > 0 && !trains)
      return Status::user("--steps: the executable has no program 'step'; "
                          "compile the model with --train");
    if (training.steps > 0 && training.data.empty() && training.dataTokens.empty())
      return {StatusCode::Usage, "--steps wants data: --data NAME=FILE.npy or --data-tokens FILE"};
    if (speaks && !training.log.empty()) {
      WEFT_TRY(checkOutput("--log", training.log, options, p));
      WEFT_TRY(checkWritable("--log", training.log));
    }
    return checkTrace();
  }

  Status checkTrace() const {
    if (!speaks || options.trace.empty())
      return {};
    WEFT_TRY(checkOutput("--trace", options.trace, options, p));
    const std::string &log = options.training.log;
    if (!log.empty() && isSamePlace(options.trace, log))
      return Status::user("--trace and --log both name '" + options.trace +
                          "'; give each a file of its own");
    if (!options.outputDirectory.empty())
      for (const auto &[name, path] : outputFiles())
        if (isSamePlace(options.trace, path))
          return Status::user("--trace and output '" + name + "' in --output-dir both name '" +
                              options.trace + "'; give each a file of its own");
    return checkReplaceable("--trace", options.trace);
  }

  /// The trace of what failed is wanted most. All processes write it together, so that after a
  /// failure of one of them there is none, unless they are told (`isToldAll`) or there are no
  /// others; and none of a rank or a device that is lost.
  Status withTrace(const Status &done, bool isToldAll) {
    if (done.ok())
      return writeTrace();
    if (done.code() != StatusCode::UserError || options.trace.empty() ||
        !(isToldAll || session->shared.comm.everyRankIsLocal))
      return done;
    weft_statistics all;
    weft_get_statistics(session, &all);
    if (all.runs == 0)
      return done;
    if (Status lost = writeTrace(); !lost.ok() && speaks)
      tellWarning("weft", lost.text());
    return done;
  }

  Status writeTrace() {
    if (options.trace.empty())
      return {};
    WEFT_TRY(
        call([&](weft_status *s) { return weft_write_trace(session, options.trace.c_str(), s); }));
    say(chats, "wrote the trace to %s", options.trace.c_str());
    weft_statistics all;
    weft_get_statistics(session, &all);
    if (all.collective_seconds > 0)
      say(chats, "communication %.3f ms a run, %.0f %% of it under computation",
          all.collective_seconds / double(all.runs) * 1e3,
          all.hidden_seconds / all.collective_seconds * 100);
    return {};
  }

  Status chooseProgram() {
    if (p.Programs().empty())
      return Status::internal("the executable has no program");
    std::string known;
    std::vector<std::string> programs;
    for (const Program &entry : p.Programs()) {
      programs.emplace_back(p.string(entry.name));
      if (!program && (options.program.empty() || p.string(entry.name) == options.program))
        program = &entry;
      known += (known.empty() ? "" : ", ") + std::string(p.string(entry.name));
    }
    if (!program)
      return {StatusCode::Usage, "there is no program '" + options.program + "'; there is " +
                                     known + didYouMean(options.program, programs)};
    programName = std::string(p.string(program->name));
    return checkRanks(options, p.numRanks());
  }

  const Port *find(Range ports, const std::string &name) const {
    for (const Port &port : p.Ports().slice(ports))
      if (p.string(port.name) == name)
        return &port;
    return nullptr;
  }

  /// All names on the command line, before anything slow happens.
  Status checkNames() {
    auto unknown = [&](const char *kind, const std::string &name, Range ports) {
      std::vector<std::string> known;
      std::string list;
      for (const Port &port : p.Ports().slice(ports)) {
        known.emplace_back(p.string(port.name));
        list += (list.empty() ? "" : ", ") + known.back();
      }
      return Status(StatusCode::Usage, std::string("there is no ") + kind + " '" + name +
                                           "'; there is " + (list.empty() ? "none" : list) +
                                           didYouMean(name, known));
    };
    for (const auto &[name, path] : options.inputs)
      if (!find(program->inputs, name))
        return unknown("input", name, program->inputs);
    for (const auto &[name, path] : options.expected)
      if (!find(program->outputs, name))
        return unknown("output", name, program->outputs);
    if (options.bench)
      return {};
    std::string missing;
    for (const Port &port : p.Ports().slice(program->inputs)) {
      std::string name(p.string(port.name));
      if (!given(name))
        missing += " --input " + name + "=FILE.npy";
    }
    if (!missing.empty())
      return {StatusCode::Usage, "inputs are missing; add" + missing +
                                     (find(program->outputs, "grad_norm")
                                          ? "; or train: --steps N --data NAME=FILE.npy"
                                          : "")};
    return {};
  }

  /// What is wrong with files, before weights are read and time is spent.
  Status checkFiles() {
    for (const auto &[name, path] : options.inputs)
      WEFT_TRY(checkInputFile(p, *find(program->inputs, name), path));
    for (const auto &[name, path] : options.expected)
      WEFT_TRY(checkExpectedFile(p, *find(program->outputs, name), path));
    if (speaks && !options.outputDirectory.empty()) {
      WEFT_TRY(makeOutputDirectory());
      if (access(options.outputDirectory.c_str(), W_OK | X_OK) != 0)
        return Status::user("--output-dir: '" + options.outputDirectory +
                            "' cannot be written: " + std::strerror(errno));
      for (const auto &[name, path] : outputFiles())
        WEFT_TRY(checkOutput("--output-dir", path, options, p));
    }
    return checkTrace();
  }

  /// What is in --output-dir at the end, by outputs.
  CommandLine::Files outputFiles() const {
    CommandLine::Files files;
    std::set<std::string> taken;
    for (const Port &port : p.Ports().slice(program->outputs)) {
      std::string name(p.string(port.name));
      files.emplace_back(name, options.outputDirectory + "/" + fileName(name, taken) + ".npy");
    }
    return files;
  }

  Status makeOutputDirectory() {
    struct stat info;
    if (mkdir(options.outputDirectory.c_str(), 0777) != 0 && errno != EEXIST)
      return Status::user("--output-dir: '" + options.outputDirectory +
                          "' cannot be made: " + std::strerror(errno));
    if (stat(options.outputDirectory.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
      return Status::user("--output-dir: '" + options.outputDirectory +
                          "' is a file, not a folder");
    return {};
  }

  bool given(const std::string &name) const {
    for (const auto &entry : options.inputs)
      if (entry.first == name)
        return true;
    return false;
  }

  Status open() {
    double start = now();
    weft_options settings;
    weft_options_init(&settings);
    settings.comm = options.comm.c_str();
    settings.threads_per_rank = options.threads;
    settings.no_pin = options.pin == "off";
    settings.timeout_seconds = options.timeout;
    std::string agreement = agreementOf(options);
    settings.agreement = agreement.c_str();
    std::string directory = modelDirectory(options, p);
    settings.model_directory = directory.c_str();
    if (!options.pretend.empty())
      settings.pretend = options.pretend.c_str();
    if (!options.inject.empty())
      WEFT_TRY(parseInjection(options.inject, settings));
    if (!options.trace.empty())
      settings.trace_commands = 1 << 16;
    settings.check_numbers = options.checksNumbers;
    WEFT_TRY(call([&](weft_status *s) {
      return weft_open(weft_program_blob, weft_program_blob_size, weft_kernel_table,
                       weft_kernel_count, &settings, &session, s);
    }));
    std::string remark = session->ranks[0]->remark();
    if (!remark.empty() && speaks)
      tellWarning("weft", remark);
    weft_statistics statistics;
    weft_get_statistics(session, &statistics);
    std::string pinned;
    if (statistics.pinned_cores)
      pinned = " on " + std::to_string(statistics.pinned_cores) + " cores";
    say(chats, "%lld ranks over %s, %u threads each%s, %.1f MiB a rank (%.2f s)",
        static_cast<long long>(weft_num_ranks(session)), options.comm.c_str(),
        statistics.threads_per_rank, pinned.c_str(), double(statistics.arena_bytes) / (1 << 20),
        now() - start);
    return {};
  }

  Status loadState() {
    double start = now();
    if (!options.training.resume.empty())
      return loadFrom(options.training.resume);
    Progress progress(chats, "loading weights", stateBytes(*session), Progress::Bytes,
                      &session->shared.loadedBytes);
    WEFT_TRY(call([&](weft_status *s) { return weft_load_state(session, s); }));
    if (!p.States().empty())
      say(chats, "loaded %zu tensors of state (%.2f s)", p.States().size(), now() - start);
    return {};
  }

  /// A single run with the weights of a checkpoint.
  Status loadFrom(const std::string &checkpoint) {
    double start = now();
    CheckpointInfo info;
    std::vector<std::string> warnings;
    Progress progress(chats, "loading weights", stateBytes(*session), Progress::Bytes,
                      &session->shared.loadedBytes);
    Status status = loadCheckpoint(session, checkpoint, {}, info, warnings);
    for (const std::string &warning : warnings)
      if (speaks)
        tellWarning("weft", warning);
    WEFT_TRY(status);
    say(chats, "weights of '%s' after step %lld (%.2f s)", checkpoint.c_str(),
        static_cast<long long>(info.step), now() - start);
    return {};
  }

  Status bindInputs() {
    for (const auto &[name, path] : options.inputs)
      WEFT_TRY(call([&, name = name, path = path](weft_status *s) {
        return weft_set_input_file(session, programName.c_str(), name.c_str(), path.c_str(), s);
      }));
    for (const Port &port : p.Ports().slice(program->inputs))
      if (!given(std::string(p.string(port.name))))
        say(chats, "input '%s' is zeros, as --input gives none",
            std::string(p.string(port.name)).c_str());
    return {};
  }

  Status runOnce() {
    double start = now();
    SentMeter meter(*session);
    {
      Progress progress(chats, "running '" + programName + "'");
      WEFT_TRY(call([&](weft_status *s) { return weft_run(session, programName.c_str(), s); }));
    }
    meter.stop();
    say(chats, "ran '%s' (%.3f s)", programName.c_str(), now() - start);
    WEFT_TRY(meter.reduce(*session));
    if (std::string sent = meter.text(1); !sent.empty())
      say(chats, "a rank sent at most %s", sent.c_str());
    return {};
  }

  Status tellNumbers() {
    std::string found;
    if (!options.checksNumbers)
      return {};
    WEFT_TRY(firstNotFinite(*session, found));
    if (found.empty())
      say(chats, "all numbers that commands wrote are finite");
    else if (speaks)
      tellWarning("weft", found);
    return {};
  }

  Status giveOutputs() {
    if (!options.outputDirectory.empty())
      for (const auto &[name, path] : outputFiles()) {
        WEFT_TRY(call([&, name = name, path = path](weft_status *s) {
          return weft_write_output(session, programName.c_str(), name.c_str(), path.c_str(), s);
        }));
        say(chats, "wrote %s", path.c_str());
      }
    Status result;
    for (const auto &[name, path] : options.expected) {
      Status status = compareOutput(session, p, programName.c_str(), *find(program->outputs, name),
                                    path, options, speaks);
      if (result.ok())
        result = status;
    }
    allDiffer = !result.ok(); // they have agreed on it
    if (options.outputDirectory.empty() && options.expected.empty() && !options.bench)
      for (const Port &port : p.Ports().slice(program->outputs))
        WEFT_TRY(printOutput(session, p, programName.c_str(), port, speaks));
    return result;
  }

  const CommandLine &options;
  const ProgramView &p;
  bool speaks; // results and errors
  bool chats;  // what else there is to say
  const Program *program = nullptr;
  std::string programName;
  bool allDiffer = false; // all processes know that an output is not what was expected
  std::optional<Interrupt> interrupt;
  std::optional<Printer> printer; // where there is much to tell
};

} // namespace

std::string weft::runtime::modelDirectory(const CommandLine &options, const ProgramView &p) {
  std::string folder(p.string(p.info().modelDirectory));
  if (!options.modelDirectory.empty())
    return options.modelDirectory;
  if (folder.empty() || folder[0] == '/')
    return folder;
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  std::string path(self, size_t(std::max<ssize_t>(length, 0)));
  path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
  return folder == "." ? path : path + "/" + folder;
}

int weft::runtime::finish(const Status &status, bool speaks) {
  if (!status.ok() && speaks && !status.text().empty()) // else it was told
    tellError("weft", status.text());
  return int(status.code());
}

int weft::runtime::execute(const CommandLine &options, const ProgramView &program, bool speaks,
                           bool tells) {
  Application application(options, program, speaks);
  Status status = application.run();
  if (status.ok())
    status = flushStandardOutput();
  std::fflush(stdout);
  if (status.ok()) {
    weft_close(application.session);
    // As a shell says of what a signal ended: it is not all done.
    return application.stopped() ? 128 + application.stopped() : 0;
  }
  int code = int(status.code());
  if (!application.session)
    return finish(status, tells);
  weft_tell_failure(application.session, code, status.text().c_str());
  code = exitCodeOf(*application.session, code);
  // Others may wait for this process, or it for them, or for a rank of its own
  // that does not come back: nothing is left to wait for.
  weft_abort_job(application.session, code);
  _exit(code);
}
