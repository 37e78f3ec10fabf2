// Compiles programs for a target and keeps them with their data, to be run elsewhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Backend.h"
#include "Compile.h"
#include "Record.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {

class RecordingBackend : public Backend {
public:
  RecordingBackend(StringRef target, StringRef path) : target(target), path(path) {}
  StringRef name() const override { return "a record for another machine"; }

  Result run(StringRef test, ModuleOp program, ArrayRef<HostTensor> inputs,
             const Expected &expected) override {
    takeWeightsAsInputs(program);
    SmallVector<Type> types =
        llvm::to_vector(program.lookupSymbol<func::FuncOp>("forward").getResultTypes());
    RecordedCase recorded;
    recorded.name = test.str();
    if (record(program, target, inputs, recorded))
      recorded.why = recordOutputs(expected, types, recorded);
    Result result{recorded.why.empty() ? Outcome::Passed : Outcome::Wrong, recorded.why};
    std::lock_guard<std::mutex> lock(mutex);
    auto &sets = cases[recorded.name];
    if (!sets.empty())
      recorded.name += " " + std::to_string(sets.size());
    sets.push_back(std::move(recorded));
    return result;
  }

  bool report(llvm::raw_ostream &out) override {
    std::vector<RecordedCase> all;
    for (auto &[name, sets] : cases)
      std::move(sets.begin(), sets.end(), std::back_inserter(all));
    return writeCases(all, path, out);
  }

private:
  static std::string recordOutputs(const Expected &expected, ArrayRef<Type> types,
                                   RecordedCase &recorded) {
    recorded.units = expected.units;
    if (types.size() < expected.outputs.size() || expected.outputs.empty())
      return std::to_string(types.size()) + " outputs, expected " +
             std::to_string(expected.outputs.size());
    for (auto [type, output] : llvm::zip(types, expected.outputs)) {
      // Of its shape and type, as a comparison sees them first.
      HostTensor found(cast<RankedTensorType>(type));
      HostTensor wanted = asElementType(output.tensor, found.elementType);
      if (found.shape != wanted.shape || found.elementType != wanted.elementType)
        return "output '" + output.name + "': " + compare(found, wanted);
      recorded.outputs.push_back(bytesOf(wanted));
    }
    return "";
  }

  std::string target, path;
  std::mutex mutex;
  std::map<std::string, std::vector<RecordedCase>> cases;
};

} // namespace

std::unique_ptr<Backend> conformance::createRecordingBackend(StringRef target, StringRef path) {
  return std::make_unique<RecordingBackend>(target, path);
}
