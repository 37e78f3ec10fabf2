// Part a: the machine's ceilings: memory traffic, matrix products, launches,
// host-device copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/CublasLt.h"
#include "common/Device.h"
#include "common/Random.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

using namespace weft::gpukit;

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// A multiple of 1 MiB: 4 GiB where the device has them, far past any L2 cache.
size_t trafficBytes() { return std::min<size_t>(size_t(4) << 30, freeBytes() / 8) >> 20 << 20; }

void measureTraffic(Report &report, cudaStream_t stream) {
  size_t bytes = trafficBytes();
  auto withBuffers = [&](const char *name, double moved, auto &&enqueue, auto &&verify) {
    report.attempt(name, [&] {
      Buffer from(bytes), to(bytes);
      fillNormal(from, Type::f32, bytes / 4, 11, 1, stream);
      poison(to, stream);
      Stats stats = timeOnDevice(stream, [&](size_t) { enqueue(from, to); });
      Json entry = result(stats, moved, "GB/s", verify(from, to));
      entry["bytes_moved"] = moved;
      return entry;
    });
  };
  // Both buffers equal, and the source still what the host computes: a copy of
  // poison would be equal too.
  auto copied = [&](const Buffer &from, const Buffer &to) {
    uint64_t different = countDifferent(from, to, bytes, stream);
    std::vector<uint64_t> places;
    for (uint64_t i = 0; i < 4096; ++i)
      places.push_back(mixBits(5, i) % (bytes / 4));
    std::vector<double> found = gather(to, Type::f32, places, stream);
    for (size_t i = 0; i < places.size(); ++i)
      different += found[i] != double(normalAt(11, places[i], 1));
    return exact(different, bytes / 4);
  };
  withBuffers(
      "copy by memcpy", 2.0 * double(bytes),
      [&](const Buffer &from, const Buffer &to) {
        CUDA_CALL(cudaMemcpyAsync(to.as(), from.as(), bytes, cudaMemcpyDeviceToDevice, stream));
      },
      copied);
  withBuffers(
      "copy by kernel", 2.0 * double(bytes),
      [&](const Buffer &from, const Buffer &to) {
        CUDA_CALL(launchCopy(to.as(), from.as(), bytes, stream));
      },
      copied);

  // The exclusive or of all words, checked on a part that the host can compute.
  report.attempt("read by kernel", [&] {
    Buffer from(bytes), sum(sizeof(unsigned));
    fillNormal(from, Type::f32, bytes / 4, 13, 1, stream);
    const size_t small = std::min(size_t(16) << 20, bytes);
    unsigned expected = 0, found = 0;
    for (uint64_t i = 0; i < small / 4; ++i) {
      float value = normalAt(13, i, 1);
      unsigned bits;
      std::memcpy(&bits, &value, sizeof(bits));
      expected ^= bits;
    }
    CUDA_CALL(cudaMemsetAsync(sum.as(), 0, sum.bytes(), stream));
    CUDA_CALL(launchRead(from.as(), small, sum.as<unsigned>(), stream));
    CUDA_CALL(cudaMemcpyAsync(&found, sum.as(), sizeof(found), cudaMemcpyDeviceToHost, stream));
    CUDA_CALL(cudaStreamSynchronize(stream));
    Stats stats = timeOnDevice(stream, [&](size_t) {
      CUDA_CALL(launchRead(from.as(), bytes, sum.as<unsigned>(), stream));
    });
    return result(stats, double(bytes), "GB/s", exact(found != expected, small / 4));
  });
  withBuffers(
      "write by kernel", double(bytes),
      [&](const Buffer &, const Buffer &to) {
        CUDA_CALL(launchWrite(to.as(), bytes, 0x3F800000u, stream));
      },
      [&](const Buffer &, const Buffer &to) {
        // Poison is a NaN: none may be left, and what was written is 1.0f.
        uint64_t bad = countNotFinite(to, Type::f32, bytes / 4, stream);
        std::vector<uint64_t> places;
        for (uint64_t i = 0; i < 4096; ++i)
          places.push_back(mixBits(6, i) % (bytes / 4));
        for (double value : gather(to, Type::f32, places, stream))
          bad += value != 1.0;
        return exact(bad, bytes / 4);
      });
}

struct Ceiling {
  const char *name;
  Precision precision;
  int64_t size;
  Tolerance tolerance;
};

