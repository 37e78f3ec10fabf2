// Runs programs on the oracle, results rounded to their element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Backend.h"

#include "weft/Interpreter/Interpreter.h"

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {
class InterpreterBackend : public Backend {
public:
  llvm::StringRef name() const override { return "the interpreter"; }

  std::string run(ModuleOp program, llvm::ArrayRef<HostTensor> inputs,
                  llvm::function_ref<std::string(llvm::ArrayRef<HostTensor>)>
                      check) override {
    InterpreterOptions options;
    options.rounding = InterpreterOptions::Rounding::EveryResult;
    auto outputs = interpret(program.lookupSymbol<func::FuncOp>("forward"),
                             inputs.vec(), options);
    return failed(outputs) ? "the interpreter fails" : check(*outputs);
  }
};
} // namespace

std::unique_ptr<Backend> conformance::createInterpreterBackend() {
  return std::make_unique<InterpreterBackend>();
}
