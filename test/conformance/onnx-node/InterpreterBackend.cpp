// Runs programs on the oracle, results rounded to their element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Backend.h"

#include "weft/Testing/Interpreter/Interpreter.h"

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {
class InterpreterBackend : public Backend {
public:
  llvm::StringRef name() const override { return "the interpreter"; }

  Result run(llvm::StringRef, ModuleOp program, llvm::ArrayRef<HostTensor> inputs,
             const Expected &expected) override {
    InterpreterOptions options;
    options.rounding = InterpreterOptions::Rounding::EveryResult;
    auto outputs = interpret(program.lookupSymbol<func::FuncOp>("forward"), inputs.vec(), options);
    std::string why = failed(outputs) ? "the interpreter fails" : expected.check(*outputs);
    return {why.empty() ? Outcome::Passed : Outcome::Wrong, why};
  }
};
} // namespace

std::unique_ptr<Backend> conformance::createInterpreterBackend() {
  return std::make_unique<InterpreterBackend>();
}
