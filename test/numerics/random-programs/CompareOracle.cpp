// Compiled programs on ranks in this process against the fp64 oracle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../support/Distance.h"
#include "Trial.h"

#include "weft/Testing/InProcess/InProcess.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// max|y-o| / max(max|o|, tiny); infinite if integers or special values differ.
static double errorOf(const HostTensor &found, const HostTensor &oracle) {
  if (found.shape != oracle.shape || found.integers != oracle.integers)
    return INFINITY;
  Distance distance(Specials::MayAgree);
  for (auto [y, o] : llvm::zip_equal(found.reals, oracle.reals))
    distance.add(y, o);
  return distance.relative();
}

/// The worst error of each result; a message in `why` if it does not run.
static std::optional<std::vector<double>> errorsOf(Trial &trial, bool distributed,
                                                   ArrayRef<HostTensor> oracle, std::string &why) {
  auto artifact = trial.compile(distributed);
  if (failed(artifact)) {
    why += "does not compile";
    return std::nullopt;
  }
  std::string error;
  auto compiled = emit::InProcessProgram::open(std::move(*artifact), error);
  std::vector<HostTensor> outputs;
  if (!compiled || !compiled->run(trial.program.inputs, trial.resultTypes(), outputs, error)) {
    why += error;
    return std::nullopt;
  }
  if (distributed && compiled->numRanks() != trial.program.mesh.deviceCount()) {
    why += "runs on " + std::to_string(compiled->numRanks()) + " ranks";
    return std::nullopt;
  }
  std::vector<double> errors;
  for (auto [found, expected] : llvm::zip_equal(outputs, oracle))
    errors.push_back(errorOf(found, expected));
  return errors;
}

namespace {
struct Totals {
  unsigned passed = 0, failed = 0;
  double worst[2] = {0, 0}; // f64, f32
  std::map<int64_t, unsigned> byRanks;
};
} // namespace

static std::string runTrial(Trial &trial, Totals &totals) {
  std::string why;
  MLIRContext *context = trial.program.module->getContext();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      why += diagnostic.str() + "; ";
    return success();
  });
  auto oracle = interpret(trial.program.function, trial.program.inputs);
  if (failed(oracle))
    return "the oracle fails: " + why;
  auto one = errorsOf(trial, false, *oracle, why);
  if (!one)
    return "on one rank: " + why;
  auto many = errorsOf(trial, true, *oracle, why);
  if (!many)
    return why;
  // Some dozen roundings of the type; measured: 3e-7 and 1.2e-15.
  double limit = trial.single ? 1e-5 : 1e-13;
  for (size_t i = 0; i < one->size(); ++i)
    for (auto [error, where] :
         {std::tuple((*one)[i], "one rank"), std::tuple((*many)[i], "all ranks")}) {
      totals.worst[trial.single] = std::max(totals.worst[trial.single], error);
      if (!(error <= limit))
        why += llvm::formatv("result {0}: error {1:e} on {2}, allowed {3:e}; ", i, error, where,
                             limit);
    }
  return why;
}

int test::compareWithOracle(MLIRContext &context, const Volume &volume) {
  Totals totals;
  for (uint64_t seed = volume.firstSeed; seed < volume.firstSeed + volume.count; ++seed) {
    Trial trial(context, seed);
    if (volume.print)
      llvm::outs() << trial.text;
    std::string why = runTrial(trial, totals);
    if (why.empty()) {
      ++totals.passed;
      ++totals.byRanks[trial.program.mesh.deviceCount()];
      continue;
    }
    ++totals.failed;
    llvm::errs() << "FAILED   seed " << seed << (trial.single ? " (f32, " : " (f64, ")
                 << trial.program.mesh.deviceCount() << " ranks): " << why << '\n';
  }
  llvm::outs() << "random programs: seeds " << volume.firstSeed << " to "
               << volume.firstSeed + volume.count - 1 << ", " << totals.passed << " passed, "
               << totals.failed << " failed";
  for (auto [ranks, count] : totals.byRanks)
    llvm::outs() << ", " << count << " on " << ranks << " ranks";
  // Comparisons read inputs only, so their margin is that of exact numbers.
  llvm::outs() << llvm::formatv("; worst error f64 {0:e}, f32 {1:e}; none rejected\n",
                                totals.worst[0], totals.worst[1]);
  return totals.failed == 0 && totals.passed >= volume.count ? 0 : 1;
}
