// Part c: cuDNN attention through its backend graph, forward and backward, and
// the time its plans take to build.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/AttentionReference.h"
#include "common/Device.h"
#include "common/Random.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace weft::gpukit;

namespace {

std::string describe(const AttentionShape &shape) {
  return format("D%lld T%lld B%lld heads %lld/%lld %s", (long long)shape.depth,
                (long long)shape.time, (long long)shape.batch, (long long)shape.queryHeads,
                (long long)shape.keyHeads, shape.causal ? "causal" : "full");
}

/// A constant number of tokens, so that every buffer lies well past L2; the
/// most wanted first. `small` keeps their kinds at sizes for an emulated
/// device.
std::vector<AttentionShape> allShapes(bool small = false) {
  std::vector<AttentionShape> shapes;
  for (int64_t time : {4096, 8192, 2048, 1024})
    shapes.push_back({16384 / time, 32, 8, time, 128, true});
  for (int64_t time : {1024, 2048, 4096, 8192})
    shapes.push_back({32768 / time, 16, 16, time, 64, true});
  shapes.push_back({4, 16, 16, 4096, 128, true});
  shapes.push_back({4, 16, 16, 4096, 128, false});
  // cuDNN's own published benchmark.
  shapes.push_back({1, 64, 8, 8192, 128, true});
  if (small)
    for (AttentionShape &shape : shapes)
      shape = {std::min<int64_t>(shape.batch, 2),
               shape.queryHeads / 4,
               shape.keyHeads / 4,
               shape.time / 256,
               shape.depth / 8,
               shape.causal};
  return shapes;
}

/// Buffers of one shape and what they must hold.
class Attention {
public:
  Attention(const Cudnn &cudnn, const AttentionShape &shape, cudaStream_t stream)
      : cudnn(cudnn), shape(shape), stream(stream), packed(shape.packedElements() * 2),
        o(shape.outputElements() * 2), dO(shape.outputElements() * 2),
        packedGradient(shape.packedElements() * 2), dQAccum(shape.outputElements() * 4),
        stats(shape.rowElements() * 4), rowSum(shape.rowElements() * 4),
        scale(float(shape.scale())), masked(maskedScore(cudnn.getVersion())) {
    fillNormal(packed, Type::bf16, shape.packedElements(), data.seedPacked, data.sigma, stream);
    fillNormal(dO, Type::bf16, shape.outputElements(), data.seedGradient, data.sigma, stream);
    for (const Buffer *output : {&o, &packedGradient, &dQAccum, &stats, &rowSum})
      poison(*output, stream);
  }

  Json forward() {
    AttentionGraph graph = forwardGraph(cudnn, shape);
    Plan plan = buildPlan(cudnn, *graph.graph);
    Buffer workspace(size_t(plan.workspaceBytes));
    auto pointers = bind(graph.uids);
    execute(cudnn, plan, pointers, workspace.as());
    Check check = checkForward();
    Stats times =
        timeOnDevice(stream, [&](size_t) { execute(cudnn, plan, pointers, workspace.as()); });
    return entry(plan, graph, times, shape.forwardFlops(), check);
  }

  /// After forward(), whose output and statistics it reads.
  Json backward() {
    AttentionGraph graph = backwardGraph(cudnn, shape);
    Plan plan = buildPlan(cudnn, *graph.graph);
    Buffer workspace(size_t(plan.workspaceBytes));
    auto pointers = bind(graph.uids);
    execute(cudnn, plan, pointers, workspace.as());
    Check check = checkBackward();
    Stats times =
        timeOnDevice(stream, [&](size_t) { execute(cudnn, plan, pointers, workspace.as()); });
    return entry(plan, graph, times, shape.backwardFlops(), check);
  }

private:
  std::vector<std::pair<int64_t, void *>> bind(const AttentionUids &uids) {
    int64_t d = shape.depth;
    uint16_t *input = packed.as<uint16_t>(), *gradient = packedGradient.as<uint16_t>();
    int64_t key = shape.queryHeads * d, value = (shape.queryHeads + shape.keyHeads) * d;
    std::vector<std::pair<int64_t, void *>> pointers;
    auto add = [&](int64_t uid, void *address) {
      if (uid)
        pointers.emplace_back(uid, address);
    };
    add(uids.q, input);
    add(uids.k, input + key);
    add(uids.v, input + value);
    add(uids.o, o.as());
    add(uids.stats, stats.as());
    add(uids.dO, dO.as());
    add(uids.dQ, gradient);
    add(uids.dK, gradient + key);
    add(uids.dV, gradient + value);
    add(uids.rowSum, rowSum.as());
    add(uids.dQAccum, dQAccum.as());
    add(uids.scale, &scale);
    add(uids.masked, &masked);
    add(uids.one, &one);
    return pointers;
  }

