// What must hold of routines and their calls, and mutants of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contains.h"
#include "Harness.h"

#include "program/commands/Issued.h"

#include <functional>
#include <map>
#include <sstream>

using namespace weft::runtime;

namespace {

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// A program with one call of a routine that copies a block to another. Each test spoils
/// something of it.
struct Sketch {
  ProgramBuilder b;
  Id x = b.addBuffer("x", BufferClass::Activation, DType::F32, 0, 128, {32});
  Id y = b.addBuffer("y", BufferClass::Activation, DType::F32, 128, 128, {32});
  Id from = b.addBuffer("from", BufferClass::Activation, DType::F32, 0, 64, {16}, 0);
  Id to = b.addBuffer("to", BufferClass::Activation, DType::F32, 0, 64, {16}, 1);
  ProgramBuilder::Ints blocks{64, 64}, unset;
  uint32_t reads = 1, streams = 1, events = 0, bodyStreams = 1, callStream = 0;
  std::function<void()> commands = [this] {
    b.add({0, "/h.{}/copy"}, Copy{}, {b.view(from), b.view(to)});
  };
  std::function<void()> around = [this] { call({b.view(x), b.view(y)}); };

  void call(const std::vector<View> &views) { b.invoke({callStream}, 0, views, "h.5", 2, unset); }

  /// What is said of it.
  std::string fault() {
    b.beginRoutine("R", blocks, reads, streams, events);
    commands();
    b.endRoutine();
    b.beginProgram("p", {}, {});
    b.beginBody(bodyStreams, 0);
    around();
    b.endBody();
    b.endProgram();
    b.addStage({256, {}});
    blob = b.finish();
    return ProgramView::open(blob.data(), blob.size(), view).text();
  }
  std::vector<uint8_t> blob;
  ProgramView view;
};

/// The fault of a sketch of which `spoil` changed something; it says `part`.
void expectFault(const std::function<void(Sketch &)> &spoil, const std::string &part) {
  Sketch sketch;
  spoil(sketch);
  expectPart(sketch.fault(), part);
}

TEST(Routine, ASoundOneIsTaken) { EXPECT_EQ(Sketch().fault(), ""); }

TEST(Routine, ItsCommandsStayInItsBlocks) {
  expectFault([](Sketch &s) { s.blocks = {64, 32}; },
              "corrupt: routine 0 (R): command 0 (copy of node '/h.{}/copy') uses buffer 3, which "
              "ends at byte 64 of the 32 of its block; compile");
  expectFault([](Sketch &s) { s.blocks = {64}; },
              "uses buffer 3, which lies in block 1 and so not in a block");
  expectFault(
      [](Sketch &s) {
        s.commands = [&] {
          s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(s.to, DType::F32, 0, {32})});
        };
      },
      "command 0 (copy) has a view outside of its buffer");
  expectFault(
      [](Sketch &s) {
        s.commands = [&] {
          s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(s.x, DType::F32, 0, {16})});
        };
      },
      "command 0 (copy) uses buffer 0, which lies in the arena and so not in a block of its "
      "routine");
  expectFault([](Sketch &s) { s.reads = 2; }, "writes block 1 of its routine, which is only read");
  expectFault([](Sketch &s) { s.reads = 3; }, "routine 0 (R): it has blocks that do not exist");
  expectFault([](Sketch &s) { s.blocks = {64, -1}; }, "routine 0 (R): it has a block of -1 bytes");
}

TEST(Routine, BodiesStayInTheArena) {
  expectFault(
      [](Sketch &s) {
        s.around = [&] {
          s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(s.x, DType::F32, 0, {16})});
        };
      },
      "program 0: command 0 (copy) uses buffer 2, which lies in block 0 and so not in the arena");
  expectFault([](Sketch &s) { s.around = [&] { s.call({s.b.view(s.from), s.b.view(s.y)}); }; },
              "program 0: call 0 of R (h.5, microbatch 2) uses buffer 2, which lies in block 0");
  Sketch port;
  port.b.addPort("p", DType::F32, {16}, port.b.addReplicated({16}), port.from);
  expectPart(port.fault(), "port 0 has a buffer that is a routine's");
}

TEST(Routine, ItHasCommandsAndCallsNothing) {
  expectFault([](Sketch &s) { s.commands = [] {}; }, "routine 0 (R): it has no commands");
  expectFault(
      [](Sketch &s) {
        s.commands = [&] { s.b.invoke({}, 0, {s.b.view(s.from), s.b.view(s.to)}); };
      },
      "routine 0 (R): call 0 of R is a call in a routine, which calls nothing");
  expectFault(
      [](Sketch &s) { s.around = [&] { s.b.invoke({}, 1, {s.b.view(s.x), s.b.view(s.y)}); }; },
      "command 0 (invoke) has a routine or a label that does not exist");
}

