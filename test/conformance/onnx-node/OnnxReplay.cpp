// Runs recorded cases on this machine's device, some at a time, whatever becomes of each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-replay FILE... [--jobs N] [--limit SECONDS] [--json FILE]
// Each FILE is one that `onnx-node --record` wrote. N processes take one case after another; one
// that has a case fail, hang for longer than SECONDS or end it is followed by a new one, so that a
// device's error stays with its case. Exit code 0: all cases that compiled are right, and all did;
// 77: there is no device, or one of another chip than the cases' code is for.
#include "Replay.h"

#include "device/cuda/Driver.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weft::conformance;
using weft::runtime::Status;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Text {
  char bytes[512];

  void set(const std::string &text) { std::snprintf(bytes, sizeof bytes, "%s", text.c_str()); }
};

/// What a case's process leaves of it.
struct Entry {
  static constexpr uint32_t kOpen = ~0u;
  std::atomic<uint32_t> ending{kOpen};
  double seconds = 0;
  bool wasGraph = false;
  Text message;

  void end(Ending how, const std::string &text) {
    message.set(text);
    ending.store(uint32_t(how));
  }
};

/// A place for a process: which case it is at, and since when.
struct Slot {
  /// Instead of a case: it has none, it opens the device, it is ended for being late.
  static constexpr uint32_t kNone = ~0u, kOpening = kNone - 1, kLate = kNone - 2;
  std::atomic<uint32_t> at{kNone};
  std::atomic<double> since{0};
  pid_t process = 0;
  /// Why it could not use the device.
  Text refusal;

  void enter(uint32_t where) {
    since = now();
    at = where;
  }
  /// False if it is not there any more: of the process and who ends it when late, one has the say.
  bool leave(uint32_t where, uint32_t to = kNone) { return at.compare_exchange_strong(where, to); }
};

/// Memory that processes share.
template <typename Item> Item *share(size_t count) {
  void *memory = mmap(nullptr, count * sizeof(Item) + 1, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("onnx-replay: no memory");
    std::exit(1);
  }
  auto *items = static_cast<Item *>(memory);
  for (size_t i = 0; i < count; ++i)
    new (items + i) Item;
  return items;
}

struct Options {
  std::vector<std::string> files;
  std::string json;
  unsigned jobs = std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
  double limit = 20;
};

/// The cases of one file.
struct Suite {
  std::string name;
  size_t first = 0, count = 0;
};

/// Exit codes; a process's own is the second, too.
constexpr int kNoDevice = 77, kOtherChip = 78;
/// Opening the device may take this many times a case's limit.
constexpr unsigned kOpeningLimits = 3;

class Replay {
public:
  explicit Replay(const Options &options) : options(options) {}

  Status read() {
    for (const std::string &path : options.files) {
      std::ifstream file(path, std::ios::binary);
      std::stringstream text;
      text << file.rdbuf();
      std::string bytes = text.str();
      std::string_view rest = bytes;
      Suite suite;
      suite.name = path.substr(path.rfind('/') + 1);
      suite.name = suite.name.substr(0, suite.name.rfind('.'));
      suite.first = cases.size();
      while (!rest.empty()) {
        if (!take(rest, cases.emplace_back()))
          return Status::user("'" + path + "' is no whole file of onnx-node --record");
        ++suite.count;
      }
      if (suite.count == 0)
        return Status::user("'" + path + "' has no cases");
      suites.push_back(suite);
    }
    return {};
  }

  int run() {
    entries = share<Entry>(cases.size());
    slots = share<Slot>(options.jobs);
    next = share<std::atomic<uint32_t>>(1);
    opened = share<std::atomic<bool>>(1);
    about = share<Text>(1);
    for (unsigned i = 0; i < options.jobs; ++i)
      start(slots[i]);
    for (double written = now(); running > 0;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      reap();
      endLate();
      if (now() - written > 1) {
        written = now();
        write("running");
      }
    }
    if (isUnusable()) {
      bool isOther = lastRefusal == kOtherChip;
      std::printf("%s: %s\n", isOther ? "another chip" : "no device", lastLoss.c_str());
      write(isOther ? "other-chip" : "no-device");
      return kNoDevice;
    }
    print();
    bool isGood = allRight() && losses == 0;
    write(isGood ? "ok" : "failed");
    return isGood ? 0 : 1;
  }

private:
  //===--------------------------------------------------------------------===//
  // A process
  //===--------------------------------------------------------------------===//

