// From probes to the file of a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calibrate.h"

#include "Messages.h"
#include "Probes.h"
#include "Report.h"
#include "weft/Cost/Rates.h"
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

#include <cmath>
#include <ctime>
#include <unistd.h>

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

using cost::Shape;

/// No more ranks are measured together: what they share shows with fewer.
constexpr int64_t kMostRanks = 8;

/// The value below which this share of the values is.
double quantile(std::vector<double> values, double share) {
  auto at = values.begin() + size_t(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

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
    ranks = std::clamp<int64_t>(cores / asked.threads, 1, kMostRanks);
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
    auto remove = [this] { llvm::sys::fs::remove_directories(folder); };
    OnInterrupt interrupted(remove);
    int code = measure();
    remove();
    return code == Ok ? write() : code;
  }

private:
  int fail(StringRef why) const {
    return tell("cannot measure ranks over '" + asked.comm + "': " + why.trim().str(), UserError);
  }

  int measure() {
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
        point.seconds = quantile(seconds, 0.25);
        collectives.push_back(point);
      } else if (auto work = works.find(name); work != works.end()) {
        kernels.push_back({work->second, quantile(seconds, 0.5)});
      }
    }
    if (probe.name == "streams")
      gap = std::max(0.0, quantile(timings->gaps, 0.5));
    return Ok;
  }

  struct Kernel {
    cost::Work work;
    double seconds = 0;
  };

  /// Of kernels alike in all but layout the mean.
  std::vector<GemmPoint> pointsOf(Shape::Kind kind) const {
    std::map<std::tuple<Arithmetic, int64_t, int64_t, int64_t, int64_t, int64_t>,
             std::pair<GemmPoint, int64_t>>
        means;
    for (const Kernel &kernel : kernels) {
      const Shape &shape = kernel.work.shape;
      if (shape.kind != kind)
        continue;
      auto &[point, count] = means[{kernel.work.arithmetic, shape.batch, shape.m, shape.n, shape.k,
                                    kernel.work.flops}];
      point.arithmetic = kernel.work.arithmetic;
      point.batch = shape.batch, point.m = shape.m, point.n = shape.n, point.k = shape.k;
      point.each = double(kernel.work.flops) / double(shape.batch * shape.m * shape.n * shape.k);
      point.seconds += kernel.seconds;
      ++count;
    }
    std::vector<GemmPoint> points;
    for (auto &[key, entry] : means) {
      entry.first.seconds /= double(entry.second);
      points.push_back(entry.first);
    }
    return points;
  }

  static double flopsOf(const GemmPoint &point) {
    return point.each * double(point.batch) * double(point.m) * double(point.n) * double(point.k);
  }

  /// Operations a second of the points of one type.
  static std::vector<double> ratesOf(const std::vector<GemmPoint> &points, Arithmetic type) {
    std::vector<double> rates;
    for (const GemmPoint &point : points)
      if (point.arithmetic == type)
        rates.push_back(flopsOf(point) / point.seconds);
    return rates;
  }

  /// Bytes read and written by sizes, and operations a second of functions.
  void fitStreams() {
    std::map<double, double> byBytes;
    std::vector<double> rates;
    for (const Kernel &kernel : kernels) {
      if (kernel.work.shape.kind != Shape::Kind::Stream)
        continue;
      double bytes = double(kernel.work.bytesRead + kernel.work.bytesWritten);
      // An addition for three elements in memory is no work beside them.
      if (double(kernel.work.flops) * 12 <= bytes)
        byBytes[bytes] = kernel.seconds;
      else
        rates.push_back(double(kernel.work.flops) / kernel.seconds);
    }
    double most = 0;
    for (auto [bytes, seconds] : byBytes) {
      // More bytes take no less, whatever a clock says.
      most = std::max(most, seconds);
      device.streamPoints.push_back({bytes, most});
    }
    vectorFlops = quantile(rates, 0.5);
  }

  /// How far products are from what the others say of them.
  double residual() const {
    double sum = 0;
    for (size_t left = 0; left < device.gemmPoints.size(); ++left) {
      Device others = device;
      GemmPoint point = device.gemmPoints[left];
      others.gemmPoints.erase(others.gemmPoints.begin() + ptrdiff_t(left));
      cost::Work work;
      work.shape.kind = Shape::Kind::Gemm;
      work.shape.batch = point.batch, work.shape.m = point.m;
      work.shape.n = point.n, work.shape.k = point.k;
      work.arithmetic = point.arithmetic;
      work.flops = std::llround(flopsOf(point));
      others.gapSeconds = 0;
      cost::Remarks remarks;
      sum += std::abs(double(cost::timeOf(work, others, remarks)) * 1e-12 / point.seconds - 1);
    }
    return sum / double(device.gemmPoints.size());
  }

  int write() {
    device.gemmPoints = pointsOf(Shape::Kind::Gemm);
    device.convPoints = pointsOf(Shape::Kind::Conv);
    device.attentionPoints = pointsOf(Shape::Kind::Attention);
    fitStreams();
    std::string text;
    llvm::raw_string_ostream out(text);
    std::string name = llvm::sys::getHostCPUName().str();
    out << "# What `weft-plan --calibrate` found on " << today() << ": ranks with " << asked.threads
        << (asked.threads == 1 ? " thread each, " : " threads each, ") << ranks << " at once, over "
        << asked.comm << ".\n# docs/cluster.md says what each field is.\n";
    out << "name: \"" << name << " over " << asked.comm << "\"\n";
    std::string rates = ratesText();
    out << "uncertainty { share: " << numberText(std::max(0.1, residual())) << " origin: \""
        << origin
        << ": how far a product is from what the others say of it, at least a tenth\" }\n";
    const StreamPoint &large = device.streamPoints.back();
    double memory = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    out << "device {\n  name: \"" << asked.threads << " of the cores of " << name << "\"\n"
        << "  memory { bytes: " << numberText(memory / double(ranks))
        << " bandwidth: " << numberText(large.bytes / large.seconds) << " origin: \"" << origin
        << ", a rank's part\" }\n"
        << rates << "  launch { gap_seconds: " << numberText(gap) << " origin: \"" << origin
        << "\" }\n";
    printPoints("gemm_point", device.gemmPoints, out);
    printPoints("conv_point", device.convPoints, out);
    printPoints("attention_point", device.attentionPoints, out);
    for (const StreamPoint &point : device.streamPoints)
      out << "  stream_point { bytes: " << int64_t(point.bytes)
          << " seconds: " << numberText(point.seconds) << " origin: \"" << origin << "\" }\n";
    out << "}\n";
    printLinks(out);
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

  /// The best product is the rate, the largest one tells what is sustained. Fills the device's.
  std::string ratesText() {
    std::string text;
    llvm::raw_string_ostream out(text);
    for (Arithmetic type : {Arithmetic::F32, Arithmetic::BF16, Arithmetic::F16, Arithmetic::F64}) {
      ComputeRate &rate = device.rates[size_t(type)];
      rate.flops = quantile(ratesOf(device.gemmPoints, type), 1);
      double most = 0, large = 0;
      for (const GemmPoint &point : device.gemmPoints)
        if (point.arithmetic == type && flopsOf(point) > most) {
          most = flopsOf(point);
          large = most / point.seconds;
        }
      rate.sustained = large / rate.flops;
      // Of types whose attention is not measured as of f32, which comes first.
      std::vector<double> attention = ratesOf(device.attentionPoints, type);
      rate.attentionSustained = attention.empty()
                                    ? device.rates[size_t(Arithmetic::F32)].attentionSustained
                                    : std::min(1.0, quantile(attention, 0.5) / rate.flops);
      rate.vectorFlops = type == Arithmetic::F64 ? vectorFlops / 2 : vectorFlops;
      out << "  rate { type: \"" << nameOf(type) << "\" flops: " << numberText(rate.flops)
          << " sustained: " << numberText(rate.sustained)
          << " vector_flops: " << numberText(rate.vectorFlops)
          << " attention_sustained: " << numberText(rate.attentionSustained) << " origin: \""
          << origin << "\" }\n";
    }
    return text;
  }

  void printPoints(const char *field, const std::vector<GemmPoint> &points,
                   llvm::raw_ostream &out) const {
    for (const GemmPoint &point : points)
      out << "  " << field << " { type: \"" << nameOf(point.arithmetic)
          << "\" batch: " << point.batch << " m: " << point.m << " n: " << point.n
          << " k: " << point.k << " each: " << numberText(point.each)
          << " seconds: " << numberText(point.seconds) << " origin: \"" << origin << "\" }\n";
  }

  /// Latency and bandwidth (Hockney) of the least and the most bytes: a ring of n members gathers
  /// in n-1 messages and sums in twice as many.
  void printLinks(llvm::raw_ostream &out) {
    double n = double(ranks), few = 0, sum = 0, bandwidth = 0, most = 0, least = 0;
    for (const CollectivePoint &point : collectives) {
      if (point.kind == runtime::CollectiveKind::AllGather && (least == 0 || point.bytes < least)) {
        least = point.bytes;
        few = point.seconds;
      }
      if (point.kind == runtime::CollectiveKind::AllReduce && point.bytes > most) {
        most = point.bytes;
        bandwidth = 2 * point.bytes * (n - 1) / n / point.seconds;
      }
      if (point.kind == runtime::CollectiveKind::AllReduce && point.bytes == least)
        sum = point.seconds;
    }
    double latency = std::max(0.0, (sum - few) / (n - 1));
    const StreamPoint &large = device.streamPoints.back();
    out << "link { name: \"" << asked.comm
        << "\" bandwidth: " << numberText(bandwidth > 0 ? bandwidth : large.bytes / large.seconds)
        << " latency: " << numberText(latency) << " origin: \"" << origin
        << (bandwidth > 0 ? "" : ": of memory, as one rank has all cores") << "\" }\n";
    if (bandwidth > 0)
      out << "collective_overhead { seconds: " << numberText(std::max(0.0, few - latency * (n - 1)))
          << " origin: \"" << origin << "\" }\n";
    for (const CollectivePoint &point : collectives)
      out << "collective_point { kind: \"" << runtime::collectiveKindName(point.kind)
          << "\" link: \"" << asked.comm << "\" members: " << point.members
          << " bytes: " << int64_t(point.bytes) << " seconds: " << numberText(point.seconds)
          << " origin: \"" << origin << "\" }\n";
  }

  const CalibrateOptions &asked;
  const std::string &program;
  SmallString<128> runner, folder;
  int64_t ranks = 1;
  std::string origin;
  std::vector<Kernel> kernels;
  std::vector<CollectivePoint> collectives;
  Device device;
  double gap = 0, vectorFlops = 0;
};

} // namespace

int driver::calibrate(const CalibrateOptions &options, const std::string &program) {
  return Calibration(options, program).run();
}
