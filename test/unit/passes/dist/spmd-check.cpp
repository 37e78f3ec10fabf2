// Partitions the program of a file and compares it, on random inputs, with itself on one device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SpmdHarness.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

static llvm::cl::opt<std::string> file(llvm::cl::Positional, llvm::cl::desc("FILE.mlir"));
static llvm::cl::opt<std::string> pipeline("pipeline", llvm::cl::desc("passes from nn to local"));
static llvm::cl::opt<int> bound("index-bound", llvm::cl::init(3),
                                llvm::cl::desc("integer inputs lie in [0, bound)"));

static HostTensor randomInput(Type type, Random &random) {
  HostTensor data(cast<RankedTensorType>(type));
  for (double &element : data.reals)
    element = random.real();
  for (int64_t &element : data.integers)
    element = random.below(data.elementType.isInteger(1) ? 2 : bound);
  return data;
}

static int fail(const llvm::Twine &text) {
  llvm::errs() << "weft-spmd-check: " << text << "\n";
  return 1;
}

int main(int argc, char **argv) {
  registerAllPasses();
  llvm::cl::ParseCommandLineOptions(argc, argv, "compares a partitioned program with its oracle\n");
  Context setup;
  ParserConfig config(&setup.context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, config);
  if (!module)
    return fail("cannot read " + file);
  auto function = *module->getOps<func::FuncOp>().begin();
  Random random(1);
  std::vector<HostTensor> inputs;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    // What the optimizer keeps starts at zero.
    inputs.push_back(function.getArgAttr(index, "nn.initial")
                         ? HostTensor(cast<RankedTensorType>(type))
                         : randomInput(type, random));
  auto oracle = interpret(function, inputs);
  PassManager passes(&setup.context);
  if (failed(oracle) || failed(parsePassPipeline(pipeline, passes)) || failed(passes.run(*module)))
    return fail("the program did not get to 'local'");
  std::string why;
  auto results = interpretSpmd(function, inputs, 1e-10, &why);
  if (!results)
    return fail(why);
  double worst = 0;
  for (auto [found, expected] : llvm::zip_equal(*results, *oracle))
    worst = std::max(worst, errorOf(found, expected));
  std::map<std::string, int> transitions;
  function.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name.consume_front("dist."))
      ++transitions[name.str()];
  });
  for (auto &[name, count] : transitions)
    llvm::outs() << name << " " << count << "\n";
  if (!(worst <= 1e-10))
    return fail("error against the oracle is " + llvm::Twine(std::to_string(worst)));
  llvm::outs() << "equal\n";
  return 0;
}