  /// First, last and middle rows, and others at random.
  std::vector<int64_t> sampledRows() const {
    std::vector<int64_t> rows = {0, 1, shape.time / 2 - 1, shape.time / 2, shape.time - 1};
    for (uint64_t i = 0; i < 5; ++i)
      rows.push_back(int64_t(mixBits(41, i) % uint64_t(shape.time)));
    return rows;
  }

  const AttentionReference &reference() {
    // The last sequence and head: a wrong stride or head mapping shows there.
    if (!computed)
      computed =
          std::make_unique<AttentionReference>(shape, data, shape.batch - 1, shape.keyHeads - 1);
    return *computed;
  }

  void append(std::vector<uint64_t> &indexes, uint64_t start) const {
    for (int64_t i = 0; i < shape.depth; ++i)
      indexes.push_back(start + uint64_t(i));
  }
  static void append(std::vector<double> &values, const std::vector<double> &row) {
    values.insert(values.end(), row.begin(), row.end());
  }
  Check checkForward() {
    const AttentionReference &expected = reference();
    std::vector<uint64_t> outputs, rows;
    std::vector<double> outputValues, rowValues;
    int64_t b = shape.batch - 1;
    for (int64_t member = 0; member < expected.groupSize(); ++member)
      for (int64_t t : sampledRows()) {
        append(outputs, shape.outputRow(b, t, expected.queryHead(member)));
        append(outputValues, expected.output(member, t));
        rows.push_back(shape.statsAt(b, expected.queryHead(member), t));
        rowValues.push_back(expected.stats(member, t));
      }
    Check check = both(compareRows(gather(o, Type::bf16, outputs, stream), outputValues,
                                   size_t(shape.depth), outputTolerance, 1e-3),
                       compare(gather(stats, Type::f32, rows, stream), rowValues, {1e-3, 1e-2}));
    check.notFinite += countNotFinite(o, Type::bf16, shape.outputElements(), stream);
    check.notFinite += countNotFinite(stats, Type::f32, shape.rowElements(), stream);
    check.ok = check.ok && check.notFinite == 0;
    return check;
  }

  Check checkBackward() {
    const AttentionReference &expected = reference();
    std::vector<uint64_t> queries, keys, values;
    std::vector<double> queryValues, keyValues, valueValues;
    int64_t b = shape.batch - 1, head = shape.keyHeads - 1;
    for (int64_t t : sampledRows()) {
      for (int64_t member = 0; member < expected.groupSize(); ++member) {
        append(queries, shape.packedRow(b, t, expected.queryHead(member)));
        append(queryValues, expected.queryGradient(member, t));
      }
      append(keys, shape.packedRow(b, t, shape.queryHeads + head));
      append(keyValues, expected.keyGradient(t));
      append(values, shape.packedRow(b, t, shape.queryHeads + shape.keyHeads + head));
      append(valueValues, expected.valueGradient(t));
    }
    auto compareWith = [&](const std::vector<uint64_t> &indexes,
                           const std::vector<double> &wanted) {
      return compareRows(gather(packedGradient, Type::bf16, indexes, stream), wanted,
                         size_t(shape.depth), gradientTolerance, 0.3);
    };
    Check check = both(both(compareWith(queries, queryValues), compareWith(keys, keyValues)),
                       compareWith(values, valueValues));
    check.notFinite += countNotFinite(packedGradient, Type::bf16, shape.packedElements(), stream);
    check.ok = check.ok && check.notFinite == 0;
    return check;
  }

  Json entry(const Plan &plan, const AttentionGraph &graph, const Stats &times, double flops,
             const Check &check) const {
    Json made = result(times, flops / 1e3, "TFLOP/s", check);
    made["shape"] = describe(shape);
    made["operations"] = graph.operations;
    made["heuristic_ms"] = plan.heuristicMs;
    made["plan_build_ms"] = plan.buildMs;
    made["configuration"] = plan.configuration;
    made["configurations"] = plan.configurations.size();
    made["workspace_bytes"] = plan.workspaceBytes;
    return made;
  }

