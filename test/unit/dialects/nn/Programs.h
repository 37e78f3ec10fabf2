// Runs small programs, given as text, through the interpreter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_DIALECTS_NN_PROGRAMS_H
#define WEFT_TEST_UNIT_DIALECTS_NN_PROGRAMS_H

#include "dialects/nn/IR/Nn.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace weft::nn::test {

struct ProgramTest : ::testing::Test {
  ProgramTest() { context.loadDialect<NnDialect, mlir::func::FuncDialect>(); }

  mlir::func::FuncOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  /// The results of `%N = ...` lines with operands %a0, %a1, ...; each input is
  /// given as a constant, such as `dense<1.0> : tensor<f64>`.
  llvm::SmallVector<HostTensor> run(llvm::ArrayRef<std::string> inputs, const std::string &body,
                                    const std::string &resultTypes) {
    std::string text = "func.func @f(";
    std::vector<HostTensor> tensors;
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto attribute = llvm::cast<mlir::ElementsAttr>(mlir::parseAttribute(input, &context));
      tensors.push_back(toHostTensor(attribute));
      std::string type;
      llvm::raw_string_ostream(type) << attribute.getShapedType();
      text += (index ? ", %a" : "%a") + std::to_string(index) + ": " + type;
    }
    text += ") -> (" + resultTypes + ") {\n" + body + "\n}";
    SCOPED_TRACE(text);
    auto results = interpret(parse(text), std::move(tensors));
    EXPECT_TRUE(llvm::succeeded(results));
    return llvm::succeeded(results) ? *results : llvm::SmallVector<HostTensor>();
  }

  /// Runs `%r = <op>` and returns its only result.
  HostTensor eval(llvm::ArrayRef<std::string> inputs, const std::string &op,
                  const std::string &resultType) {
    auto results = run(inputs, "%r = " + op + "\nreturn %r : " + resultType, resultType);
    return results.empty() ? HostTensor() : results[0];
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Reals = std::vector<double>;
using Integers = std::vector<int64_t>;

} // namespace weft::nn::test

#endif // WEFT_TEST_UNIT_DIALECTS_NN_PROGRAMS_H
