// Times runs: warm-up, percentiles, rates, exposed communication.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "files/InputFile.h"
#include "session/SentMeter.h"
#include "session/Session.h"
#include "weft/runtime/Metadata.h"
#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace weft::runtime;

namespace {

/// Measure for about this long, but at least and at most so many runs.
constexpr double kMeasureSeconds = 3.0;
constexpr int kLeastRuns = 10, kMostRuns = 2000, kWarmups = 3;

/// Tests want figures, and not the precision for which it measures that long.
double measureSeconds() {
  const char *told = std::getenv("WEFT_BENCH_SECONDS");
  return told ? std::max(0.0, std::atof(told)) : kMeasureSeconds;
}

double percentile(const std::vector<double> &sorted, double share) {
  // The least value that at least this share of the runs do not exceed.
  size_t rank = size_t(share * double(sorted.size()) + 0.999999);
  return sorted[std::min(sorted.size() - 1, rank ? rank - 1 : 0)];
}

/// Elements of the program's first input that the model looks up; 0 if it looks up none.
int64_t tokensOf(const ProgramView &p, std::string_view name) {
  for (const Program &program : p.Programs())
    if (p.string(program.name) == name)
      for (const Port &port : p.Ports().slice(program.inputs))
        if (!metadataOf(p, metadata::kLookupPrefix + std::string(p.string(port.name))).empty())
          return numElements(shapeOf(p, port));
  return 0;
}

} // namespace

Status weft::runtime::bench(weft_session *session, const ProgramView &p, const char *program,
                            const CommandLine &options, bool speaks) {
  using Clock = std::chrono::steady_clock;
  bool chats = speaks && !options.quiet;
  auto once = [&](double &seconds) {
    Clock::time_point start = Clock::now();
    Status status = checked([&](weft_status *s) { return weft_run(session, program, s); });
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return status;
  };
  auto everywhere = [&](double &value) {
    return checked(
        [&](weft_status *status) { return weft_reduce_max(session, value, &value, status); });
  };
  double first = 0, warm = 0;
  WEFT_TRY(once(first));
  for (int i = 1; i < kWarmups; ++i)
    WEFT_TRY(once(warm));
  if (std::string remark = session->ranks[0]->device().takeRemark(); !remark.empty())
    say(chats, "%s: %s", program, remark.c_str());
  double seconds = measureSeconds();
  for (double *value : {&warm, &seconds}) // all processes must run equally often
    WEFT_TRY(everywhere(*value));
  int runs = int(std::clamp(seconds / std::max(warm, 1e-7), double(kLeastRuns), double(kMostRuns)));
  say(chats, "timing %d runs after %d for warm-up", runs, kWarmups);
  weft_statistics before, after;
  SentMeter meter(*session);
  weft_get_statistics(session, &before);
  std::vector<double> times(static_cast<size_t>(runs));
  {
    Progress progress(chats, "timing", uint64_t(runs));
    for (double &time : times) {
      WEFT_TRY(once(time));
      progress.add(1);
    }
  }
  meter.stop();
  weft_get_statistics(session, &after);
  double total = 0;
  for (double time : times)
    total += time;
  std::sort(times.begin(), times.end());
  double p50 = percentile(times, 0.5), p90 = percentile(times, 0.9);
  double p99 = percentile(times, 0.99), mean = total / runs;
  // Of one run on the mean rank of a process; the process with the most.
  double collectives = (after.collective_seconds - before.collective_seconds) / runs;
  double exposed = collectives - (after.hidden_seconds - before.hidden_seconds) / runs;
  for (double *value : {&first, &p50, &p90, &p99, &mean, &collectives, &exposed})
    WEFT_TRY(everywhere(*value));
  WEFT_TRY(meter.reduce(*session));
  // All three figures are of the same measurement, so that they agree.
  double share = std::max(0.0, exposed) / std::max(1e-12, mean);
  double overlap = collectives > 0 ? std::max(0.0, 1 - exposed / collectives) : 0;
  double tokens = double(tokensOf(p, program));
  if (!speaks)
    return {};
  if (options.benchJson) {
    std::printf("{\"program\":\"%s\",\"ranks\":%lld,\"threads_per_rank\":%u,"
                "\"runs\":%d,\"first_ms\":%.6g,\"mean_ms\":%.6g,"
                "\"p50_ms\":%.6g,\"p90_ms\":%.6g,\"p99_ms\":%.6g,"
                "\"runs_per_s\":%.6g,",
                program, static_cast<long long>(weft_num_ranks(session)), after.threads_per_rank,
                runs, first * 1e3, mean * 1e3, p50 * 1e3, p90 * 1e3, p99 * 1e3, 1 / mean);
    if (tokens > 0)
      std::printf("\"tokens_per_s\":%.6g,", tokens / mean);
    std::printf("\"exposed_communication_share\":%.4g,"
                "\"communication_ms\":%.6g,\"overlap\":%.4g,"
                "\"arena_bytes\":%llu,",
                share, collectives * 1e3, overlap,
                static_cast<unsigned long long>(after.arena_bytes));
    meter.printJson(stdout, uint64_t(runs));
    std::printf("}\n");
    return {};
  }
  std::printf("%d runs: p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, mean %.3f ms "
              "(first %.3f ms)\n",
              runs, p50 * 1e3, p90 * 1e3, p99 * 1e3, mean * 1e3, first * 1e3);
  if (tokens > 0)
    std::printf("%.1f tokens/s, ", tokens / mean);
  std::printf("%.2f runs/s on %lld ranks of %u threads; %.1f %% of the time "
              "waiting for communication\n",
              1 / mean, static_cast<long long>(weft_num_ranks(session)), after.threads_per_rank,
              share * 100);
  if (collectives > 0)
    std::printf("communication %.3f ms a run, %.0f %% of it under computation\n", collectives * 1e3,
                overlap * 100);
  if (std::string sent = meter.text(uint64_t(runs)); !sent.empty())
    std::printf("a rank sends at most %s\n", sent.c_str());
  return {};
}
