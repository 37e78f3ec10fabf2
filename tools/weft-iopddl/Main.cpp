// weft-iopddl: solves instances of the contest on intra-operator parallelism.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Instance.h"
#include "Request.h"

#include "weft/Solver/Solve.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <new>
#include <system_error>
#include <thread>

using namespace weft;
using runtime::Status;
using runtime::StatusCode;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

solver::Options optionsFor(const iopddl::Request &request, Clock::time_point start) {
  solver::Options options;
  options.seed = request.seed;
  options.threads = request.threads ? unsigned(request.threads)
                                    : std::max(1u, std::thread::hardware_concurrency());
  if (request.work >= 0) {
    options.work = double(request.work);
    return options;
  }
  double seconds = request.seconds >= 0 ? request.seconds : 60;
  // A little is left for what is not interrupted, and for writing.
  options.seconds = std::max(0.0, 0.98 * seconds - 0.05 - secondsSince(start));
  return options;
}

Status writePlan(const std::string &path, const solver::Plan &plan) {
  std::string text = "[";
  for (size_t node = 0; node < plan.size(); ++node)
    text += (node ? ", " : "") + std::to_string(plan[node]);
  text += "]\n";
  runtime::OutputFile file(path);
  WEFT_TRY(file.open());
  WEFT_TRY(file.write(text.data(), text.size()));
  return file.commit();
}

void print(const solver::Problem &problem, const solver::Solution &solution, double seconds) {
  nlohmann::ordered_json line;
  line["cost"] = nullptr;
  if (solution.isFeasible)
    line["cost"] = solution.cost;
  line["feasible"] = solution.isFeasible;
  line["lower_bound"] = nullptr;
  if (solution.lowerBound != solver::kForbidden)
    line["lower_bound"] = solution.lowerBound;
  line["optimal"] = solution.isProven;
  line["peak"] = nullptr;
  if (solution.isFeasible)
    line["peak"] = solution.peak;
  line["limit"] = nullptr;
  if (problem.limit)
    line["limit"] = *problem.limit;
  line["nodes"] = problem.variables.size();
  line["edges"] = problem.edges.size();
  line["seconds"] = std::round(seconds * 1000) / 1000;
  line["work"] = int64_t(solution.work);
  std::printf("%s\n", line.dump().c_str());
}

Status run(const iopddl::Request &request, Clock::time_point start) {
  solver::Problem problem;
  WEFT_TRY(iopddl::readInstance(request.file, problem));
  solver::Solution solution = solver::solve(problem, optionsFor(request, start));
  if (solution.isFeasible && !request.output.empty())
    WEFT_TRY(writePlan(request.output, solution.plan));
  print(problem, solution, secondsSince(start));
  if (solution.isFeasible)
    return {};
  return {StatusCode::DoesNotFit,
          solution.isProven
              ? "no plan of '" + request.file + "' fits and is allowed"
              : "no plan of '" + request.file + "' was found in time; raise --seconds or --work"};
}

Status runOrSayWhatLacks(const iopddl::Request &request, Clock::time_point start) {
  try {
    return run(request, start);
  } catch (const std::bad_alloc &) {
    return Status::user("memory is not enough for '" + request.file + "'");
  } catch (const std::system_error &error) {
    return Status::user(std::string("no thread can be started: ") + error.what() +
                        "; with --threads 1 none is");
  }
}

} // namespace

int main(int argc, char **argv) {
  runtime::surviveFailedWrites();
  Clock::time_point start = Clock::now();
  iopddl::Request request;
  Status status = iopddl::parseRequest(std::vector<std::string>(argv + 1, argv + argc), request);
  if (status.ok() && !request.answer.empty())
    std::fputs(request.answer.c_str(), stdout);
  else if (status.ok())
    status = runOrSayWhatLacks(request, start);
  Status printed = runtime::flushStandardOutput();
  if (status.ok())
    status = printed;
  if (!status.ok())
    runtime::tellError("weft-iopddl", status.text());
  return int(status.code());
}
