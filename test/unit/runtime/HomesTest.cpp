// States and ports of which each stage of a pipeline has its own buffer, or none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contains.h"

#include "weft/runtime/ProgramBuilder.h"
#include "weft/runtime/Runtime.h"

#include "gtest/gtest.h"

#include <functional>

using namespace weft::runtime;

namespace {

/// Stages of a pipeline, each with an arena of its own.
struct Sketch {
  ProgramBuilder b;
  Id pp, dp, whole;
  std::vector<uint64_t> arenas;

  explicit Sketch(uint32_t stages) : arenas(stages) {
    pp = b.addMeshAxis("pp", stages);
    dp = b.addMeshAxis("dp", 2);
    b.info().stageAxes = b.axes({pp});
    whole = b.addReplicated({4});
  }

  /// 4 numbers in a stage's arena.
  Id buffer(uint32_t stage, BufferClass kind, DType dtype = DType::I64) {
    Id id = b.addBuffer("b", kind, dtype, arenas[stage], 64, {4});
    arenas[stage] += 64;
    return id;
  }
  std::vector<uint8_t> finish() {
    for (uint64_t arena : arenas)
      b.addStage({arena, {}});
    return b.finish();
  }
  /// A program whose stages do nothing.
  void idle(const ProgramBuilder::Ids &inputs, const ProgramBuilder::Ids &outputs) {
    b.beginProgram("p", inputs, outputs);
    for (size_t stage = 0; stage < arenas.size(); ++stage) {
      b.beginBody(1, 0);
      b.endBody();
    }
    b.endProgram();
  }
};

class Session {
public:
  explicit Session(std::vector<uint8_t> bytes) : blob(std::move(bytes)) {
    weft_options options;
    weft_options_init(&options);
    weft_status status{};
    EXPECT_EQ(weft_open(blob.data(), blob.size(), nullptr, 0, &options, &session, &status), 0)
        << status.text;
    EXPECT_EQ(weft_load_state(session, &status), 0) << status.text;
  }
  ~Session() { weft_close(session); }

