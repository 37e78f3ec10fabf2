// From probes to the file of a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calibrate.h"

#include "Messages.h"
#include "Probes.h"
#include "Report.h"
#include "weft/Cost/FitCluster.h"
#include "weft/Driver/Driver.h"
#include "weft/Registration/Registration.h"
#include "weft/Support/OnInterrupt.h"
#include "weft/Support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"

#include <ctime>
#include <unistd.h>

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

/// No more ranks are measured together: what they share shows with fewer.
constexpr int64_t kMostRanks = 8;

/// Four digits are more than a measurement has.
std::string numberText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

std::string today() {
  char text[16];
  std::time_t now = std::time(nullptr);
  std::tm local;
  std::strftime(text, sizeof text, "%Y-%m-%d", localtime_r(&now, &local));
  return text;
}

class Calibration {
public:
  Calibration(const CalibrateOptions &options, const std::string &program)
      : asked(options), program(program) {
    static int anchor;
    runner = llvm::sys::fs::getMainExecutable(program.c_str(), &anchor);
    llvm::sys::path::remove_filename(runner);
    llvm::sys::path::append(runner, "weft-run");
    unsigned cores = llvm::hardware_concurrency().compute_thread_count();
    machineRanks = std::max<int64_t>(cores / asked.threads, 1);
    measured.ranks = std::min(machineRanks, kMostRanks);
    origin = "measured " + today();
  }

  int run() {
    if (llvm::Error wrong = checkOutput(asked.file))
      return tell(llvm::toString(std::move(wrong)), UserError);
    if (!llvm::sys::fs::can_execute(runner))
      return tell("weft-run is not beside weft-plan: '" + runner.str().str() +
                      "' cannot be executed",
                  UserError);
    if (std::error_code code = llvm::sys::fs::createUniqueDirectory("weft-calibrate", folder))
      return fail(code.message());
    auto remove = [this] {
      [[maybe_unused]] std::error_code left = llvm::sys::fs::remove_directories(folder);
    };
    OnInterrupt interrupted(remove);
    int code = measure();
    remove();
    return code == Ok ? write() : code;
  }

private:
  int fail(const std::string &why) const {
    return tell("cannot measure ranks over '" + asked.comm + "': " + StringRef(why).trim().str(),
                UserError);
  }

  int measure() {
    int64_t ranks = measured.ranks;
    if (ranks > 1) { // else there is nobody to communicate with
      // First, as this may be impossible here.
      Probe collectives = collectivesProbe(ranks);
      llvm::errs() << "weft-plan: measuring " << collectives.name << " of " << ranks
                   << " ranks over " << asked.comm << '\n';
      if (int code = measure(collectives, /*copies=*/1, {"--comm", asked.comm}))
        return code;
    }
    std::vector<Probe> kernels = {streamsProbe(), attentionProbe("f32"), attentionProbe("bf16"),
                                  convolutionsProbe()};
    for (const char *type : {"f32", "bf16", "f16", "f64"})
      kernels.push_back(productsProbe(type));
    for (const Probe &probe : kernels) {
      llvm::errs() << "weft-plan: measuring " << probe.name << '\n';
      // All cores are busy, as in a job: they share what memory gives.
      if (int code = measure(probe, /*copies=*/ranks, {}))
        return code;
    }
    return Ok;
  }

