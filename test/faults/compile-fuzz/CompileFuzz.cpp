// Mutated models through the whole compiler: exit 0 or 1, soon, in little
// memory. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: compile-fuzz WEFT-COMPILE FOLDER [--numbers] [--runs=N] [--seed=S] [--keep]. Each
// run changes fields of a model below FOLDER, so that it still parses, and
// compiles it as a process of its own. In place of FOLDER a model as text, which
// brings its training step along, is compiled with --train. With --numbers only
// numbers change that say how large tensors are, and shape operands are known. A signal, an exit
// code other than 0 and 1 (and 5, does not fit), more than 10 seconds of processor time or 4 GiB,
// and an error without a message are failures; --keep leaves those models.
#include "python_free_frontend/text/TextReader.h"
#include "test/faults/mutations/Mutations.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
  wait4(child, &outcome.status, 0, &usage);
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

int main(int argc, char **argv) {
  uint64_t runs = std::getenv("WEFT_TEST_FULL") ? 10000 : 150, first = 1;
  bool keep = false, numbers = false;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if ((arg.consume_front("--runs=") && !arg.getAsInteger(10, runs)) ||
        (arg.consume_front("--seed=") && !arg.getAsInteger(10, first)))
      continue;
    if (arg == "--keep")
      keep = true;
    else if (arg == "--numbers")
      numbers = true;
    else
      paths.push_back(arg.str());
  }
  if (paths.size() != 2) {
    llvm::errs() << "usage: compile-fuzz WEFT-COMPILE FOLDER [--runs=N] "
                    "[--seed=S] [--keep]\n";
    return 2;
  }
  bool train = llvm::StringRef(paths[1]).ends_with(".onnxtxt");
  std::vector<std::string> corpus = train     ? modelOfText(paths[1])
                                    : numbers ? loadShapeCorpus(paths[1])
                                              : loadCorpus(paths[1]);
  if (corpus.size() < (train ? 1 : 1000)) {
    llvm::errs() << "compile-fuzz: only " << corpus.size() << " models below '" << paths[1]
                 << "', expected 1000\n";
    return 1;
  }
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("compile-fuzz", folder))
    return 1;
  auto inFolder = [&](const std::string &name) { return folder.str().str() + "/" + name; };
  uint64_t compiled = 0, refused = 0, wrong = 0;
  double slowest = 0;
  long largest = 0;
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    Random random(seed);
    std::string model = inFolder("seed" + std::to_string(seed) + ".onnx");
    std::error_code error;
    llvm::raw_fd_ostream(model, error)
        << (numbers ? mutatedNumbers(corpus, random) : mutatedFields(corpus, random));
    Outcome outcome = compile(paths[0], model, inFolder("out"), inFolder("log"), train);
    slowest = std::max(slowest, outcome.seconds);
    largest = std::max(largest, outcome.kilobytes);
    std::string why = complaint(outcome);
    if (!why.empty()) {
      ++wrong;
      llvm::errs() << "seed " << seed << ": " << why << '\n'
                   << llvm::StringRef(outcome.messages).take_front(1000) << '\n';
    } else {
      ++(outcome.status == 0 ? compiled : refused);
    }
    if (why.empty() || !keep)
      llvm::sys::fs::remove(model);
  }
  if (!keep || !wrong)
    llvm::sys::fs::remove_directories(folder);
  llvm::outs() << "compile-fuzz: seeds " << first << " to " << first + runs - 1 << ": " << compiled
               << " compiled, " << refused << " refused, " << wrong << " wrong; slowest "
               << llvm::format("%.2f", slowest) << " s, largest " << (largest >> 10) << " MiB\n";
  // A compiler that refuses everything would not be tried at all. A third
  // compiles.
  if (runs >= 100 && compiled * 5 < runs) {
    llvm::outs() << "compile-fuzz: less than a fifth compiled\n";
    return 1;
  }
  // Numbers that are all refused at once would show nothing of what is made of them.
  bool enough = !numbers || runs < 100 || compiled >= runs / 10;
  return wrong || !enough ? 1 : 0;
}