  void start(Slot &slot) {
    slot.enter(Slot::kOpening);
    std::fflush(nullptr);
    pid_t parent = getpid();
    pid_t process = fork();
    if (process < 0) {
      std::perror("onnx-replay: no process");
      std::exit(1);
    }
    if (process) {
      slot.process = process;
      ++running;
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    _exit(work(slot));
  }

  int work(Slot &slot) {
    int code = kNoDevice;
    if (Status status = openDevice(code); !status.ok()) {
      slot.refusal.set(status.text());
      return code;
    }
    *opened = true;
    if (!slot.leave(Slot::kOpening))
      return 0;
    for (uint32_t i; (i = next->fetch_add(1)) < cases.size();) {
      if (!cases[i].why.empty())
        continue;
      slot.enter(i);
      Verdict verdict = replay(cases[i]);
      if (!slot.leave(i))
        return 0;
      entries[i].seconds = now() - slot.since;
      entries[i].wasGraph = verdict.wasGraph;
      entries[i].end(verdict.ending, verdict.message);
      // An error of a kernel is the context's, and so all that follow would have it.
      if (verdict.ending == Ending::Failed)
        return 0;
    }
    return 0;
  }

  /// Holds the device's context for all cases of the process, as making one takes longer than they.
  Status openDevice(int &code) {
    const weft::runtime::cuda::Driver *driver = nullptr;
    WEFT_TRY(weft::runtime::cuda::Driver::open(driver));
    int count = 0;
    WEFT_CUDA_TRY(*driver, deviceCount(&count), "counting the GPUs");
    if (count == 0)
      return Status::user("the machine has no GPU");
    weft::runtime::cuda::Context context = nullptr;
    WEFT_CUDA_TRY(*driver, retainContext(&context, 0), "opening GPU 0");
    WEFT_CUDA_TRY(*driver, setContext(context), "choosing GPU 0");
    char name[128];
    WEFT_CUDA_TRY(*driver, deviceName(name, sizeof name, 0), "asking for the name of GPU 0");
    about->set(name);
    code = kOtherChip;
    return tryCode(*driver);
  }

  /// Whether the device takes the code, which is of one chip in all cases; text it would assemble.
  Status tryCode(const weft::runtime::cuda::Driver &driver) {
    for (const RecordedCase &recorded : cases)
      for (const RecordedKernel &kernel : recorded.kernels) {
        if (kernel.binary.empty() || !kernel.text.empty())
          continue;
        weft::runtime::cuda::Module module = nullptr;
        Aligned code(kernel.binary);
        if (driver.loadModule(&module, code.data()) == weft::runtime::cuda::NoBinaryForGpu)
          return Status::user("these cases are for " + kernel.chip + ", which GPU 0, '" +
                              about->bytes + "', does not run");
        if (module)
          (void)driver.unloadModule(module);
        return {};
      }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Whoever starts the processes
  //===--------------------------------------------------------------------===//

  void reap() {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      Slot *slot = std::find_if(slots, slots + options.jobs,
                                [&](const Slot &each) { return each.process == ended; });
      slot->process = 0;
      --running;
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      std::string how = code < 0
                            ? "its process was ended by signal " + std::to_string(WTERMSIG(status))
                            : "its process ended with exit code " + std::to_string(code);
      uint32_t at = slot->at.exchange(Slot::kNone);
      if (at < cases.size()) {
        entries[at].end(Ending::Failed, how);
      } else if (at == Slot::kOpening && (code == kNoDevice || code == kOtherChip)) {
        ++refusals;
        lastRefusal = code;
        lose(slot->refusal.bytes);
      } else if (at != Slot::kLate && code != 0) {
        lose(how);
      }
      if (*next < cases.size() && losses < 2 * options.jobs)
        start(*slot);
    }
  }

  /// No process could ever use the device.
  bool isUnusable() const { return !*opened && refusals > 0 && refusals == losses; }

  /// A process has ended for another reason than a case: after some, others would, too.
  void lose(const std::string &why) {
    ++losses;
    lastLoss = why;
  }

  void endLate() {
    for (unsigned i = 0; i < options.jobs; ++i) {
      Slot &slot = slots[i];
      uint32_t at = slot.at;
      bool isOpening = at == Slot::kOpening;
      double limit = options.limit * (isOpening ? kOpeningLimits : 1);
      if ((at >= cases.size() && !isOpening) || now() - slot.since <= limit ||
          !slot.leave(at, Slot::kLate))
        continue;
      kill(slot.process, SIGKILL);
      std::ostringstream text;
      text << (isOpening ? "opening the device" : "it") << " took longer than " << limit
           << " s and was ended";
      if (isOpening)
        lose(text.str());
      else
        entries[at].end(Ending::Failed, text.str());
    }
  }

  //===--------------------------------------------------------------------===//
  // What it tells
  //===--------------------------------------------------------------------===//

  struct Counts {
    size_t right = 0, wrong = 0, failed = 0, uncompiled = 0, open = 0, graphs = 0, slowest = 0;
    double seconds = 0;
    bool areGood() const { return wrong + failed + uncompiled + open == 0; }
  };

  Counts count(const Suite &suite) const {
    Counts counts;
    counts.slowest = suite.first;
    for (size_t i = suite.first; i < suite.first + suite.count; ++i) {
      uint32_t ending = entries[i].ending;
      counts.seconds += entries[i].seconds;
      counts.graphs += entries[i].wasGraph;
      if (entries[i].seconds > entries[counts.slowest].seconds)
        counts.slowest = i;
      ++(!cases[i].why.empty()               ? counts.uncompiled
         : ending == Entry::kOpen            ? counts.open
         : ending == uint32_t(Ending::Right) ? counts.right
         : ending == uint32_t(Ending::Wrong) ? counts.wrong
                                             : counts.failed);
    }
    return counts;
  }

  bool allRight() const {
    return std::all_of(suites.begin(), suites.end(),
                       [&](const Suite &suite) { return count(suite).areGood(); });
  }

  /// Status and message of a case that is not right; "" if it is, or has not ended.
  std::pair<std::string, std::string> complaint(size_t i) const {
    if (!cases[i].why.empty())
      return {"failed", "it was not compiled: " + cases[i].why};
    uint32_t ending = entries[i].ending;
    if (ending == Entry::kOpen || ending == uint32_t(Ending::Right))
      return {};
    return {ending == uint32_t(Ending::Wrong) ? "wrong" : "failed", entries[i].message.bytes};
  }

  /// The pairs of an op and an element type that no right case has, of how many.
  std::set<std::string> unseen(size_t &all) const {
    std::set<std::string> ops, missing;
    for (const RecordedCase &recorded : cases)
      ops.insert(recorded.ops.begin(), recorded.ops.end());
    missing = ops;
    for (size_t i = 0; i < cases.size(); ++i)
      if (entries[i].ending == uint32_t(Ending::Right))
        for (const std::string &op : cases[i].ops)
          missing.erase(op);
    all = ops.size();
    return missing;
  }

  std::string lossText() const {
    if (isUnusable())
      return lastLoss;
    return std::to_string(losses) + " processes ended without a case, the last: " + lastLoss;
  }

  void print() const {
    for (const Suite &suite : suites) {
      Counts counts = count(suite);
      std::printf("%s: %zu cases, %zu right, %zu wrong, %zu failed, %zu not compiled, %zu not "
                  "reached; %zu as a graph, too; %.1f s of processes, %.2f s of %s\n",
                  suite.name.c_str(), suite.count, counts.right, counts.wrong, counts.failed,
                  counts.uncompiled, counts.open, counts.graphs, counts.seconds,
                  entries[counts.slowest].seconds, cases[counts.slowest].name.c_str());
      for (size_t i = suite.first; i < suite.first + suite.count; ++i)
        if (auto [status, message] = complaint(i); !status.empty())
          std::printf("%s/%s: %s, %s\n", suite.name.c_str(), cases[i].name.c_str(), status.c_str(),
                      message.c_str());
    }
    if (losses > 0)
      std::printf("%s\n", lossText().c_str());
    size_t all = 0;
    std::set<std::string> missing = unseen(all);
    std::printf("%zu of %zu pairs of an op and an element type in right cases\n",
                all - missing.size(), all);
    for (const std::string &op : missing)
      std::printf("not right in any case: %s\n", op.c_str());
  }

  static std::string quote(const std::string &text) {
    std::string quoted = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\')
        quoted += '\\';
      quoted += (unsigned char)(c) < ' ' ? ' ' : c;
    }
    return quoted + '"';
  }