TEST(Routine, CallsGiveEveryBlockWhatItNeeds) {
  auto callWith = [](std::function<std::vector<View>(Sketch &)> views) {
    return [=](Sketch &s) { s.around = [&s, views] { s.call(views(s)); }; };
  };
  expectFault(callWith([](Sketch &s) { return std::vector{s.b.view(s.x)}; }),
              "call 0 of R (h.5, microbatch 2) gives 1 blocks to a routine of 2");
  // 64 bytes from byte 68 on are 4 too many, however few the view has itself.
  expectFault(callWith([](Sketch &s) {
                return std::vector{s.b.view(s.x), s.b.view(s.y, DType::F32, 68, {1})};
              }),
              "call 0 of R (h.5, microbatch 2) gives block 1 the bytes from 68 of buffer 1, which "
              "has 128; it needs 64");
  expectFault(callWith([](Sketch &s) {
                return std::vector{s.b.view(s.x, DType::I8, 2, {64}), s.b.view(s.y)};
              }),
              "begins block 0 at byte 2 of buffer 0, which is no multiple of 4");
  Sketch rows; // any element is a start
  rows.around = [&] {
    rows.call({rows.b.view(rows.x, DType::F32, 4, {16}), rows.b.view(rows.y, DType::F32, 64, {1})});
  };
  EXPECT_EQ(rows.fault(), "");
}

/// Places of three blocks in the arena, of which the first is read.
std::string faultOfSharing(int64_t read, int64_t written, int64_t scratch) {
  Sketch s;
  s.blocks = {64, 64, 64};
  Id all = s.b.addBuffer("all", BufferClass::Activation, DType::F32, 0, 256, {64});
  s.around = [&] {
    std::vector<View> views;
    for (int64_t at : {read, written, scratch})
      views.push_back(s.b.view(all, DType::F32, at, {16}));
    s.call(views);
  };
  return s.fault();
}

TEST(Routine, WhatIsWrittenIsNobodyElses) {
  EXPECT_EQ(faultOfSharing(0, 64, 128), "");
  EXPECT_EQ(faultOfSharing(128, 64, 0), "");
  EXPECT_EQ(faultOfSharing(64, 64, 128), ""); // in place
  expectPart(faultOfSharing(0, 32, 128), "call 0 of R (h.5, microbatch 2) writes block 1 at bytes "
                                         "[32, 96) of the arena, where block 0 has [0, 64)");
  expectPart(faultOfSharing(32, 0, 128),
             "writes block 1 at bytes [0, 64) of the arena, where block 0 has [32, 96)");
  expectPart(faultOfSharing(0, 64, 64), "of the arena, where block");
  expectPart(faultOfSharing(0, 64, 100), "of the arena, where block");
  expectPart(faultOfSharing(60, 128, 64),
             "writes block 2 at bytes [64, 128) of the arena, where block 0 has [60, 124)");
  expectPart(faultOfSharing(64, 64, 64), "of the arena, where block");
}

// As if the routine's commands were written out in the caller.
TEST(Routine, BytesMayBeUsedOneAfterTheOther) {
  // Reads block 0 into the first half of its scratch, that into the second, that into block 1.
  auto fault = [](int64_t read, int64_t written, int64_t scratch) {
    Sketch s;
    s.blocks = {64, 64, 128};
    Id half[2];
    for (int64_t i : {0, 1})
      half[i] =
          s.b.addBuffer("half", BufferClass::Workspace, DType::F32, uint64_t(i) * 64, 64, {16}, 2);
    s.commands = [&s, half] {
      s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(half[0])});
      s.b.add({}, Copy{}, {s.b.view(half[0]), s.b.view(half[1])});
      s.b.add({}, Copy{}, {s.b.view(half[1]), s.b.view(s.to)});
    };
    s.around = [&s, read, written, scratch] {
      Id all = s.b.addBuffer("all", BufferClass::Activation, DType::F32, 0, 256, {64});
      std::vector<View> views;
      for (int64_t at : {read, written, scratch})
        views.push_back(s.b.view(all, DType::F32, at, {16}));
      s.call(views);
    };
    return s.fault();
  };
  EXPECT_EQ(fault(64, 128, 0), "");  // the second half where the argument was
  EXPECT_EQ(fault(128, 0, 0), "");   // the result where the first half was
  EXPECT_EQ(fault(160, 128, 0), ""); // the result where a part of the argument was
  EXPECT_EQ(fault(64, 0, 0), "");    // all three
  expectPart(fault(0, 128, 0), "writes block 2 at bytes [0, 128) of the arena, where block 0 has");
  expectPart(fault(32, 128, 0), "writes block 2 at bytes [0, 128) of the arena, where block 0 has");
  expectPart(fault(128, 64, 0), "of the arena, where block");
}

