// Mutated models through the whole compiler: exit 0 or 1, soon, in little memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: compile-fuzz WEFT-COMPILE FOLDER [--numbers] [--runs=N] [--seed=S] [--jobs=J] [--keep].
// Each run changes fields of a model below FOLDER, so that it still parses, and
// compiles it as a process of its own. In place of FOLDER a model as text, which
// brings its training step along, is compiled with --train. With --numbers only
// numbers change that say how large tensors are, and shape operands are known. A signal, an exit
// code other than 0 and 1 (and 5, does not fit), more than 10 seconds of processor time or 4 GiB,
// and an error without a message are failures; --keep leaves those models. J runs, 2 unless told,
// are at work at the same time: a mutant takes 0.1 s of processor time, and one that compiles,
// every fifth, 0.25 s, of which machine code and linking are four fifths.
#include "python_free_frontend/text/TextReader.h"
#include "test/faults/mutations/Mutations.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weft::test;

namespace {
struct Outcome {
  int status = 0;
  double seconds = 0;
  long kilobytes = 0;
  std::string messages;
};
} // namespace

static Outcome compile(const std::string &compiler, const std::string &model,
                       const std::string &output, const std::string &log, bool train) {
  Outcome outcome;
  pid_t child = fork();
  if (child == 0) {
    // Far above what is allowed, so that a runaway ends without taking the
    // machine with it; the allowance is checked afterwards.
    struct rlimit time = {30, 30};
    setrlimit(RLIMIT_CPU, &time);
    struct rlimit memory = {rlim_t(8) << 30, rlim_t(8) << 30};
    setrlimit(RLIMIT_AS, &memory);
    int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    execl(compiler.c_str(), compiler.c_str(), model.c_str(), "-o", output.c_str(),
          train ? "--train" : "-q", static_cast<char *>(nullptr));
    _exit(127);
  }
  struct rusage usage = {};
  pid_t ended = -1;
  // Children of other threads are not waited for here.
  while (child > 0 && (ended = wait4(child, &outcome.status, 0, &usage)) < 0 && errno == EINTR)
    ;
  if (child < 0 || ended != child) {
    std::perror("compile-fuzz: a compilation cannot be started or waited for");
    std::exit(1);
  }
  outcome.seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
                    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  outcome.kilobytes = usage.ru_maxrss;
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    outcome.messages = (*buffer)->getBuffer().str();
  return outcome;
}

/// What is wrong with an outcome, or "".
static std::string complaint(const Outcome &outcome) {
  if (WIFSIGNALED(outcome.status))
    return "ended by signal " + std::to_string(WTERMSIG(outcome.status));
  int code = WEXITSTATUS(outcome.status);
  if (code != 0 && code != 1 && code != 5)
    return "exit code " + std::to_string(code);
  if (code != 0 && !llvm::StringRef(outcome.messages).contains("error: "))
    return "failed without an error message";
  if (outcome.seconds > 10)
    return "took " + std::to_string(outcome.seconds) + " s";
  if (outcome.kilobytes > (4 << 20))
    return "took " + std::to_string(outcome.kilobytes >> 10) + " MiB";
  return "";
}

static std::vector<std::string> modelOfText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return {};
  auto model = weft::text::readText((*buffer)->getBuffer(), path);
  if (model)
    return {model->SerializeAsString()};
  llvm::errs() << llvm::toString(model.takeError()) << '\n';
  return {};
}

namespace {
/// WEFT_TEST_FULL=1: 10,000 mutants in eight days, an eighth each.
struct Options {
  Options() {
    if (!std::getenv("WEFT_TEST_FULL"))
      return;
    constexpr uint64_t kOfADay = 1250, kDays = 8, kSeconds = 86400;
    runs = kOfADay;
    first = 1 + uint64_t(std::time(nullptr)) / kSeconds % kDays * kOfADay;
  }

  uint64_t runs = 150, first = 1;
  unsigned jobs = 2;
  bool keep = false, numbers = false, train = false;
  std::vector<std::string> paths;
};

/// Runs the mutants of a corpus, several at the same time. A mutant depends on its seed alone.
class Campaign {
public:
  Campaign(const Options &options, const std::vector<std::string> &corpus, std::string folder)
      : options(options), corpus(corpus), folder(std::move(folder)), next(options.first) {}

