// Kernels and ports of several stages in one executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Emit/StageKernels.h"

#include "weft/Emit/Emit.h"
#include "weft/Registration/Registration.h"
#include "weft/runtime/Program.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;

namespace {

/// @a is the same in both stages but for its location, @b is another one in each, and what stage 1
/// calls @c stage 0 calls @a.
constexpr const char *kStages = R"(
module @stage0 attributes {weft.stage = 0 : i64} {
  func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> loc("h.0") }
  func.func private @b(%x: tensor<5xf32>) -> tensor<5xf32> { return %x : tensor<5xf32> }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> loc("h.1") }
  func.func private @b(%x: tensor<6xf32>) -> tensor<6xf32> { return %x : tensor<6xf32> }
  func.func private @c(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
  func.func private @spec(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.spec} { return %x : tensor<4xf32> }
}
)";

TEST(StageKernels, EqualOnesAreSharedAndOthersHaveNamesOfTheirOwn) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kStages, &context);
  ASSERT_TRUE(module);
  emit::StageKernels kernels(rt::stageModulesOf(*module));
  EXPECT_EQ(kernels.nameOf(0, "a"), "a");
  EXPECT_EQ(kernels.nameOf(0, "b"), "b");
  EXPECT_EQ(kernels.nameOf(1, "a"), "a");
  EXPECT_EQ(kernels.nameOf(1, "b"), "b_1");
  EXPECT_EQ(kernels.nameOf(1, "c"), "a");
  EXPECT_EQ(kernels.nameOf(1, "spec"), "");
  OwningOpRef<ModuleOp> bodies = kernels.makeModule(module->getLoc());
  EXPECT_EQ(llvm::range_size(bodies->getOps<func::FuncOp>()), 3u);
  auto renamed = bodies->lookupSymbol<func::FuncOp>("b_1");
  ASSERT_TRUE(renamed);
  EXPECT_EQ(cast<RankedTensorType>(renamed.getArgumentTypes()[0]).getDimSize(0), 6);
}

/// What emitting the program tells, "" if nothing.
std::string faultOf(const std::string &text) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "no module";
  std::string told;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    told += diagnostic.str();
    return success();
  });
  return succeeded(emit::emitBlob(*module, {}, {})) ? "" : told;
}

TEST(Blob, WhatTheRuntimeDoesNotHaveIsTold) {
  auto fault = [](const std::string &ops) {
    return faultOf("rt.mesh [\"dp\"] sizes [1]\n"
                   "func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                   "  return %x : tensor<4xf32>\n}\nrt.program @p streams 1 events 0 arena 64 {\n" +
                   ops + "\n}");
  };
  const std::string y = R"(%y = rt.buffer "y" output offset 0 lives [0, 0] : memref<4xf32>
    )";
  EXPECT_EQ(fault(y), "");
  EXPECT_EQ(fault(R"(%y = rt.buffer "y" output offset 0 lives [0, 0] : memref<4xi4>)"),
            "the runtime has no element type 'memref<4xi4>'");
  EXPECT_EQ(fault(R"(%y = rt.buffer "y" output : memref<4xf32>)"),
            "has no offset in the arena; run rt-plan-arena before emitting");
  EXPECT_EQ(fault(y + "rt.launch @k reads(%y : memref<4xf32>) writes(%y : memref<4xf32>) stream 0"),
            "launches @k, which was not compiled");
  EXPECT_EQ(fault("%c = arith.constant 1 : index"), "is no command of a program");
}

/// Both stages have an output "y", of 4 numbers and of `second`; the other one's program is `name`.
std::string faultOfPorts(const std::string &second, const std::string &name = "p") {
  std::string text;
  for (std::string stage : {"0", "1"}) {
    const std::string elements = stage == "0" ? "4" : second;
    text += "module @stage" + stage + " attributes {weft.stage = " + stage + " : i64} {\n" +
            "rt.mesh [\"pp\"] sizes [2] stages [\"pp\"]\n" + "rt.program @" +
            (stage == "0" ? "p" : name) + " streams 1 events 0 arena 64 {\n" +
            "%y = rt.buffer \"y\" output offset 0 lives [0, 0] : memref<" + elements + "xf32>\n" +
            "rt.output \"y\" %y global tensor<" + elements + "xf32> placement <[" + elements +
            "]> : memref<" + elements + "xf32>\n}\n}\n";
  }
  return faultOf(text);
}

TEST(Stages, PortsOfOneNameAreAlike) {
  EXPECT_EQ(faultOfPorts("4"), "");
  EXPECT_NE(faultOfPorts("5").find("is not what another stage has by this name"),
            std::string::npos);
  EXPECT_NE(faultOfPorts("4", "q").find("has no program 'p', which another stage has"),
            std::string::npos);
}

/// Stage 0 has the inputs "x" and "z", stage 1 "y" and "z".
TEST(Stages, PortsAreInTheOrderOfTheWholeProgram) {
  std::string text = R"(module attributes {rt.ports = {p = [["none", "x", "y", "z"], []]}} {)";
  for (std::string stage : {"0", "1"}) {
    text += "module @stage" + stage + " attributes {weft.stage = " + stage + " : i64} {\n" +
            "rt.mesh [\"pp\"] sizes [2] stages [\"pp\"]\n" +
            "rt.program @p streams 1 events 0 arena 128 {\n";
    for (std::string name : {stage == "0" ? "x" : "y", "z"})
      text += "%" + name + " = rt.buffer \"" + name + "\" input offset " +
              (name == "z" ? "64" : "0") + " lives [0, 0] : memref<4xf32>\nrt.input \"" + name +
              "\" %" + name + " global tensor<4xf32> placement <[4]> : memref<4xf32>\n";
    text += "}\n}\n";
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text + "}", &context);
  ASSERT_TRUE(module);
  FailureOr<std::vector<uint8_t>> blob = emit::emitBlob(*module, {}, {});
  ASSERT_TRUE(succeeded(blob));
  std::vector<uint64_t> aligned(blob->size() / 8 + 1);
  std::memcpy(aligned.data(), blob->data(), blob->size());
  runtime::ProgramView view;
  runtime::Status status = runtime::ProgramView::open(aligned.data(), blob->size(), view);
  ASSERT_TRUE(status.ok()) << status.text();
  runtime::Range inputs = view.Programs()[0].inputs;
  std::string names;
  for (runtime::Id port = inputs.begin; port < inputs.begin + inputs.count; ++port)
    names += view.string(view.Ports()[port].name);
  EXPECT_EQ(names, "xyz");
}

} // namespace
