// Runs programs compiled: on one device, and split over ranks in this process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Backend.h"
#include "Compile.h"

#include "dialects/dist/IR/Dist.h"
#include "passes/dist/Passes.h"
#include "weft/Testing/InProcess/InProcess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <map>
#include <mutex>
#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {
/// Which argument is split on which of its dimensions, over how many ranks.
struct Configuration {
  int64_t ranks = 1;
  unsigned argument = 0, dim = 0;

  std::string text() const {
    if (ranks == 1)
      return "1 rank";
    return std::to_string(ranks) + " ranks, argument " + std::to_string(argument) +
           " split on dimension " + std::to_string(dim);
  }
};

class CompiledBackend : public Backend {
public:
  explicit CompiledBackend(const CompiledOptions &options) : options(options) {}
  llvm::StringRef name() const override { return "compiled programs"; }

  Result run(llvm::StringRef test, ModuleOp program, llvm::ArrayRef<HostTensor> inputs,
             const Expected &expected) override {
    takeWeightsAsInputs(program);
    auto function = program.lookupSymbol<func::FuncOp>("forward");
    Result total{Outcome::NotRun, "no dimension to split, or not in the sample"};
    for (const Configuration &configuration : configurations(test, function)) {
      OwningOpRef<ModuleOp> copy = program.clone();
      Result result = runOn(*copy, configuration, inputs, expected);
      count(configuration.ranks, result.outcome);
      if (!result.reason.empty())
        result.reason = configuration.text() + ": " + result.reason;
      // The worst outcome is the case's.
      if (total.outcome != Outcome::Wrong)
        total = result;
      else if (result.outcome == Outcome::Wrong)
        total.reason += "; " + result.reason;
    }
    return total;
  }

  bool report(llvm::raw_ostream &out) override {
    unsigned runs = 0;
    for (auto &[ranks, counts] : table) {
      out << llvm::format("%2lld ranks: %5u passed %4u wrong\n", (long long)ranks, counts[0],
                          counts[1]);
      runs += ranks > 1 ? counts[0] : 0;
    }
    out << "sample: seed " << options.seed << ", " << options.percent << " % of the cases, at most "
        << options.placements << " placements each; " << runs << " runs on several ranks, at least "
        << options.minimumRuns << '\n';
    return runs >= options.minimumRuns;
  }

private:
  std::vector<Configuration> configurations(llvm::StringRef test, func::FuncOp function) {
    std::vector<Configuration> chosen;
    // Each case draws by its own name, so that a filter does not change it.
    std::mt19937_64 random(options.seed ^ llvm::xxh3_64bits(test));
    bool inSample = random() % 100 < options.percent;
    for (int64_t ranks : options.ranks) {
      if (ranks == 1) {
        chosen.push_back({});
        continue;
      }
      std::vector<Configuration> all;
      for (auto [argument, type] : llvm::enumerate(function.getArgumentTypes()))
        for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(type).getShape()))
          if (size >= 2)
            all.push_back({ranks, unsigned(argument), unsigned(dim)});
      for (unsigned i = 0; i < all.size() && i < options.placements && inSample; ++i) {
        std::swap(all[i], all[i + random() % (all.size() - i)]);
        chosen.push_back(all[i]);
      }
    }
    return chosen;
  }

  static void place(ModuleOp module, func::FuncOp function, const Configuration &configuration) {
    Mesh mesh;
    mesh.axes.push_back({"x", configuration.ranks});
    MLIRContext *context = module.getContext();
    auto meshAttr = dist::MeshAttr::get(context, mesh);
    module->setAttr(dist::kMeshAttr, meshAttr);
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[configuration.argument]);
    Placement placement = Placement::replicated(type.getShape());
    placement.dims[configuration.dim].front().axes = {0};
    function.setArgAttr(configuration.argument, dist::kPlacementAttr,
                        dist::PlacementAttr::get(context, meshAttr, placement));
    function.setArgAttr(configuration.argument, dist::kClosedAttr, UnitAttr::get(context));
  }

  Result runOn(ModuleOp module, const Configuration &configuration,
               llvm::ArrayRef<HostTensor> inputs, const Expected &expected) {
    auto function = module.lookupSymbol<func::FuncOp>("forward");
    SmallVector<RankedTensorType> types;
    for (Type type : function.getResultTypes())
      types.push_back(cast<RankedTensorType>(type));

    if (configuration.ranks > 1) {
      Messages messages(module.getContext());
      place(module, function, configuration);
      PassManager sharded(module.getContext());
      sharded.addPass(dist::createDistPropagate());
      sharded.addPass(dist::createDistInsertReshards());
      sharded.addPass(dist::createDistVerifySpmd());
      // What the converter takes runs under every placement.
      if (failed(sharded.run(module)))
        return {Outcome::Wrong, "cannot be placed: " + messages.text()};
    }
    std::string error;
    auto artifact = compile(module, kDefaultTarget, error);
    if (!artifact)
      return {Outcome::Wrong, error};
    auto compiled = emit::InProcessProgram::open(std::move(*artifact), error);
    if (!compiled)
      return {Outcome::Wrong, "does not open: " + error};
    if (compiled->numRanks() != configuration.ranks)
      return {Outcome::Wrong,
              "the program is for " + std::to_string(compiled->numRanks()) + " ranks"};
    std::vector<HostTensor> outputs;
    if (!compiled->run(inputs, types, outputs, error))
      return {Outcome::Wrong, "does not run: " + error};
    std::string why = expected.check(outputs);
    return {why.empty() ? Outcome::Passed : Outcome::Wrong, why};
  }

  void count(int64_t ranks, Outcome outcome) {
    std::lock_guard<std::mutex> lock(mutex);
    ++table[ranks][unsigned(outcome)];
  }

  CompiledOptions options;
  std::mutex mutex;
  std::map<int64_t, std::array<unsigned, 4>> table;
};
} // namespace

std::unique_ptr<Backend> conformance::createCompiledBackend(const CompiledOptions &options) {
  return std::make_unique<CompiledBackend>(options);
}
