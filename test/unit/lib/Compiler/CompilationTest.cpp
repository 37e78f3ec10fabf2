// The compiler as a library: runs to a phase, clones, measures and emits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"

#include "python_free_frontend/builders/Builders.h"
#include "weft/runtime/ExecutableFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;

namespace {

/// A small model in a folder of its own, and a context whose errors are kept.
class CompilationTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("compilation", folder));
    auto built = builders::build("mlp:layers=2,inputs=64,hidden=256,classes=32,std=0.1",
                                 {file("mlp.onnx"), true});
    ASSERT_TRUE(bool(built)) << llvm::toString(built.takeError());
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  /// The model at `graph`.
  Compilation graph() {
    auto loaded = Compilation::load(file("mlp.onnx"), context);
    EXPECT_TRUE(succeeded(loaded));
    loaded->options.phases.bindings.dims = {{"batch", 8}};
    EXPECT_TRUE(succeeded(loaded->runTo(Phase::Graph)));
    return std::move(*loaded);
  }

  static std::string textOf(const Compilation &compilation) {
    std::string text;
    llvm::raw_string_ostream out(text);
    printProgram(compilation.getModule(), out);
    return text;
  }

  llvm::SmallString<128> folder;
  MLIRContext context{compilerRegistry()};
  std::string errors;
  ScopedDiagnosticHandler handler{&context, [this](Diagnostic &diagnostic) {
                                    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
                                      errors += diagnostic.str() + "\n";
                                    return success();
                                  }};
};

TEST_F(CompilationTest, ClonesTryMeshesAndOneIsEmitted) {
  Compilation whole = graph();
  Compilation split = whole.clone();
  split.options.phases.mesh = *Mesh::parse("dp=2,tp=2");
  const std::string before = textOf(whole);
  FailureOr<int64_t> bytesOfWhole = whole.measureMemory(), bytesOfSplit = split.measureMemory();
  ASSERT_TRUE(succeeded(bytesOfWhole) && succeeded(bytesOfSplit)) << errors;
  EXPECT_LT(*bytesOfSplit, *bytesOfWhole);
  // To measure is not to go on.
  EXPECT_EQ(whole.getPhase(), Phase::Graph);
  EXPECT_EQ(textOf(whole), before);

  ASSERT_TRUE(succeeded(split.runTo(Phase::Scheduled))) << errors;
  EXPECT_EQ(*split.measureMemory(), *bytesOfSplit);
  EmitOptions emit;
  emit.output = file("mlp");
  emit.runtimeDirectory = WEFT_TEST_RUNTIME;
  ASSERT_TRUE(succeeded(split.emitExecutable(emit))) << errors;
  EXPECT_EQ(split.getPhase(), Phase::Executable);
  runtime::ExecutableFile executable;
  runtime::Status status = runtime::ExecutableFile::open(emit.output, executable);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(executable.program().numRanks(), 4);
}

TEST_F(CompilationTest, TextOfAPhaseGoesOnToTheSame) {
  Compilation program = graph();
  ASSERT_TRUE(succeeded(program.runTo(Phase::Step)));
  {
    std::error_code code;
    llvm::raw_fd_ostream out(file("step.mlir"), code);
    ASSERT_FALSE(code);
    printProgram(program.getModule(), out);
  }
  auto loaded = Compilation::load(file("step.mlir"), context);
  ASSERT_TRUE(succeeded(loaded)) << errors;
  EXPECT_EQ(loaded->getPhase(), Phase::Step);
  loaded->options = program.options;
  loaded->options.phases.mesh = program.options.phases.mesh = *Mesh::parse("tp=2");
  ASSERT_TRUE(succeeded(loaded->runTo(Phase::Scheduled)) &&
              succeeded(program.runTo(Phase::Scheduled)))
      << errors;
  EXPECT_EQ(textOf(*loaded), textOf(program));
}

TEST_F(CompilationTest, RecomputesTheLeastThatFits) {
  std::string path = file("gpt.onnx");
  ASSERT_TRUE(
      bool(builders::build("gpt2:layers=2,hidden=64,heads=4,vocab=128,seq=32", {path, true})));
  auto loaded = Compilation::load(path, context);
  ASSERT_TRUE(succeeded(loaded)) << errors;
  PhaseOptions &phases = loaded->options.phases;
  phases.bindings.dims = {{"batch", 8}, {"seq", 16}};
  phases.train = true;
  phases.loss = llvm::cantFail(step::parseLoss("softmax_cross_entropy:logits,labels"));
  phases.optimizer = llvm::cantFail(step::parseOptimizer("adamw:lr=1e-3"));
  ASSERT_TRUE(succeeded(loaded->runTo(Phase::Graph))) << errors;
  FailureOr<int64_t> kept = loaded->measureMemory();
  ASSERT_TRUE(succeeded(kept)) << errors;
  phases.recompute = Recompute::Auto;
  loaded->options.memoryLimit = *kept * 9 / 10;
  std::vector<Recompute> trials;
  loaded->onRecomputeTrial = [&](Recompute mode, double, int64_t) { trials.push_back(mode); };
  ASSERT_TRUE(succeeded(loaded->runTo(Phase::Scheduled))) << errors;
  EXPECT_LE(*loaded->measureMemory(), loaded->options.memoryLimit);
  ASSERT_GE(trials.size(), 3u);
  EXPECT_EQ(trials[0], Recompute::None);
  EXPECT_EQ(phases.recompute, Recompute::Best);
}

TEST_F(CompilationTest, TellsWhyItFails) {
  EXPECT_TRUE(failed(Compilation::load(file("none.onnx"), context)));
  EXPECT_NE(errors, "");
  errors.clear();
  Compilation program = graph();
  program.options.phases.mesh = *Mesh::parse("dp=2");
  llvm::cantFail(dist::appendRules("x=dim0:tp", program.options.phases.place));
  EXPECT_TRUE(failed(program.runTo(Phase::Scheduled)));
  EXPECT_NE(errors.find("axis 'tp' is not on the mesh"), std::string::npos) << errors;
  EXPECT_FALSE(program.compilerIsToBlame());
}

TEST_F(CompilationTest, CopiesTellWhoIsToBlame) {
  auto measure = [](Compilation &program) { return failed(program.measureMemory()); };
  auto inspect = [](Compilation &program) {
    return failed(program.inspectPartitioned([](ModuleOp) {}));
  };
  auto recompute = [](Compilation &program) {
    program.options.phases.recompute = Recompute::Auto;
    program.options.memoryLimit = 1;
    return failed(program.runTo(Phase::Step));
  };
  for (llvm::function_ref<bool(Compilation &)> fails :
       std::initializer_list<llvm::function_ref<bool(Compilation &)>>{measure, inspect,
                                                                      recompute}) {
    Compilation program = graph();
    program.options.phases.mesh = *Mesh::parse("dp=2");
    llvm::cantFail(dist::appendRules("x=dim0:tp", program.options.phases.place));
    EXPECT_TRUE(fails(program));
    EXPECT_FALSE(program.compilerIsToBlame());
  }
  // Behind `staged` no input is looked at any more.
  for (llvm::function_ref<bool(Compilation &)> fails :
       std::initializer_list<llvm::function_ref<bool(Compilation &)>>{measure, recompute}) {
    Compilation program = graph();
    program.options.phases.target = "none";
    EXPECT_TRUE(fails(program));
    EXPECT_TRUE(program.compilerIsToBlame());
  }
}

} // namespace
