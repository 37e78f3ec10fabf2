// Tests of the program blob: round trip, determinism, hostile bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/ProgramBuilder.h"
#include "weft/runtime/Runtime.h"

#include <functional>
#include <gtest/gtest.h>

#include <random>

using namespace weft::runtime;

namespace {

/// A routine on two streams that copies a block into another one by way of its scratch.
Id addRoutine(ProgramBuilder &b) {
  Id from = b.addBuffer("from", BufferClass::Activation, DType::F32, 0, 64, {4, 4}, 0);
  Id to = b.addBuffer("to", BufferClass::Activation, DType::F32, 64, 64, {4, 4}, 1);
  Id scratch = b.addBuffer("scratch", BufferClass::Workspace, DType::F32, 0, 64, {4, 4}, 2);
  Id routine = b.beginRoutine("F.block", {64, 128, 64}, 1, 2, 2);
  b.add({0, "/h.{}/copy"}, Copy{}, {b.view(from), b.view(scratch)});
  b.add({0}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  b.add({1}, Copy{}, {b.view(scratch), b.view(to)});
  b.add({1}, EventRecord{1}, {});
  b.add({0}, EventWait{1}, {});
  b.endRoutine();
  return routine;
}

/// One command of each opcode, one state with every transform.
std::vector<uint8_t> sample() {
  ProgramBuilder b;
  b.info().modelName = b.string("sample");
  b.addMetadata("phase", "test");
  Id dp = b.addMeshAxis("dp", 2), tp = b.addMeshAxis("tp", 2);
  Id comm = b.addCommunicator({tp});
  Id rows = b.addPlacement({{{8, {tp}}}, {{4, {}}}});
  Id qkv = b.addPlacement({{{3, {}}, {8, {tp}}}, {{4, {}}}});
  Id x = b.addBuffer("x", BufferClass::Input, DType::F32, 0, 64, {4, 4});
  Id y = b.addBuffer("y", BufferClass::Output, DType::F32, 64, 128, {8, 4});
  Id w = b.addBuffer("w", BufferClass::Parameter, DType::F32, 192, 192, {12, 4});
  std::vector<float> bytes(96, 1.0f);
  ProgramBuilder::PieceDesc piece;
  piece.kind = SourceKind::Embedded;
  piece.sourceShape = {4, 24, 1};
  piece.byteOffset = b.addData(bytes.data(), bytes.size() * sizeof(float));
  piece.transforms = {{TransformKind::Reshape, DType::F32, {4, 24}},
                      {TransformKind::Transpose, DType::F32, {1, 0}},
                      {TransformKind::Slice, DType::F32, {0, 0, 24, 1, 1, 1}},
                      {TransformKind::Broadcast, DType::F32, {24, 4}},
                      {TransformKind::Cast, DType::F32, {}}};
  b.addState("w", DType::F32, {24, 4}, qkv, w, {piece});
  Id in = b.addPort("x", DType::F32, {8, 4}, rows, x);
  Id out = b.addPort("y", DType::F32, {8, 4}, b.addReplicated({8, 4}), y);
  Id routine = addRoutine(b);
  Id room = b.addBuffer("room", BufferClass::Workspace, DType::I8, 384, 64, {64});
  b.beginProgram("forward", {in}, {out});
  b.beginBody(2, 1);
  b.launch({0, "node"}, b.addKernel("k"), 16, 4, {b.view(x), b.view(y)},
           {b.coordinate({dp, tp}, 2, 1), b.constant(3)}, 1);
  Gemm gemm{};
  gemm.accumulator = DType::F32;
  b.add({}, gemm, {b.view(x), b.view(x), b.view(y, DType::F32, 0, {4, 4})});
  Convolution conv{};
  conv.groups = 1;
  conv.strides = conv.dilations = conv.inputDilations = b.ints({1});
  conv.padsBegin = b.ints({0});
  b.add({}, conv,
        {b.view(x, DType::F32, 0, {1, 2, 4}), b.view(w, DType::F32, 0, {2, 2, 1}),
         b.view(y, DType::F32, 0, {1, 2, 4})});
  Attention attention{};
  attention.scale = 0.5;
  View heads = b.view(x, DType::F32, 0, {1, 1, 4, 4});
  View result = b.view(y, DType::F32, 0, {1, 1, 4, 4});
  b.add({}, attention, {heads, heads, heads, result});
  AttentionGradient gradient{};
  gradient.scale = 0.5;
  b.add({}, gradient, {heads, heads, heads, heads, heads, result, result, result, heads});
  b.add({0}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  Collective gather{};
  gather.kind = CollectiveKind::AllGather;
  gather.dtype = gather.accumulator = DType::F32;
  gather.communicator = comm;
  gather.outer = 1, gather.extent = 8, gather.inner = 4, gather.middle = gather.otherExtent = 1;
  b.add({1, "gather"}, gather, {b.view(x), b.view(y)});
  Collective first = gather, second = gather;
  first.kind = second.kind = CollectiveKind::AllReduce;
  first.extent = 2, second.extent = 3;
  View begin = b.view(x, DType::F32, 0, {2, 4});
  View end = b.view(y, DType::F32, 32, {3, 4});
  b.add({1, "bucket"}, std::vector<Collective>{first, second}, {begin, begin, end, end});
  b.add({}, Slice{b.axes({tp}), 1, 8, 4, 0}, {b.view(y), b.view(x)});
  b.add({}, Copy{}, {b.view(x), b.view(y, DType::F32, 64, {4, 4})});
  for (uint32_t microbatch : {0, 1})
    b.invoke({}, routine, {b.view(x), b.view(y), b.view(room)}, "5", microbatch);
  b.endBody();
  b.endProgram();
  b.addStage({448, {192, 64, 128, 0, 0, 0}});
  return b.finish();
}

void fixChecksum(std::vector<uint8_t> &blob) {
  ProgramHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  header.checksum = hashBytes(blob.data() + sizeof header, blob.size() - sizeof header);
  std::memcpy(blob.data(), &header, sizeof header);
}

TEST(Program, RoundTripsAndIsDeterministic) {
  std::vector<uint8_t> blob = sample();
  EXPECT_EQ(blob, sample());
  ProgramView view;
  Status status = ProgramView::open(blob.data(), blob.size(), view);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(view.numRanks(), 4);
  EXPECT_EQ(view.string(view.Programs()[0].name), "forward");
  std::string text = dump(view);
  EXPECT_NE(text.find("state 'w' [24 = 3 x 8{tp}, 4] f32 in buffer 2"), std::string::npos) << text;
  EXPECT_NE(text.find("launch k over 16 grain 4 coordinate{dp,tp}*2+1 3 "
                      "(%0[4,4] -> %1[8,4])"
                      " // node"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("collective all_gather over {tp} of [1,8,4] f32 "
                      "(%0[4,4] -> %1[8,4]) stream 1"
                      " // gather"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("collective all_reduce sum in f32 over {tp} of [1,2,4] "
                      "f32 and [1,3,4] ("),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("buffer 4 'to' activation [64, 128) of block 1 [4,4] f32"), std::string::npos)
      << text;
  EXPECT_NE(text.find("routine 'F.block': blocks of 64 -> 128, 64 bytes, 2 streams, 2 events\n"
                      "  copy (%3[4,4] -> %5[4,4]) // /h.{}/copy\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("invoke F.block for 5 microbatch 1 (%0[4,4] -> %1[8,4], %6[64])"),
            std::string::npos)
      << text;
}

TEST(Program, ACallThatDiffersInItsMicrobatchCostsACommandAndARecord) {
  std::vector<uint8_t> blob = sample();
  ProgramView view;
  ASSERT_TRUE(ProgramView::open(blob.data(), blob.size(), view).ok());
  Table<Command> commands = view.Commands();
  const Command &last = commands[commands.size() - 1], &before = commands[commands.size() - 2];
  EXPECT_EQ(last.opcode, Opcode::Invoke);
  EXPECT_EQ(last.views.begin, before.views.begin);
  EXPECT_NE(last.params, before.params);
}

TEST(Program, EveryFlippedByteIsNoticed) {
  const std::vector<uint8_t> blob = sample();
  for (size_t i = 0; i < blob.size(); ++i) {
    std::vector<uint8_t> bad = blob;
    bad[i] ^= 0x40;
    ProgramView view;
    EXPECT_FALSE(ProgramView::open(bad.data(), bad.size(), view).ok()) << "byte " << i;
  }
  for (size_t size = 0; size < blob.size(); size += 7) {
    ProgramView view;
    std::vector<uint8_t> cut(blob.begin(), blob.begin() + size);
    EXPECT_FALSE(ProgramView::open(cut.data(), cut.size(), view).ok());
  }
}

// Tables that say what cannot be, each told by its entry.
TEST(Program, ImpossibleTablesAreTold) {
  const std::vector<uint8_t> blob = sample();
  using Edit = std::function<void(const ProgramView &)>;
  auto fault = [&](const Edit &edit) {
    std::vector<uint8_t> bad = blob;
    ProgramView view;
    EXPECT_TRUE(ProgramView::open(bad.data(), bad.size(), view).ok());
    edit(view);
    fixChecksum(bad);
    return ProgramView::open(bad.data(), bad.size(), view).text();
  };
  using P = const ProgramView &;
  auto at = [](const auto &record) -> auto & {
    return const_cast<std::decay_t<decltype(record)> &>(record);
  };
  constexpr uint32_t kNowhere = 9999;
  const std::pair<Edit, const char *> cases[] = {
      {[&](P p) { at(p.Strings()[0]).bytes = 1 << 30; }, "string 0 lies outside of the text"},
      {[&](P p) { at(p.Info()[0]).threadsPerRank = 5000; },
       "module info 0 asks for more than 4096 threads a rank"},
      {[&](P p) { at(p.Metadata()[0]).key = kNowhere; },
       "metadata entry 0 names a string that does not exist"},
      {[&](P p) { at(p.MeshAxes()[0]).size = 0; }, "mesh axis 0 has the impossible size 0"},
      {[&](P p) { at(p.AxisIds()[0]) = 99; },
       "axis list entry 0 names an axis that does not exist"},
      {[&](P p) { at(p.Communicators()[0]).axes.begin = kNowhere; },
       "communicator 0 has no list of distinct axes"},
      {[&](P p) { at(p.Info()[0]).stageAxes = p.Communicators()[0].axes; },
       "stage table 0 has 1 entries for 2 stages"},
      {[&](P p) { at(p.Stages()[0]).arenaBytes = ~uint64_t(0); },
       "stage table 0 has an impossible arena size"},
      {[&](P p) { at(p.PlacementParts()[0]).size = -1; },
       "placement part 0 has an impossible size or axis list"},
      {[&](P p) { at(p.PlacementDims()[0]).parts.count = 99; },
       "placement dimension 0 has parts that do not exist"},
      {[&](P p) {
         for (const PlacementPart &part : p.PlacementParts())
           at(part).size = int64_t(1) << 40;
       },
       "is too large"},
      {[&](P p) { at(p.Placements()[0]).dims.count = 99; },
       "placement 0 has dimensions that do not exist"},
      {[&](P p) {
         for (const PlacementPart &part : p.PlacementParts())
           at(part).axes = p.Communicators()[0].axes;
       },
       "placement 0 uses a mesh axis twice"},
      {[&](P p) { at(p.Buffers()[0]).dtype = DType(99); },
       "buffer 0 has an impossible name, class, dtype or shape"},
      {[&](P p) { at(p.Buffers()[0]).offset = 1; }, "buffer 0 has an impossible offset or size"},
      {[&](P p) { at(p.Buffers()[0]).bytes = 0; }, "buffer 0 is smaller than its shape"},
      {[&](P p) { at(p.ScalarValues()[0]).base = ValueBase(9); },
       "scalar value 0 has an impossible base"},
      {[&](P p) { at(p.States()[0]).shape.count = 1; },
       "state 0 has a placement of another tensor rank"},
      {[&](P p) { at(p.States()[0]).placement = 0; }, "state 0 has a placement of another shape"},
      {[&](P p) { at(p.StatePieces()[0]).byteLength += 1; },
       "state piece 0 has a length that is not that of its shape"},
      {[&](P p) { at(p.StatePieces()[0]).byteOffset = ~uint64_t(0); },
       "state piece 0 has an impossible offset"},
      {[&](P p) { at(p.StatePieces()[0]).hashes.count = 99; },
       "state piece 0 has not one hash for each block"},
      {[&](P p) { at(p.StatePieces()[0]).byteOffset += 1 << 20; },
       "state piece 0 lies outside of the embedded data"},
      {[&](P p) { at(p.Transforms()[0]).kind = TransformKind::Transpose; },
       "state piece 0 has a transform that does not fit its operand"},
      {[&](P p) { at(p.StatePieces()[0]).transforms.count = 0; },
       "state piece 0 has another tensor rank than its state"},
  };
  for (const auto &[edit, text] : cases)
    EXPECT_NE(fault(edit).find(text), std::string::npos) << text << "\nin " << fault(edit);

  ProgramView view;
  EXPECT_EQ(ProgramView::open(blob.data() + 1, blob.size() - 1, view).text(),
            "the program blob is not aligned to 8 bytes");
  std::vector<uint8_t> later = blob;
  ProgramHeader header;
  std::memcpy(&header, later.data(), sizeof header);
  ++header.version;
  std::memcpy(later.data(), &header, sizeof header);
  EXPECT_EQ(ProgramView::open(later.data(), later.size(), view)
                .text()
                .find("the executable program has format version " +
                      std::to_string(kProgramVersion + 1) + " with "),
            0u);
}

void noKernel(int64_t, int64_t, void *const *, const int64_t *) {}

/// Opens what was accepted: preparing commands and loading state must not crash
/// either, whatever they say to it.
void openSession(const ProgramView &view, const std::vector<uint8_t> &blob) {
  if (view.numRanks() > 8 || view.info().threadsPerRank > 2)
    return; // valid, but not worth so many threads here
  const weft_kernel_entry kernels[] = {{"k", noKernel}};
  weft_session *session = nullptr;
  weft_status status{};
  if (weft_open(blob.data(), blob.size(), kernels, 1, nullptr, &session, &status) == 0)
    weft_load_state(session, &status);
  weft_close(session);
}

// With a matching checksum the tables themselves must hold: whatever is
// accepted can be walked from end to end.
TEST(Program, HostileTablesNeverCrash) {
  const std::vector<uint8_t> blob = sample();
  std::mt19937_64 random(1);
  size_t accepted = 0;
  for (int trial = 0; trial < 60000; ++trial) {
    std::vector<uint8_t> bad = blob;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      size_t at = sizeof(ProgramHeader) + random() % (bad.size() - sizeof(ProgramHeader));
      static constexpr uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
      bad[at] = random() % 2 ? uint8_t(random()) : values[random() % 5];
    }
    fixChecksum(bad);
    ProgramView view;
    if (!ProgramView::open(bad.data(), bad.size(), view).ok())
      continue;
    EXPECT_FALSE(dump(view).empty());
    if (++accepted % 50 == 0)
      openSession(view, bad);
  }
  EXPECT_GT(accepted, 1000u); // padding and values without constraint
  EXPECT_LT(accepted, 60000u);
}

/// What is said of a program whose one body has the command that `addTo` makes.
std::string faultOfCommand(ProgramBuilder &b, const std::function<void()> &addTo) {
  b.beginProgram("p", {}, {});
  b.beginBody(1, 0);
  addTo();
  b.endBody();
  b.endProgram();
  b.addStage({64, {}});
  std::vector<uint8_t> blob = b.finish();
  ProgramView view;
  return ProgramView::open(blob.data(), blob.size(), view).text();
}

/// What is said of a program with one bucket.
std::string faultOf(const std::vector<Collective> &bucket, unsigned numViews) {
  ProgramBuilder b;
  Id tp = b.addMeshAxis("tp", 2);
  b.addCommunicator({tp});
  Id x = b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 64, {16});
  return faultOfCommand(
      b, [&] { b.add({0, "bucket"}, bucket, std::vector<View>(numViews, b.view(x))); });
}

TEST(Program, BucketsAreOfOneKindAndWhole) {
  Collective sum{};
  sum.kind = CollectiveKind::AllReduce;
  sum.dtype = sum.accumulator = DType::F32;
  sum.outer = 1, sum.extent = 16, sum.inner = 1;
  sum.middle = sum.otherExtent = 1;
  EXPECT_EQ(faultOf({sum, sum, sum}, 6), "");
  auto expect = [](const std::string &fault, const char *part) {
    EXPECT_NE(fault.find(part), std::string::npos) << fault;
  };
  Collective other = sum;
  other.kind = CollectiveKind::ReduceScatter;
  expect(faultOf({sum, other}, 4), "have not all one kind");
  other = sum;
  other.reduction = Reduction::Max;
  expect(faultOf({sum, other}, 4), "have not all one kind");
  other = sum;
  other.inOrder = 1;
  EXPECT_EQ(faultOf({other, other}, 4), "");
  expect(faultOf({sum, other}, 4), "have not all one kind, group, dtype, reduction and order");
  other.inOrder = 2;
  expect(faultOf({other}, 2), "adds in the order of members 2, which its kind does not");
  other.inOrder = 1;
  other.kind = CollectiveKind::AllGather;
  expect(faultOf({other}, 2), "adds in the order of members 1, which its kind does not");
  other = sum;
  other.extent = 17; // the second of the bucket counts, too
  expect(faultOf({sum, other}, 4), "outside of its views");
  expect(faultOf({sum, sum}, 5), "wrong number of views");
  for (unsigned views : {0, 1, 3})
    expect(faultOf({sum}, views), "wrong number of views");
  other = sum;
  other.kind = CollectiveKind::Send;
  expect(faultOf({other}, 1), "of rank 0 is with itself"); // one view is right
  for (unsigned views : {0, 2, 3})
    expect(faultOf({other}, views), "wrong number of views");
  expect(faultOf({sum}, 4), "parameters that do not exist");
  other = sum;
  other.kind = CollectiveKind::AllToAll;
  expect(faultOf({other, other}, 4), "several tensors, which its kind does not");
}

TEST(Program, MessagesNameCommandAndProblem) {
  ProgramBuilder b;
  Id x = b.addBuffer("x", BufferClass::Input, DType::F32, 0, 64, {16});
  b.beginProgram("p", {}, {});
  b.beginBody(1, 0);
  b.add({0, "layers.0/relu"}, Copy{}, {b.view(x), b.view(x, DType::F32, 4, {16})});
  b.endBody();
  b.endProgram();
  b.addStage({64, {}});
  std::vector<uint8_t> blob = b.finish();
  ProgramView view;
  Status status = ProgramView::open(blob.data(), blob.size(), view);
  EXPECT_EQ(status.code(), StatusCode::UserError);
  EXPECT_EQ(status.text(), "the executable program is corrupt: program 0: command 0 (copy of node "
                           "'layers.0/relu') has a view outside of its buffer; compile the model "
                           "again");
}

TEST(Program, OffsetsBeyondAllBuffersAreRefused) {
  for (int64_t offset : {INT64_MAX - 3, INT64_MIN, INT64_MAX / 2 + 1, int64_t(-4)}) {
    ProgramBuilder b;
    Id x = b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 64, {16});
    std::string fault = faultOfCommand(
        b, [&] { b.add({}, Copy{}, {b.view(x), b.view(x, DType::F32, offset, {1})}); });
    EXPECT_NE(fault.find("has a view outside of its buffer"), std::string::npos) << fault;
  }
}

/// What is said of a launch whose scalar is `scale` times the coordinate (0 to 3), and `addend`.
std::string faultOfScalar(int64_t scale, int64_t addend) {
  ProgramBuilder b;
  Id dp = b.addMeshAxis("dp", 2), tp = b.addMeshAxis("tp", 2);
  return faultOfCommand(b, [&] {
    b.launch({}, b.addKernel("k"), 1, 1, {}, {b.coordinate({dp, tp}, scale, addend)}, 0);
  });
}

TEST(Program, ScalarsFitOnEveryRank) {
  EXPECT_EQ(faultOfScalar(INT64_MAX / 3, 1), "");
  EXPECT_EQ(faultOfScalar(-3, INT64_MIN + 9), "");
  for (const std::string &fault : {faultOfScalar(INT64_MAX / 2, 0), faultOfScalar(INT64_MAX / 3, 2),
                                   faultOfScalar(-3, INT64_MIN + 8), faultOfScalar(INT64_MIN, 0)})
    EXPECT_NE(fault.find("scalar value 0 is too large on some rank"), std::string::npos) << fault;
}

/// What is said of a program of one command.
template <typename Record>
std::string faultOf(const Record &record, const std::vector<std::vector<int64_t>> &views) {
  ProgramBuilder b;
  Id x = b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 64, {16});
  return faultOfCommand(b, [&] {
    std::vector<View> list;
    for (const std::vector<int64_t> &sizes : views)
      list.push_back(b.view(x, DType::F32, 0, sizes));
    b.add({}, record, list);
  });
}

TEST(Program, ConvolutionsHaveOutputs) {
  for (auto [output, weight] :
       {std::pair<std::vector<int64_t>, std::vector<int64_t>>{{1, 2, 4}, {2, 2, 1}},
        {{1, 2, 0}, {2, 2, 1}},
        {{1, 0, 4}, {0, 2, 1}}}) {
    ProgramBuilder b;
    Id x = b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 64, {16});
    std::string fault = faultOfCommand(b, [&, output = output, weight = weight] {
      Convolution conv{};
      conv.groups = 1;
      conv.strides = conv.dilations = conv.inputDilations = b.ints({1});
      conv.padsBegin = b.ints({0});
      b.add({}, conv,
            {b.view(x, DType::F32, 0, {1, 2, 4}), b.view(x, DType::F32, 0, weight),
             b.view(x, DType::F32, 0, output)});
    });
    bool hasOutput = output == std::vector<int64_t>{1, 2, 4};
    EXPECT_EQ(fault.find("has an output without elements") == std::string::npos, hasOutput)
        << fault;
    EXPECT_EQ(fault.empty(), hasOutput) << fault;
  }
}

TEST(Program, CommandsHaveTheViewsOfTheirRow) {
  std::vector<int64_t> matrix{4, 4}, heads{1, 1, 4, 4};
  Gemm gemm{};
  gemm.accumulator = DType::F32;
  Attention attention{};
  using Views = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(faultOf(gemm, Views(3, matrix)), "");
  EXPECT_EQ(faultOf(gemm, Views(4, matrix)), ""); // with addends that may lack
  EXPECT_EQ(faultOf(gemm, Views(5, matrix)), "");
  for (const Views &views :
       {Views{matrix, matrix, matrix, {4, 2}}, Views{matrix, matrix, matrix, matrix, {4, 2}}})
    EXPECT_NE(faultOf(gemm, views).find("has an addend of other sizes"), std::string::npos);
  EXPECT_EQ(faultOf(attention, Views(4, heads)), "");
  EXPECT_EQ(faultOf(attention, Views(5, heads)), ""); // with the mask that may lack
  for (const std::string &fault :
       {faultOf(gemm, Views(2, matrix)), faultOf(gemm, Views(6, matrix)),
        faultOf(attention, Views(3, heads)), faultOf(attention, Views(6, heads))})
    EXPECT_NE(fault.find("has the wrong number of views"), std::string::npos) << fault;
}

TEST(Program, TheTableTellsWhatIsWritten) {
  std::vector<uint8_t> blob = sample();
  ProgramView view;
  ASSERT_TRUE(ProgramView::open(blob.data(), blob.size(), view).ok());
  std::string written; // a letter each view
  for (const Command &command : view.Commands()) {
    written += ' ';
    for (uint32_t i = 0; i < command.views.count; ++i)
      written += writesView(view, command, i) ? 'w' : 'r';
  }
  EXPECT_EQ(written, " rw   rw   rw rrw rrw rrrw rrrrrwwwr   rw rwrw rw rw rww rww");
  for (unsigned i = 0; i < kNumOpcodes; ++i)
    EXPECT_EQ(opcodeNamed(opcodeName(Opcode(i))), i);
  EXPECT_EQ(opcodeNamed("sort"), kNumOpcodes);
}

} // namespace