  void write(const std::string &status) const {
    if (options.json.empty())
      return;
    std::ostringstream out;
    size_t all = 0;
    std::set<std::string> missing = unseen(all);
    out << "{\"part\": \"i\", \"what\": \"ONNX's node cases\", \"status\": " << quote(status);
    if (losses > 0)
      out << ", \"message\": " << quote(lossText());
    if (!*opened)
      out << ", \"facts\": {}, \"results\": []}\n";
    else {
      out << ", \"facts\": {\"gpu\": " << quote(about->bytes) << ", \"processes\": " << options.jobs
          << ", \"ops_and_types_right\": \"" << all - missing.size() << " of " << all << "\"";
      if (!missing.empty()) {
        out << ", \"not_right_in_any_case\": [";
        for (auto it = missing.begin(); it != missing.end(); ++it)
          out << (it == missing.begin() ? "" : ", ") << quote(*it);
        out << ']';
      }
      out << "}, \"results\": [";
      writeResults(out);
      out << "]}\n";
    }
    std::string half = options.json + ".half";
    if (!(std::ofstream(half) << out.str()) || std::rename(half.c_str(), options.json.c_str()) != 0)
      std::fprintf(stderr, "onnx-replay: cannot write %s\n", options.json.c_str());
  }

  void writeResults(std::ostream &out) const {
    const char *comma = "\n ";
    for (const Suite &suite : suites) {
      Counts counts = count(suite);
      out << comma << "{\"name\": " << quote(suite.name) << ", \"status\": \""
          << (counts.areGood() ? "ok" : "failed") << "\", \"cases\": " << suite.count
          << ", \"right\": " << counts.right << ", \"wrong\": " << counts.wrong
          << ", \"failed\": " << counts.failed << ", \"not_compiled\": " << counts.uncompiled
          << ", \"not_reached\": " << counts.open << ", \"graphs\": " << counts.graphs
          << ", \"seconds\": " << counts.seconds << '}';
      comma = ",\n ";
    }
    for (const Suite &suite : suites)
      for (size_t i = suite.first; i < suite.first + suite.count; ++i)
        if (auto [status, message] = complaint(i); !status.empty())
          out << comma << "{\"name\": " << quote(suite.name + "/" + cases[i].name)
              << ", \"status\": " << quote(status) << ", \"message\": " << quote(message) << '}';
  }