  std::string pathOf(const std::string &name) const {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  int measure(const Probe &probe, int64_t copies, const std::vector<std::string> &flags) {
    std::string text = pathOf(probe.name + ".mlir");
    {
      std::error_code code;
      llvm::raw_fd_ostream out(text, code);
      out << probe.text;
    }
    Options options;
    options.model = text;
    options.output = pathOf(probe.name);
    options.quiet = true;
    options.compile.threadsPerRank = asked.threads;
    options.compile.phases.bucketBytes = 0; // each collective is one command
    MLIRContext context(compilerRegistry());
    Messages messages(context, options);
    FailureOr<Compilation> loaded = Compilation::load(text, context);
    if (failed(loaded))
      return messages.failed(/*compilerIsToBlame=*/false);
    loaded->options = options.compile;
    std::map<std::string, cost::Work> works = workByName(loaded->getModule());
    if (failed(loaded->runTo(Phase::Scheduled)) ||
        failed(loaded->emitExecutable(emitOptions(loaded->getModule(), options, program))))
      return messages.failed(/*compilerIsToBlame=*/false);
    if (int code = execute(options.output, copies, flags))
      return code;
    return take(probe, works, pathOf(probe.name + "0.json"));
  }

  /// Runs the executable many times, in so many processes at once.
  int execute(const std::string &executable, int64_t copies,
              const std::vector<std::string> &flags) {
    std::vector<llvm::sys::ProcessInfo> processes;
    std::string log = executable + ".log", why;
    for (int64_t copy = 0; copy < copies; ++copy) {
      std::vector<std::string> words = {
          runner.str().str(), executable,
          "--bench",          "-q",
          "--trace",          executable + std::to_string(copy) + ".json"};
      if (copies > 1)
        words.insert(words.end(), {"--pin", "off"});
      words.insert(words.end(), flags.begin(), flags.end());
      SmallVector<StringRef> refs(words.begin(), words.end());
      std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
      processes.push_back(llvm::sys::ExecuteNoWait(runner, refs, std::nullopt, redirects, 0, &why));
    }
    bool isDone = true;
    for (const llvm::sys::ProcessInfo &process : processes)
      isDone &= process.Pid > 0 &&
                llvm::sys::Wait(process, /*SecondsToWait=*/std::nullopt, &why).ReturnCode == 0;
    if (isDone)
      return Ok;
    if (auto told = llvm::MemoryBuffer::getFile(log))
      why += (*told)->getBuffer();
    return fail(why);
  }

  /// The times of a probe's commands, as points.
  int take(const Probe &probe, const std::map<std::string, cost::Work> &works,
           const std::string &trace) {
    auto text = llvm::MemoryBuffer::getFile(trace);
    // Processor time where one thread does it all: it says what a kernel takes even if others use
    // the machine, too. Who communicates waits, which is no processor time.
    bool ofProcessor = asked.threads == 1 && probe.collectives.empty();
    llvm::Expected<Timings> timings = readTimings(text ? (*text)->getBuffer() : "", ofProcessor);
    if (!timings)
      return fail(llvm::toString(timings.takeError()));
    for (const auto &[name, seconds] : timings->byName) {
      if (auto found = probe.collectives.find(name); found != probe.collectives.end()) {
        CollectivePoint point = found->second;
        // Late members make a collective longer, and no other thing shorter.
        point.seconds = cost::quantile(seconds, 0.25);
        measured.collectives.push_back(point);
      } else if (auto work = works.find(name); work != works.end()) {
        measured.kernels.push_back({work->second, cost::quantile(seconds, 0.5)});
      }
    }
    if (probe.name == "streams")
      measured.gapSeconds = std::max(0.0, cost::quantile(timings->gaps, 0.5));
    return Ok;
  }

  int write() {
    Cluster cluster = cost::fitCluster(measured);
    const Device &device = cluster.device;
    std::string text;
    llvm::raw_string_ostream out(text);
    std::string name = llvm::sys::getHostCPUName().str();
    out << "# What `weft-plan --calibrate` found on " << today() << ": ranks with " << asked.threads
        << (asked.threads == 1 ? " thread each, " : " threads each, ") << measured.ranks
        << " at once, over " << asked.comm << ".\n# docs/cluster.md says what each field is.\n";
    out << "name: \"" << name << " over " << asked.comm << "\"\n";
    out << "uncertainty { share: " << numberText(cluster.uncertainty) << " origin: \"" << origin
        << ": how far a product is from what the others say of it, at least a tenth\" }\n";
    double memory = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    out << "device {\n  name: \"" << asked.threads << " of the cores of " << name << "\"\n"
        << "  memory { bytes: " << numberText(memory / double(machineRanks))
        << " bandwidth: " << numberText(device.memoryBandwidth) << " origin: \"" << origin
        << ", a rank's part\" }\n";
    printRates(device, out);
    out << "  launch { gap_seconds: " << numberText(device.gapSeconds) << " origin: \"" << origin
        << "\" }\n";
    printPoints("gemm_point", device.gemmPoints, out);
    printPoints("conv_point", device.convPoints, out);
    printPoints("attention_point", device.attentionPoints, out);
    for (const StreamPoint &point : device.streamPoints)
      out << "  stream_point { bytes: " << int64_t(point.bytes)
          << " seconds: " << numberText(point.seconds) << " origin: \"" << origin << "\" }\n";
    out << "}\n";
    printLinks(cluster, out);
    std::string wrong;
    if (!readCluster(text, wrong))
      return fail(wrong);
    OutputFile file;
    if (llvm::Error failure = file.open(asked.file))
      return tell(llvm::toString(std::move(failure)), UserError);
    file.os() << text;
    if (llvm::Error failure = file.commit())
      return tell(llvm::toString(std::move(failure)), UserError);
    return Ok;
  }

  void printRates(const Device &device, llvm::raw_ostream &out) const {
    for (Arithmetic type : {Arithmetic::F32, Arithmetic::BF16, Arithmetic::F16, Arithmetic::F64}) {
      const ComputeRate &rate = device.rates[size_t(type)];
      out << "  rate { type: \"" << nameOf(type) << "\" flops: " << numberText(rate.flops)
          << " sustained: " << numberText(rate.sustained)
          << " vector_flops: " << numberText(rate.vectorFlops)
          << " attention_sustained: " << numberText(rate.attentionSustained) << " origin: \""
          << origin << "\" }\n";
    }
  }

  void printPoints(const char *field, const std::vector<GemmPoint> &points,
                   llvm::raw_ostream &out) const {
    for (const GemmPoint &point : points)
      out << "  " << field << " { type: \"" << nameOf(point.arithmetic)
          << "\" batch: " << point.batch << " m: " << point.m << " n: " << point.n
          << " k: " << point.k << " each: " << numberText(point.each)
          << " seconds: " << numberText(point.seconds) << " origin: \"" << origin << "\" }\n";
  }

  void printLinks(const Cluster &cluster, llvm::raw_ostream &out) const {
    const LinkLevel &links = cluster.levels.front();
    bool areMeasured = !cluster.collectivePoints.empty();
    out << "link { name: \"" << asked.comm << "\" bandwidth: " << numberText(links.bandwidth)
        << " latency: " << numberText(links.latency) << " origin: \"" << origin
        << (areMeasured ? "" : ": of memory, as one rank has all cores") << "\" }\n";
    if (areMeasured)
      out << "collective_overhead { seconds: " << numberText(cluster.collectiveOverhead)
          << " origin: \"" << origin << "\" }\n";
    for (const CollectivePoint &point : cluster.collectivePoints)
      out << "collective_point { kind: \"" << runtime::collectiveKindName(point.kind)
          << "\" link: \"" << asked.comm << "\" members: " << point.members
          << " bytes: " << int64_t(point.bytes) << " seconds: " << numberText(point.seconds)
          << " origin: \"" << origin << "\" }\n";
  }

  const CalibrateOptions &asked;
  const std::string &program;
  SmallString<128> runner, folder;
  std::string origin;
  /// That the machine has room for; fewer are measured.
  int64_t machineRanks = 1;
  cost::Measurements measured;
};

} // namespace

int driver::calibrate(const CalibrateOptions &options, const std::string &program) {
  return Calibration(options, program).run();
}