void measureProducts(Report &report, cudaStream_t stream, int64_t largest) {
  std::unique_ptr<CublasLt> lt;
  const Ceiling ceilings[] = {
      {"GEMM bf16", precisionBf16(), 8192, bf16Tolerance},
      {"GEMM tf32", precisionTf32(), 8192, {2e-3, 1e-2}}, // operands rounded to 11 bits
      {"GEMM fp32", precisionF32(), 8192, {1e-5, 1e-4}},
      {"GEMM fp64", precisionF64(), 8192, {1e-12, 1e-11}},
  };
  for (const Ceiling &ceiling : ceilings) {
    int64_t size = std::min(ceiling.size, largest);
    report.attempt(format("%s %lld^3", ceiling.name, (long long)size), [&] {
      if (!lt)
        lt = std::make_unique<CublasLt>();
      GemmShape shape{ceiling.name, size, size, size, Pass::forward, Epilogue::none};
      GemmPlan plan(*lt, shape, ceiling.precision, stream);
      Tuned tuned = tuneGemm(plan, stream, 8, ceiling.tolerance, 256);
      Json entry = result(tuned.best, shape.flops() / 1e3, "TFLOP/s", tuned.check);
      entry["first_heuristic_ms"] = toJson(tuned.first);
      entry["algorithms"] = tuned.usable;
      return entry;
    });
  }
}

/// Host times of `samples` repetitions of `launch`, each over `batch` launches,
/// in milliseconds per launch.
template <typename Launch>
Stats timeOnHost(cudaStream_t stream, size_t batch, const Launch &launch) {
  std::vector<double> times;
  for (size_t sample = 0; sample < 30; ++sample) {
    CUDA_CALL(cudaStreamSynchronize(stream));
    auto start = Clock::now();
    for (size_t i = 0; i < batch; ++i)
      launch();
    times.push_back(millisecondsSince(start) / double(batch));
  }
  CUDA_CALL(cudaStreamSynchronize(stream));
  return statsOf(times);
}

/// A result in microseconds per operation rather than as a rate.
Json microseconds(const Stats &stats, const Check &check) {
  Json entry;
  entry["rate"] = stats.median * 1e3;
  entry["unit"] = "us";
  entry["ms"] = toJson(stats);
  entry["check"] = toJson(check);
  return entry;
}

void measureLaunches(Report &report, cudaStream_t stream) {
  // Every launch increments a counter, so that a launch which did not run is
  // seen.
  struct Counter {
    explicit Counter(cudaStream_t stream) : stream(stream), buffer(sizeof(unsigned)) {
      CUDA_CALL(cudaMemsetAsync(buffer.as(), 0, buffer.bytes(), stream));
    }
    void launch() {
      CUDA_CALL(launchIncrement(buffer.as<unsigned>(), stream));
      ++expected;
    }
    Check check() const {
      unsigned found = 0;
      CUDA_CALL(
          cudaMemcpyAsync(&found, buffer.as(), sizeof(found), cudaMemcpyDeviceToHost, stream));
      CUDA_CALL(cudaStreamSynchronize(stream));
      return exact(found != expected, expected);
    }
    cudaStream_t stream;
    Buffer buffer;
    unsigned expected = 0;
  };
  report.attempt("launch, host time", [&] {
    Counter counter(stream);
    Stats stats = timeOnHost(stream, 200, [&] { counter.launch(); });
    return microseconds(stats, counter.check());
  });
  report.attempt("launch, device time", [&] {
    Counter counter(stream);
    Stats stats = timeOnDevice(stream, [&](size_t) { counter.launch(); }, {30, 20, 1.0});
    return microseconds(stats, counter.check());
  });
  report.attempt("launch and wait", [&] {
    Counter counter(stream);
    Stats stats = timeOnHost(stream, 50, [&] {
      counter.launch();
      CUDA_CALL(cudaStreamSynchronize(stream));
    });
    return microseconds(stats, counter.check());
  });

  // A graph of a chain of the same kernel: time per graph on the host, per node
  // on the device.
  constexpr unsigned nodes = 200;
  struct Graph {
    Graph(cudaStream_t stream, Counter &counter) {
      CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (unsigned i = 0; i < nodes; ++i)
        CUDA_CALL(launchIncrement(counter.buffer.as<unsigned>(), stream));
      cudaGraph_t graph = nullptr;
      CUDA_CALL(cudaStreamEndCapture(stream, &graph));
      cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
      cudaGraphDestroy(graph);
      CUDA_CALL(error);
    }
    ~Graph() {
      if (executable)
        cudaGraphExecDestroy(executable);
    }
    cudaGraphExec_t executable = nullptr;
  };
  auto perNode = [&](Json entry) {
    entry["nodes"] = nodes;
    entry["us_per_node"] = entry["rate"].get<double>() / nodes;
    return entry;
  };
  report.attempt("graph of 200 launches, host time", [&] {
    Counter counter(stream);
    Graph graph(stream, counter);
    Stats stats = timeOnHost(stream, 5, [&] {
      CUDA_CALL(cudaGraphLaunch(graph.executable, stream));
      counter.expected += nodes;
    });
    return perNode(microseconds(stats, counter.check()));
  });
  report.attempt("graph of 200 launches, device time", [&] {
    Counter counter(stream);
    Graph graph(stream, counter);
    auto launch = [&](size_t) {
      CUDA_CALL(cudaGraphLaunch(graph.executable, stream));
      counter.expected += nodes;
    };
    Stats stats = timeOnDevice(stream, launch, {30, 5, 1.0});
    return perNode(microseconds(stats, counter.check()));
  });
}