  const Options &options;
  std::vector<RecordedCase> cases;
  std::vector<Suite> suites;
  Entry *entries = nullptr;
  Slot *slots = nullptr;
  std::atomic<uint32_t> *next = nullptr;
  /// Whether any process has ever opened the device, and the device's name.
  std::atomic<bool> *opened = nullptr;
  Text *about = nullptr;
  unsigned running = 0;
  /// Processes that ended without a case, and of these those that could not use the device.
  unsigned losses = 0, refusals = 0;
  std::string lastLoss;
  int lastRefusal = 0;
};

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.compare(0, 2, "--") != 0) {
      options.files.push_back(word);
      continue;
    }
    if (++i == argc)
      return false;
    if (word == "--jobs")
      options.jobs = unsigned(std::max(1, std::atoi(argv[i])));
    else if (word == "--limit")
      options.limit = std::atof(argv[i]);
    else if (word == "--json")
      options.json = argv[i];
    else
      return false;
  }
  return !options.files.empty() && options.limit > 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: onnx-replay FILE... [--jobs N] [--limit SECONDS] [--json FILE]\n");
    return 2;
  }
  Replay replay(options);
  if (Status read = replay.read(); !read.ok()) {
    std::fprintf(stderr, "onnx-replay: %s\n", read.text().c_str());
    return 1;
  }
  return replay.run();
}