TEST(Routine, AnOperandInPlaceIsReadByNobodyElse) {
  auto fault = [](int64_t first, int64_t second, int64_t written) {
    Sketch s;
    s.blocks = {64, 64, 64};
    s.reads = 2;
    Id to = s.b.addBuffer("to", BufferClass::Activation, DType::F32, 0, 64, {16}, 2);
    s.commands = [&s, to] { s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(to)}); };
    s.around = [&s, first, second, written] {
      Id all = s.b.addBuffer("all", BufferClass::Activation, DType::F32, 0, 256, {64});
      std::vector<View> views;
      for (int64_t at : {first, second, written})
        views.push_back(s.b.view(all, DType::F32, at, {16}));
      s.call(views);
    };
    return s.fault();
  };
  EXPECT_EQ(fault(0, 0, 64), "");
  EXPECT_EQ(fault(0, 32, 128), ""); // what is read may overlap
  EXPECT_EQ(fault(0, 64, 64), "");
  expectPart(fault(64, 64, 64), "writes block 2 at bytes [64, 128) of the arena");
  expectPart(fault(0, 32, 32),
             "writes block 2 at bytes [32, 96) of the arena, where block 0 has [0, 64)");
}

/// A routine that does what the letters say: 'p' adds a product to block 1, 't' one to it turned,
/// 'c' copies block 0 to it, 'r' reads it into block 2.
std::string faultOfUnset(const std::string &text, const ProgramBuilder::Ints &unset) {
  Sketch s;
  s.blocks = {64, 64, 64};
  s.unset = unset;
  Id more = s.b.addBuffer("more", BufferClass::Activation, DType::F32, 0, 64, {16}, 2);
  s.commands = [&] {
    Gemm product{};
    product.accumulator = DType::F32;
    View sum = s.b.view(s.to, DType::F32, 0, {4, 4}),
         factor = s.b.view(s.from, DType::F32, 0, {4, 4});
    for (char letter : text)
      if (letter == 'p')
        s.b.add({}, product, {factor, factor, sum, sum});
      else if (letter == 't')
        s.b.add({}, product, {factor, factor, sum, s.b.view(s.to, DType::F32, 0, {4, 4}, {1, 4})});
      else if (letter == 'c')
        s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(s.to)});
      else
        s.b.add({}, Copy{}, {s.b.view(s.to), s.b.view(more)});
  };
  s.around = [&] { s.call({s.b.view(s.x), s.b.view(s.y), s.b.view(s.y, DType::F32, 64, {16})}); };
  return s.fault();
}

TEST(Routine, OnlyWhatIsAddedToOneProductIsUnset) {
  EXPECT_EQ(faultOfUnset("p", {1}), "");
  EXPECT_EQ(faultOfUnset("ppcr", {}), "");
  std::string strange = "unset, with which its routine does not only add it to one product";
  expectPart(faultOfUnset("pp", {1}), "call 0 of R (h.5, microbatch 2) leaves block 1 " + strange);
  expectPart(faultOfUnset("pr", {1}), "leaves block 1 " + strange);
  expectPart(faultOfUnset("c", {1}), "leaves block 1 " + strange);
  expectPart(faultOfUnset("cp", {1}), "leaves block 1 " + strange); // what was copied would be lost
  expectPart(faultOfUnset("t", {1}), "leaves block 1 " + strange);  // other elements stay unset
  EXPECT_EQ(faultOfUnset("pc", {1}), "");
  expectPart(faultOfUnset("p", {0}), "leaves block 0 " + strange);
  expectPart(faultOfUnset("p", {1, 2}), "leaves block 2 " + strange);
  expectPart(faultOfUnset("p", {3}), "leaves block 3 " + strange);
  expectPart(faultOfUnset("p", {-1}), "leaves block -1 " + strange);
}

