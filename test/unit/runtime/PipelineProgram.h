// Programs of stages whose commands are of actions, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_PIPELINEPROGRAM_H
#define WEFT_TEST_UNIT_RUNTIME_PIPELINEPROGRAM_H

#include "weft/runtime/ProgramBuilder.h"

#include "gtest/gtest.h"

namespace weft::runtime::test {

/// A program "p" that launches the kernel "work" alone: for each stage its actions, and how many
/// commands each has. Stages exchange nothing.
struct PipelineProgram {
  using Actions = std::vector<std::pair<std::string, int>>;

  explicit PipelineProgram(const std::vector<Actions> &stages) {
    ProgramBuilder b;
    b.info().stageAxes = b.axes({b.addMeshAxis("pp", int64_t(stages.size()))});
    Id in = b.addBuffer("in", BufferClass::Activation, DType::I64, 0, 64, {8});
    Id out = b.addBuffer("out", BufferClass::Activation, DType::I64, 64, 64, {8});
    b.beginProgram("p", {}, {});
    for (const Actions &actions : stages) {
      b.beginBody(1, 0);
      for (const auto &[action, commands] : actions)
        for (int i = 0; i < commands; ++i) {
          ProgramBuilder::On on(0, "node");
          on.action = action;
          b.launch(on, b.addKernel("work"), 1, 1, {b.view(in), b.view(out)}, {}, 1);
        }
      b.endBody();
      b.addStage({128, {}});
    }
    b.endProgram();
    blob = b.finish();
    fault = ProgramView::open(blob.data(), blob.size(), view).text();
  }

  std::vector<uint8_t> blob;
  ProgramView view;
  std::string fault;
};

} // namespace weft::runtime::test

#endif // WEFT_TEST_UNIT_RUNTIME_PIPELINEPROGRAM_H