  /// P is rounded to bf16 before the product with V, and so is the output.
  static constexpr Tolerance outputTolerance{1e-2, 1e-1};
  /// P and dS both rounded, and the rows' sums taken from the rounded output.
  static constexpr Tolerance gradientTolerance{4e-2, 4e-1};

  const Cudnn &cudnn;
  AttentionShape shape;
  AttentionData data;
  cudaStream_t stream;
  Buffer packed, o, dO, packedGradient, dQAccum, stats, rowSum;
  float scale, masked, one = 1;
  std::unique_ptr<AttentionReference> computed;
};

/// Builds every graph without a device; with `propertiesFile`, whose JSON
/// stands in for one, every plan too.
int checkGraphs(const std::string &propertiesFile, const std::string &only) {
  Cudnn cudnn;
  std::printf("cuDNN %zu, %s\n", cudnn.getVersion(), cudnn.library.path().c_str());
  std::unique_ptr<Descriptor> properties;
  if (!propertiesFile.empty()) {
    std::stringstream text;
    text << std::ifstream(propertiesFile).rdbuf();
    std::string json = text.str();
    json.erase(json.find_last_not_of(" \n") + 1);
    properties = deviceProperties(cudnn, json);
  }
  for (const AttentionShape &shape : allShapes())
    for (bool backward : {false, true}) {
      if (describe(shape).find(only) == std::string::npos)
        continue;
      AttentionGraph graph = backward ? backwardGraph(cudnn, shape) : forwardGraph(cudnn, shape);
      std::string line = format("%s %s: %zu operations", backward ? "backward" : "forward",
                                describe(shape).c_str(), graph.operations);
      if (properties) {
        Plan plan = buildPlan(cudnn, *graph.graph, properties.get());
        line += format(", plan %zu of %zu in %.0f ms, workspace %lld", plan.configuration,
                       plan.configurations.size(), plan.buildMs, (long long)plan.workspaceBytes);
      }
      std::printf("%s\n", line.c_str());
    }
  return exitOk;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (flag(argc, argv, "graphs"))
      return checkGraphs(option(argc, argv, "properties", ""), option(argc, argv, "shape", ""));
  } catch (const std::exception &error) {
    std::printf("failed: %s\n", error.what());
    return exitFailed;
  }
  Report report("c", "cuDNN attention, bf16, packed queries, keys and values",
                option(argc, argv, "json", ""));
  if (std::string why = openDevice(); !why.empty())
    return report.finishNoDevice(why);
  try {
    report.facts()["device"] = describeDevice();
    Stream stream;
    Cudnn cudnn;
    report.facts()["cudnn_version"] = cudnn.getVersion();
    report.facts()["cudnn_path"] = cudnn.library.path();
    if (cudnn.getVersion() < 90600)
      return report.finishFailed("cuDNN before 9.6 wants dQ's accumulator "
                                 "zeroed, which this kit does not do");
    cudnn.createHandle(stream);
    report.attempt("device properties for plans built elsewhere", [&] {
      std::string json = toJsonText(cudnn, *deviceProperties(cudnn));
      std::string path = option(argc, argv, "properties-out", "");
      if (!path.empty() && !(std::ofstream(path) << json << '\n'))
        throw Failure("cannot write " + path);
      return Json{{"properties", Json::parse(json)}};
    });
    std::string only = option(argc, argv, "shape", "");
    for (const AttentionShape &shape : allShapes(flag(argc, argv, "small"))) {
      if (!only.empty() && describe(shape).find(only) == std::string::npos)
        continue;
      std::unique_ptr<Attention> attention;
      bool ran = false;
      report.attempt("forward " + describe(shape), [&] {
        attention = std::make_unique<Attention>(cudnn, shape, stream);
        Json entry = attention->forward();
        ran = true;
        return entry;
      });
      // The backward pass reads what the forward pass wrote.
      if (ran)
        report.attempt("backward " + describe(shape), [&] { return attention->backward(); });
    }
  } catch (const std::exception &error) {
    return report.finishFailed(error.what());
  }
  return report.finish();
}