/// A routine of copies and events on two streams, as 'c' copy, 'r' record and 'w' wait, each
/// with its stream and, of events, its event: "c0 r00 w10 c1".
std::string faultOfStreams(const std::string &text, uint32_t callStream = 0) {
  Sketch s;
  s.streams = s.bodyStreams = s.events = 2;
  s.callStream = callStream;
  s.commands = [&] {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      ProgramBuilder::On on(unsigned(word[1] - '0'));
      if (word[0] == 'c')
        s.b.add(on, Copy{}, {s.b.view(s.from), s.b.view(s.to)});
      else if (word[0] == 'r')
        s.b.add(on, EventRecord{uint32_t(word[2] - '0')}, {});
      else
        s.b.add(on, EventWait{uint32_t(word[2] - '0')}, {});
    }
  };
  return s.fault();
}

TEST(Routine, ToItsCallerItIsACommandOfOneStream) {
  EXPECT_EQ(faultOfStreams("c0"), "");
  EXPECT_EQ(faultOfStreams("c1", 1), "");
  EXPECT_EQ(faultOfStreams("r00 w10 c1 r11 w01"), "");
  EXPECT_EQ(faultOfStreams("c0 r00 w10 c1 c0 r11 c0 w01"), "");
  EXPECT_EQ(faultOfStreams("c1 r10 w00 c0 r01 w11", 1), "");
  std::string strange = "with which not all of the routine's streams begin and end";
  expectPart(faultOfStreams("c1", 0), "is of stream 0, " + strange);
  expectPart(faultOfStreams("c0", 1), "is of stream 1, " + strange);
  expectPart(faultOfStreams("c0 r00 w10 c1 r11 w01", 1), "is of stream 1, " + strange);
  std::string apart = "routine 0 (R): it has no stream after whose record all others begin";
  expectPart(faultOfStreams("c0 c1"), apart);
  expectPart(faultOfStreams("c0 r00 w10 c1"), apart);            // not waited for
  expectPart(faultOfStreams("c0 r00 w10 c1 r11 w01 c1"), apart); // not all of it
  expectPart(faultOfStreams("c1 r00 w10 c1 r11 w01 c0"), apart); // begins too early
  expectPart(faultOfStreams("w10 r00 c1"),
             "command 0 waits for event 0, which its routine has not recorded");
  expectPart(faultOfStreams("c0 r00 r10"),
             "command 2 (event_record) records event 0 on stream 1, which stream 0 records, too");
  expectPart(faultOfStreams("r02"), "names an event that does not exist");
  expectFault([](Sketch &s) { s.streams = 2; },
              "call 0 of R (h.5, microbatch 2) needs 2 streams of a body that has 1");
  expectFault([](Sketch &s) { s.streams = 9; },
              "routine 0 (R): it has commands, streams or events that do not exist");
}