  std::vector<uint8_t> blob;
  weft_session *session = nullptr;
  weft_status status{};
};

using Homes = std::vector<Home>;
using Numbers = std::vector<int64_t>;

// The input is on stage 1, the state on 1 and 2 at different places, the outputs on 2 and on 0.
TEST(Homes, EveryStageHasItsOwnPlaces) {
  Sketch s(3);
  ProgramBuilder &b = s.b;
  Numbers values{5, 6, 7, 8};
  ProgramBuilder::PieceDesc piece;
  piece.kind = SourceKind::Embedded;
  piece.dtype = DType::I64;
  piece.sourceShape = {4};
  piece.byteOffset = b.addData(values.data(), 32);
  s.buffer(1, BufferClass::Activation);
  Id w1 = s.buffer(1, BufferClass::Parameter), w2 = s.buffer(2, BufferClass::Parameter);
  b.addState("w", DType::I64, {4}, s.whole, Homes{{1, w1}, {2, w2}}, {piece});
  Id x = s.buffer(1, BufferClass::Input), y = s.buffer(2, BufferClass::Output);
  Id z = s.buffer(0, BufferClass::Output);
  Id in = b.addPort("x", DType::I64, {4}, s.whole, Homes{{1, x}});
  Id out = b.addPort("y", DType::I64, {4}, s.whole, Homes{{2, y}});
  Id back = b.addPort("z", DType::I64, {4}, s.whole, Homes{{0, z}});
  b.beginProgram("p", {in}, {out, back});
  Collective c{};
  c.dtype = c.accumulator = DType::I64;
  c.communicator = b.addCommunicator({s.pp});
  c.outer = c.inner = c.middle = c.otherExtent = 1;
  c.extent = 4;
  c.kind = CollectiveKind::Recv;
  c.peer = 1;
  b.beginBody(1, 0);
  b.add({}, c, {b.view(z)});
  b.endBody();
  b.beginBody(1, 0);
  c.kind = CollectiveKind::Send;
  c.peer = 0;
  b.add({}, c, {b.view(x)});
  b.endBody();
  b.beginBody(1, 0);
  b.add({}, Copy{}, {b.view(w2), b.view(y)});
  b.endBody();
  b.endProgram();
  Session session(s.finish());
  Numbers given{1, 2, 3, 4}, got(4);
  weft_status &status = session.status;
  ASSERT_EQ(weft_set_input(session.session, "p", "x", given.data(), 32, &status), 0) << status.text;
  ASSERT_EQ(weft_run(session.session, "p", &status), 0) << status.text;
  ASSERT_EQ(weft_get_output(session.session, "p", "y", got.data(), 32, &status), 0);
  EXPECT_EQ(got, values);
  ASSERT_EQ(weft_get_output(session.session, "p", "z", got.data(), 32, &status), 0);
  EXPECT_EQ(got, given);
  got = {};
  got.resize(4);
  ASSERT_EQ(weft_get_state(session.session, "w", got.data(), 32, &status), 0);
  EXPECT_EQ(got, values);
  ProgramView view;
  ASSERT_TRUE(ProgramView::open(session.blob.data(), session.blob.size(), view).ok());
  expectPart(dump(view), "state 'w' [4] i64 in buffer 1 of stage 1, buffer 2 of stage 2");
  expectPart(dump(view), "input 'x' [4] i64 in buffer 3 of stage 1\n");
}

std::string faultOf(const std::function<void(Sketch &)> &make) {
  Sketch s(2);
  make(s);
  std::vector<uint8_t> blob = s.finish();
  ProgramView view;
  return ProgramView::open(blob.data(), blob.size(), view).text();
}

void expectStateFault(const std::function<ProgramBuilder::HomeList(Sketch &)> &homes,
                      const std::string &fault) {
  expectPart(faultOf([&](Sketch &s) {
               ProgramBuilder::HomeList list = homes(s);
               s.b.addState("w", DType::I64, {4}, s.whole, list, {});
             }),
             fault);
}

TEST(Homes, AreJudged) {
  expectStateFault([](Sketch &) { return Homes(); }, "state 0 is held by no stage");
  expectStateFault(
      [](Sketch &s) {
        return Homes{{1, s.buffer(1, BufferClass::Parameter)},
                     {0, s.buffer(0, BufferClass::Parameter)}};
      },
      "state 0 has homes that are not in the order of stages");
  expectStateFault(
      [](Sketch &s) {
        Id buffer = s.buffer(1, BufferClass::Parameter);
        return Homes{{1, buffer}, {1, buffer}};
      },
      "state 0 has homes that are not in the order of stages");
  expectStateFault([](Sketch &s) { return Homes{{2, s.buffer(1, BufferClass::Parameter)}}; },
                   "state 0 refers to something that does not exist");
  expectStateFault([](Sketch &) { return Homes{{0, 7}}; },
                   "state 0 refers to something that does not exist");
  expectStateFault(
      [](Sketch &s) {
        return Homes{{0, s.buffer(0, BufferClass::Parameter)},
                     {1, s.buffer(1, BufferClass::OptimizerState)}};
      },
      "state 0 has buffers of several classes");
  expectStateFault([](Sketch &s) { return Homes{{0, s.buffer(1, BufferClass::Parameter)}}; },
                   "state 0 has a buffer outside of the arena");
  expectStateFault(
      [](Sketch &s) { return Homes{{1, s.buffer(1, BufferClass::Parameter, DType::I32)}}; },
      "state 0 does not fit its buffer");
}

// By a name one record is found.
TEST(Homes, NamesAreThereOnce) {
  auto twice = [](Sketch &s) {
    for (uint32_t stage = 0; stage < 2; ++stage)
      s.b.addState("w", DType::I64, {4}, s.whole,
                   Homes{{stage, s.buffer(stage, BufferClass::Parameter)}}, {});
  };
  expectPart(faultOf(twice), "state 1 has the name of another one");
  auto ports = [](Sketch &s) {
    ProgramBuilder::Ids ids;
    for (uint32_t stage = 0; stage < 2; ++stage)
      ids.push_back(s.b.addPort("x", DType::I64, {4}, s.whole,
                                Homes{{stage, s.buffer(stage, BufferClass::Input)}}));
    s.idle(ids, {});
  };
  expectPart(faultOf(ports), "port 1 has the name of another one");
}

TEST(Homes, ATensorIsSplitOverAllAxesOfStagesOrNone) {
  auto make = [](Sketch &s) {
    s.b.info().stageAxes = s.b.axes({s.pp, s.dp});
    s.arenas.resize(4);
    Id placement = s.b.addPlacement({{{8, {s.pp}}}});
    s.b.addState("w", DType::I64, {8}, placement, s.buffer(0, BufferClass::Parameter), {});
  };
  expectPart(faultOf(make), "state 0 is split over some of the axes of stages only");
}

} // namespace