  void run() {
    std::vector<std::thread> workers;
    for (unsigned job = 0; job < options.jobs; ++job)
      workers.emplace_back([this, job] { work(std::to_string(job)); });
    for (std::thread &worker : workers)
      worker.join();
  }

  uint64_t compiled = 0, refused = 0, wrong = 0;
  double slowest = 0;
  long largest = 0; // KiB

private:
  void work(const std::string &job) {
    for (uint64_t seed; (seed = next++) < options.first + options.runs;) {
      Random random(seed);
      std::string model = folder + "/seed" + std::to_string(seed) + ".onnx";
      std::error_code error;
      llvm::raw_fd_ostream(model, error)
          << (options.numbers ? mutatedNumbers(corpus, random) : mutatedFields(corpus, random));
      Outcome outcome = compile(options.paths[0], model, folder + "/out" + job,
                                folder + "/log" + job, options.train);
      bool isGood = note(seed, outcome);
      if (isGood || !options.keep)
        llvm::sys::fs::remove(model);
    }
  }

  bool note(uint64_t seed, const Outcome &outcome) {
    std::lock_guard<std::mutex> lock(mutex);
    slowest = std::max(slowest, outcome.seconds);
    largest = std::max(largest, outcome.kilobytes);
    std::string why = complaint(outcome);
    if (why.empty()) {
      ++(outcome.status == 0 ? compiled : refused);
      return true;
    }
    ++wrong;
    llvm::errs() << "seed " << seed << ": " << why << '\n'
                 << llvm::StringRef(outcome.messages).take_front(1000) << '\n';
    return false;
  }

  const Options &options;
  const std::vector<std::string> &corpus;
  std::string folder;
  std::atomic<uint64_t> next;
  std::mutex mutex;
};
} // namespace

static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if ((arg.consume_front("--runs=") && !arg.getAsInteger(10, options.runs)) ||
        (arg.consume_front("--seed=") && !arg.getAsInteger(10, options.first)) ||
        (arg.consume_front("--jobs=") && !arg.getAsInteger(10, options.jobs) && options.jobs > 0))
      continue;
    if (arg == "--keep")
      options.keep = true;
    else if (arg == "--numbers")
      options.numbers = true;
    else
      options.paths.push_back(arg.str());
  }
  if (options.paths.size() != 2)
    return false;
  options.train = llvm::StringRef(options.paths[1]).ends_with(".onnxtxt");
  return true;
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    llvm::errs() << "usage: compile-fuzz WEFT-COMPILE FOLDER [--numbers] [--runs=N] [--seed=S] "
                    "[--jobs=J] [--keep]\n";
    return 2;
  }
  const std::string &source = options.paths[1];
  std::vector<std::string> corpus = options.train     ? modelOfText(source)
                                    : options.numbers ? loadShapeCorpus(source)
                                                      : loadCorpus(source);
  if (corpus.size() < (options.train ? 1 : 1000)) {
    llvm::errs() << "compile-fuzz: only " << corpus.size() << " models below '" << source
                 << "', expected 1000\n";
    return 1;
  }
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("compile-fuzz", folder))
    return 1;
  Campaign campaign(options, corpus, folder.str().str());
  campaign.run();
  if (!options.keep || !campaign.wrong)
    llvm::sys::fs::remove_directories(folder);
  uint64_t runs = options.runs, compiled = campaign.compiled;
  llvm::outs() << "compile-fuzz: seeds " << options.first << " to " << options.first + runs - 1
               << ": " << compiled << " compiled, " << campaign.refused << " refused, "
               << campaign.wrong << " wrong; slowest " << llvm::format("%.2f", campaign.slowest)
               << " s, largest " << (campaign.largest >> 10) << " MiB\n";
  // A compiler that refuses everything would not be tried at all. A third
  // compiles.
  if (runs >= 100 && compiled * 5 < runs) {
    llvm::outs() << "compile-fuzz: less than a fifth compiled\n";
    return 1;
  }
  return campaign.wrong ? 1 : 0;
}