TEST(Routine, ARunHasSoManyCommandsThatTheyCanBeCounted) {
  Sketch s;
  s.commands = [&] {
    for (int i = 0; i < 20000; ++i)
      s.b.add({}, Copy{}, {s.b.view(s.from), s.b.view(s.to)});
  };
  s.around = [&] {
    for (int i = 0; i < 20000; ++i)
      s.call({s.b.view(s.x), s.b.view(s.y)});
  };
  expectPart(s.fault(), "program 0: a body issues 400000000 commands, 268435456 are the most");
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// Bytes of the arena that a command of a routine may touch by a view, when it is called.
void expectInArena(const ProgramView &p, const Command &call, const View &view, uint64_t arena) {
  const Buffer &buffer = p.Buffers()[view.buffer];
  const View &block = p.Views()[call.views.begin + buffer.block];
  int64_t start = int64_t(p.Buffers()[block.buffer].offset) + block.byteOffset +
                  int64_t(buffer.offset) + view.byteOffset;
  int64_t low = start, high = start + dtypeBytes(view.dtype);
  for (uint32_t d = 0; d < view.sizes.count; ++d) {
    int64_t size = p.ints(view.sizes)[d];
    if (size == 0)
      return;
    int64_t reach = (size - 1) * p.ints(view.strides)[d] * dtypeBytes(view.dtype);
    (reach < 0 ? low : high) += reach;
  }
  EXPECT_GE(low, 0);
  EXPECT_LE(uint64_t(high), arena);
  EXPECT_EQ(start % dtypeBytes(view.dtype), 0);
}

/// Whether two blocks of a call may lie as they do: byte by byte, all commands that use the one
/// come before all that use the other.
void expectApart(const ProgramView &p, const Command &call, const Routine &routine) {
  struct Times {
    uint32_t first = kNone, last = 0;
  };
  auto begin = [&](uint32_t i) {
    const View &view = p.Views()[call.views.begin + i];
    return p.Buffers()[view.buffer].offset + uint64_t(view.byteOffset);
  };
  Table<int64_t> bytes = p.ints(routine.blocks);
  std::map<uint64_t, std::map<uint32_t, Times>> byByte;
  for (uint32_t k = 0; k < routine.commands.count; ++k)
    for (const View &view : p.Views().slice(p.Commands()[routine.commands.begin + k].views)) {
      const Buffer &buffer = p.Buffers()[view.buffer];
      uint64_t start = begin(buffer.block) + buffer.offset;
      for (uint64_t at = start; at < start + buffer.bytes; ++at) {
        Times &times = byByte[at][buffer.block];
        times.first = std::min(times.first, k);
        times.last = k;
      }
    }
  for (const auto &[at, blocks] : byByte)
    for (const auto &[i, one] : blocks)
      for (const auto &[j, other] : blocks) {
        bool isInPlace = i < routine.reads && begin(i) == begin(j) && bytes[i] == bytes[j];
        if (i != j && j >= routine.reads && !isInPlace)
          EXPECT_TRUE(one.last < other.first || other.last < one.first)
              << "byte " << at << " of blocks " << i << " and " << j;
      }
}

// Only tables of routines and calls are hit, so that most mutants say something of them.
TEST(Routine, MutantsAreRefusedOrStayInTheirPlaces) {
  Sketch s;
  s.blocks = {64, 64, 16};
  s.streams = s.bodyStreams = s.events = 2;
  Id room = s.b.addBuffer("room", BufferClass::Workspace, DType::F32, 0, 16, {4}, 2);
  s.commands = [&] {
    s.b.add(
        {0}, Copy{},
        {s.b.view(s.from, DType::F32, 16, {2, 2}, {4, -1}), s.b.view(room, DType::F32, 0, {2, 2})});
    s.b.add({0}, EventRecord{0}, {});
    s.b.add({1}, EventWait{0}, {});
    s.b.add({1}, Copy{}, {s.b.view(s.from), s.b.view(s.to)});
    s.b.add({1}, EventRecord{1}, {});
    s.b.add({0}, EventWait{1}, {});
  };
  s.around = [&] {
    View scratch = s.b.view(s.y, DType::I8, 64, {16});
    s.call({s.b.view(s.x), s.b.view(s.y), scratch});
    s.call({s.b.view(s.x, DType::F32, 64, {16}), s.b.view(s.x, DType::F32, 64, {16}), scratch});
  };
  ASSERT_EQ(s.fault(), "");
  const auto *sections =
      reinterpret_cast<const SectionRecord *>(s.blob.data() + sizeof(ProgramHeader));
  std::vector<size_t> targets;
  for (Section section : {Section::Routines, Section::InvokeRecords, Section::Buffers,
                          Section::Ints, Section::Views, Section::Commands, Section::Bodies}) {
    const SectionRecord &r = sections[unsigned(section)];
    for (size_t i = 0; i < r.count * r.recordBytes; ++i)
      targets.push_back(r.offset + i);
  }
  std::mt19937_64 random(5);
  size_t accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<uint8_t> bad = s.blob;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      static constexpr uint8_t values[] = {0, 1, 2, 16, 32, 64, 0x80, 0xff};
      bad[targets[random() % targets.size()]] = values[random() % 8];
    }
    ProgramHeader header;
    std::memcpy(&header, bad.data(), sizeof header);
    header.checksum = hashBytes(bad.data() + sizeof header, bad.size() - sizeof header);
    std::memcpy(bad.data(), &header, sizeof header);
    ProgramView p;
    if (!ProgramView::open(bad.data(), bad.size(), p).ok())
      continue;
    EXPECT_FALSE(dump(p).empty());
    IssuedCommands issued(p, p.Bodies()[0]);
    for (uint64_t i = 0; i < issued.size(); ++i) {
      EXPECT_FALSE(issued[i].describe(p).empty());
      if (!issued[i].call)
        continue;
      for (const View &view : p.Views().slice(issued[i].command->views))
        expectInArena(p, *issued[i].call, view, p.Stages()[0].arenaBytes);
      expectApart(p, *issued[i].call, p.Routines()[p.record<Invoke>(*issued[i].call).routine]);
    }
    ++accepted;
    if (accepted % 20 != 0)
      continue;
    weft_session *session = nullptr; // what is accepted can be prepared and run
    weft_status status{};
    if (weft_open(bad.data(), bad.size(), nullptr, 0, nullptr, &session, &status) == 0)
      EXPECT_EQ(weft_run(session, "p", &status), 0) << status.text;
    weft_close(session);
  }
  EXPECT_GT(accepted, 1000u);
  EXPECT_LT(accepted, 15000u);
}

} // namespace