void measureHostCopies(Report &report, cudaStream_t stream) {
  const size_t bytes = std::min(size_t(256) << 20, freeBytes() / 4) >> 20 << 20;
  struct Pinned {
    explicit Pinned(size_t bytes) { CUDA_CALL(cudaMallocHost(&data, bytes)); }
    ~Pinned() { cudaFreeHost(data); }
    void *data = nullptr;
  };
  auto fill = [bytes](void *data, uint64_t seed) {
    auto *words = static_cast<uint64_t *>(data);
    for (uint64_t i = 0; i < bytes / 8; ++i)
      words[i] = mixBits(seed, i);
  };
  // Up and down again: what comes back must be what went up.
  auto measure = [&](const std::string &name, cudaMemcpyKind kind, bool pinned) {
    report.attempt(name, [&] {
      Buffer device(bytes);
      std::unique_ptr<Pinned> hold[2];
      std::vector<uint64_t> pages[2];
      void *host[2];
      for (int i = 0; i < 2; ++i) {
        if (pinned)
          hold[i] = std::make_unique<Pinned>(bytes);
        else
          pages[i].resize(bytes / 8);
        host[i] = pinned ? hold[i]->data : pages[i].data();
      }
      fill(host[0], 21);
      std::memset(host[1], 0xFF, bytes);
      poison(device, stream);
      bool up = kind == cudaMemcpyHostToDevice;
      if (!up)
        CUDA_CALL(cudaMemcpyAsync(device.as(), host[0], bytes, cudaMemcpyHostToDevice, stream));
      Stats stats = timeOnDevice(stream, [&](size_t) {
        CUDA_CALL(up ? cudaMemcpyAsync(device.as(), host[0], bytes, kind, stream)
                     : cudaMemcpyAsync(host[1], device.as(), bytes, kind, stream));
      });
      if (up)
        CUDA_CALL(cudaMemcpyAsync(host[1], device.as(), bytes, cudaMemcpyDeviceToHost, stream));
      CUDA_CALL(cudaStreamSynchronize(stream));
      return result(stats, double(bytes), "GB/s",
                    exact(std::memcmp(host[0], host[1], bytes) != 0, bytes));
    });
  };
  measure("host to device, pinned", cudaMemcpyHostToDevice, true);
  measure("device to host, pinned", cudaMemcpyDeviceToHost, true);
  measure("host to device, pageable", cudaMemcpyHostToDevice, false);
  measure("device to host, pageable", cudaMemcpyDeviceToHost, false);
}

} // namespace

int main(int argc, char **argv) {
  Report report("a", "ceilings: memory, matrix products, launches, host-device copies",
                option(argc, argv, "json", ""));
  if (std::string why = openDevice(); !why.empty())
    return report.finishNoDevice(why);
  try {
    report.facts()["device"] = describeDevice();
    Stream stream;
    measureTraffic(report, stream);
    measureProducts(report, stream, std::stoll(option(argc, argv, "largest", "8192")));
    measureLaunches(report, stream);
    measureHostCopies(report, stream);
  } catch (const std::exception &error) {
    return report.finishFailed(error.what());
  }
  return report.finish();
}
