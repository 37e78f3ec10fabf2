// Lists of the stages of a pipeline that fit together, and lists that do not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contains.h"

#include "weft/runtime/ProgramBuilder.h"
#include "weft/runtime/Runtime.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <tuple>

using namespace weft::runtime;

namespace {

/// A line of a stage's list.
struct Line {
  enum Kind { Send, Recv, Sum, Record, Wait, Work } kind;
  unsigned stream;
  uint32_t number; // the peer, or the event
  std::string channel = {};
  int64_t elements = 4;
};
using List = std::vector<Line>;

constexpr int64_t kRoom = 8; // elements

/// Computes nothing, for as long as chance has it.
void work(int64_t, int64_t, void *const *, const int64_t *) {
  thread_local std::mt19937 random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}
const weft_kernel_entry kKernels[] = {{"work", work}};

/// A program of these lists on pp stages times dp copies.
std::vector<uint8_t> build(const std::vector<List> &lists, int64_t dp = 1) {
  ProgramBuilder b;
  auto stages = uint32_t(lists.size());
  Id pp = b.addMeshAxis("pp", stages), copies = b.addMeshAxis("dp", dp);
  b.info().stageAxes = b.axes({pp});
  Id group = b.addCommunicator({pp}), own = b.addCommunicator({copies});
  Id out = b.addBuffer("out", BufferClass::Activation, DType::I64, 0, 64, {kRoom});
  Id in = b.addBuffer("in", BufferClass::Communication, DType::I64, 64, 64, {kRoom});
  Id sum = b.addBuffer("sum", BufferClass::Workspace, DType::I64, 128, 64, {kRoom});
  b.beginProgram("p", {}, {});
  for (const List &list : lists) {
    b.beginBody(3, 64);
    for (const Line &line : list) {
      Collective c{};
      c.dtype = c.accumulator = DType::I64;
      c.outer = c.inner = c.middle = c.otherExtent = 1;
      c.extent = line.elements;
      c.communicator = group;
      c.channel = b.string(line.channel);
      c.peer = line.number;
      ProgramBuilder::On on(line.stream, line.channel);
      switch (line.kind) {
      case Line::Send:
      case Line::Recv:
        c.kind = line.kind == Line::Send ? CollectiveKind::Send : CollectiveKind::Recv;
        b.add(on, c, {b.view(line.kind == Line::Send ? out : in)});
        break;
      case Line::Sum: // over the copies (number 0), or over the stages
        c.kind = CollectiveKind::AllReduce;
        c.communicator = line.number == 0 ? own : group;
        c.peer = 0;
        b.add(on, c, {b.view(sum), b.view(sum)});
        break;
      case Line::Record:
        b.add(on, EventRecord{line.number}, {});
        break;
      case Line::Wait:
        b.add(on, EventWait{line.number}, {});
        break;
      case Line::Work:
        b.launch(on, b.addKernel("work"), 1, 1, {b.view(in), b.view(out)}, {}, 1);
        break;
      }
    }
    b.endBody();
    b.addStage({192, {}});
  }
  b.endProgram();
  return b.finish();
}

std::string faultOf(const std::vector<List> &lists, int64_t dp = 1) {
  std::vector<uint8_t> blob = build(lists, dp);
  ProgramView view;
  return ProgramView::open(blob.data(), blob.size(), view).text();
}

/// Which actions a stage does, one after the other.
enum class Order { OneForwardOneBackward, Any };

/// Microbatches through stages and back: actions in the order of 1F1B, or in any that is possible,
/// each as soon as what it reads has come, stages in any order; both ends of a transfer are listed
/// when its source is made. Transfers are on stream 2, with events between them and what computes.
/// At the end there are a sum over copies and one over stages.
class Pipeline {
public:
  Pipeline(uint32_t stages, uint32_t microbatches, std::mt19937 &random,
           Order order = Order::OneForwardOneBackward)
      : stages(stages), lists(stages), actions(stages), next(stages), events(stages) {
    std::vector<uint32_t> ahead(microbatches);
    std::iota(ahead.begin(), ahead.end(), 1);
    for (uint32_t s = stages; s-- > 0;)
      actions[s] = order == Order::Any ? anyActions(ahead, random) : actionsOf1F1B(s, microbatches);
    for (size_t left = 2 * stages * microbatches; left > 0;) {
      uint32_t s = uint32_t(random() % stages);
      if (next[s] == actions[s].size() || !isReady(s))
        continue;
      act(s);
      --left;
    }
    for (List &list : lists) {
      list.push_back({Line::Sum, 1, 0});
      list.push_back({Line::Sum, 1, 1, "", 2});
    }
  }

  uint32_t stages;
  std::vector<List> lists;

private:
  std::string actionsOf1F1B(uint32_t s, uint32_t microbatches) const {
    uint32_t ahead = std::min(microbatches, stages - s);
    std::string result(ahead, 'F');
    for (uint32_t m = 0; m < microbatches; ++m)
      result += m + ahead < microbatches ? "BF" : "B";
    return result;
  }

  /// Before each backward pass a stage has done as many forward passes as the next stage before
  /// that one, or more: else each would wait for the other. `ahead` has them by microbatch.
  static std::string anyActions(std::vector<uint32_t> &ahead, std::mt19937 &random) {
    std::string result;
    uint32_t forward = 0, microbatches = uint32_t(ahead.size());
    for (uint32_t &least : ahead) {
      while (forward < least || (forward < microbatches && random() % 2)) {
        result += 'F';
        ++forward;
      }
      least = forward;
      result += 'B';
    }
    return result;
  }

  bool reads(uint32_t s) const { return actions[s][next[s]] == 'F' ? s > 0 : s + 1 < stages; }
  bool isReady(uint32_t s) { return !reads(s) || !arrived[{actions[s][next[s]], s}].empty(); }

  void act(uint32_t s) {
    char kind = actions[s][next[s]];
    if (reads(s)) {
      std::vector<uint32_t> &come = arrived[{kind, s}];
      lists[s].push_back({Line::Wait, 0, come.front()});
      come.erase(come.begin());
    }
    ++next[s];
    lists[s].push_back({Line::Work, 0, 0});
    if (kind == 'F' ? s + 1 == stages : s == 0)
      return;
    uint32_t to = kind == 'F' ? s + 1 : s - 1;
    std::string channel = kind + std::to_string(to) + ".x";
    int64_t elements = 2 + to % 3;
    lists[s].push_back({Line::Record, 0, events[s]});
    lists[s].push_back({Line::Wait, 2, events[s]++});
    lists[s].push_back({Line::Send, 2, to, channel, elements});
    lists[to].push_back({Line::Recv, 2, s, channel, elements});
    lists[to].push_back({Line::Record, 2, events[to]});
    arrived[{kind, to}].push_back(events[to]++);
  }

  std::vector<std::string> actions; // by stage
  std::vector<size_t> next;
  std::vector<uint32_t> events;
  std::map<std::pair<char, uint32_t>, std::vector<uint32_t>> arrived;
};

std::vector<List> pipeline(uint32_t stages, uint32_t microbatches, std::mt19937 &random) {
  return Pipeline(stages, microbatches, random).lists;
}

TEST(Stages, OrdersOfPipelinesAreAccepted) {
  std::mt19937 random(1);
  for (uint32_t stages : {2, 3, 4, 8})
    for (uint32_t microbatches : {1, 2, 3, 5, 9})
      for (int64_t dp : {1, 2})
        EXPECT_EQ(faultOf(pipeline(stages, microbatches, random), dp), "")
            << stages << " stages, " << microbatches << " microbatches";
}

TEST(Stages, WhatDoesNotMatchIsNamed) {
  List send{{Line::Send, 2, 1, "F1.x"}}, receive{{Line::Recv, 2, 0, "F1.x"}};
  EXPECT_EQ(faultOf({send, receive}), "");
  expectPart(faultOf({send, {}}), "program 0: command 0 (collective send to stage 1 on 'F1.x' of "
                                  "node 'F1.x') of stage 0 has no "
                                  "other end: 1 sends meet 0 receives on its stream");
  expectPart(
      faultOf({send, {{Line::Recv, 2, 0, "F1.y"}}}),
      "sends 32 bytes of i64 on channel 'F1.x', where command 0 (collective recv from stage 0 on "
      "'F1.y' of node 'F1.y') of stage 1 receives 32 bytes of i64 on channel 'F1.y'");
  expectPart(faultOf({send, {{Line::Recv, 2, 0, "F1.x", 5}}}), "receives 40 bytes of i64");
  // A group exists for each stream.
  expectPart(faultOf({send, {{Line::Recv, 1, 0, "F1.x"}}}), "has no other end");
  expectPart(faultOf({{{Line::Send, 2, 0, "F1.x"}}, {}}), "of stage 0 is with itself");
  expectPart(faultOf({{{Line::Sum, 1, 1, "norm"}}, {}}),
             "is of a group of which another member does nothing like it");
  expectPart(
      faultOf({{{Line::Sum, 1, 1, "a"}, {Line::Sum, 1, 1, "b"}}, {{Line::Sum, 1, 1, "c"}}}),
      "(collective all_reduce of node 'b') of stage 0 is of a group of which another member does "
      "fewer collectives");
  expectPart(
      faultOf({{{Line::Sum, 1, 1, "a", 2}}, {{Line::Sum, 1, 1, "b", 3}}}),
      "would meet command 0 (collective all_reduce of node 'b') of stage 1, which is another "
      "collective");
}

TEST(Stages, CirclesAreTold) {
  // Both send first.
  expectPart(faultOf({{{Line::Send, 2, 1, "a"}, {Line::Recv, 2, 1, "b"}},
                      {{Line::Send, 2, 0, "b"}, {Line::Recv, 2, 0, "a"}}}),
             "its stages wait for each other for ever: ");
  // On streams of their own they may.
  EXPECT_EQ(faultOf({{{Line::Send, 2, 1, "a"}, {Line::Recv, 1, 1, "b"}},
                     {{Line::Send, 1, 0, "b"}, {Line::Recv, 2, 0, "a"}}}),
            "");
  // But not if an event makes each wait.
  expectPart(faultOf({{{Line::Send, 2, 1, "a"},
                       {Line::Record, 2, 0},
                       {Line::Wait, 1, 0},
                       {Line::Recv, 1, 1, "b"}},
                      {{Line::Send, 1, 0, "b"},
                       {Line::Record, 1, 0},
                       {Line::Wait, 2, 0},
                       {Line::Recv, 2, 0, "a"}}}),
             "its stages wait for each other for ever: ");
  // A sum of both between the transfers of one.
  expectPart(faultOf({{{Line::Sum, 2, 1, "s"}, {Line::Send, 2, 1, "a"}},
                      {{Line::Recv, 2, 0, "a"}, {Line::Sum, 2, 1, "s"}}}),
             "which waits for");
}

// Copies of a stage that send to each other: every rank is followed.
TEST(Stages, TransfersBesideStagesAreFollowedOnAllRanks) {
  auto make = [](bool relative, int64_t ranks) {
    ProgramBuilder b;
    Id dp = b.addMeshAxis("dp", ranks);
    Id x = b.addBuffer("x", BufferClass::Activation, DType::I64, 0, 64, {4});
    Collective c{};
    c.kind = CollectiveKind::Send;
    c.dtype = c.accumulator = DType::I64;
    c.outer = c.inner = c.middle = c.otherExtent = 1;
    c.extent = 4;
    c.communicator = b.addCommunicator({dp});
    c.peer = 1;
    c.peerRelative = relative;
    b.beginProgram("p", {}, {});
    b.beginBody(2, 0);
    b.add({0}, c, {b.view(x)});
    c.kind = CollectiveKind::Recv;
    b.add({0}, c, {b.view(x)});
    b.endBody();
    b.endProgram();
    b.addStage({64, {}});
    std::vector<uint8_t> blob = b.finish();
    ProgramView view;
    return ProgramView::open(blob.data(), blob.size(), view).text();
  };
  expectPart(make(true, 2), "its stages wait for each other for ever");
  expectPart(make(false, 2), "of rank 1 is with itself");
  expectPart(make(true, 1 << 20), "sends along axes that are no stages' on 1048576 ranks");
}

// Room is made for the events of all bodies, so all are checked.
TEST(Stages, BodiesAreOfPrograms) {
  ProgramBuilder b;
  b.beginBody(1, 1u << 30);
  b.endBody();
  b.beginProgram("p", {}, {});
  b.beginBody(1, 0);
  b.endBody();
  b.endProgram();
  b.addStage({64, {}});
  std::vector<uint8_t> blob = b.finish();
  ProgramView view;
  expectPart(ProgramView::open(blob.data(), blob.size(), view).text(), "body 0 is of no program");
}

/// What is done to lists, at random; empty if there is no place for it.
struct Mutant {
  std::vector<List> lists;
  std::string what;
};

/// What no other stage sees may be right as well: a wait that is not needed, say.
bool isTransfer(const Line &line) { return line.kind == Line::Send || line.kind == Line::Recv; }

Mutant mutate(std::vector<List> lists, std::mt19937 &random) {
  auto any = [&](size_t count) { return size_t(random() % count); };
  size_t s = any(lists.size());
  std::vector<size_t> transfers;
  for (size_t i = 0; i < lists[s].size(); ++i)
    if (isTransfer(lists[s][i]))
      transfers.push_back(i);
  List &list = lists[s];
  size_t at = transfers[any(transfers.size())];
  switch (any(8)) {
  case 0:
    list.erase(list.begin() + long(at));
    return {lists, "dropped"};
  case 1: {
    Line copy = list[at];
    list.insert(list.begin() + long(at), copy);
    return {lists, "doubled"};
  }
  case 2:
    if (lists.size() < 3)
      return {};
    do
      list[at].number = uint32_t(any(lists.size()));
    while (list[at].number == s);
    return {lists, "another peer"};
  case 3:
    list[at].channel += "'";
    return {lists, "another channel"};
  case 4:
    list[at].elements += 1;
    return {lists, "another size"};
  case 5: { // what follows on the stream comes first, if it is of another channel or peer
    size_t after = transfers[any(transfers.size())];
    std::swap(list[at], list[after]);
    return {lists, "reordered"};
  }
  case 6:
    list[at].kind = list[at].kind == Line::Send ? Line::Recv : Line::Send;
    return {lists, "turned"};
  default: {
    size_t other = any(lists.size());
    if (other == s)
      return {};
    lists[s] = lists[other];
    return {lists, "another stage's list"};
  }
  }
}

bool areSame(const std::vector<List> &a, const std::vector<List> &b) {
  auto same = [](const Line &x, const Line &y) {
    return std::tie(x.kind, x.stream, x.number, x.channel, x.elements) ==
           std::tie(y.kind, y.stream, y.number, y.channel, y.elements);
  };
  for (size_t s = 0; s < a.size(); ++s)
    if (!std::equal(a[s].begin(), a[s].end(), b[s].begin(), b[s].end(), same))
      return false;
  return true;
}

/// Runs on threads; what hangs is told after a while.
void expectRuns(const std::vector<List> &lists) {
  std::vector<uint8_t> blob = build(lists);
  weft_options options;
  weft_options_init(&options);
  options.timeout_seconds = 20;
  weft_session *session = nullptr;
  weft_status status{};
  ASSERT_EQ(weft_open(blob.data(), blob.size(), kKernels, 1, &options, &session, &status), 0)
      << status.text;
  weft_load_state(session, &status);
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(weft_run(session, "p", &status), 0) << status.text;
  weft_close(session);
}

// What is only listed in another order may be right: then it must run to its end.
TEST(Stages, MutantsAreRejected) {
  std::mt19937 random(7);
  size_t rejected = 0, reordered = 0;
  while (rejected < 1500) {
    std::vector<List> whole =
        pipeline(2 + uint32_t(random() % 4), 1 + uint32_t(random() % 6), random);
    ASSERT_EQ(faultOf(whole), "");
    Mutant mutant = mutate(whole, random);
    if (mutant.lists.empty() || areSame(whole, mutant.lists))
      continue;
    bool accepted = faultOf(mutant.lists).empty();
    rejected += !accepted;
    if (!accepted)
      continue;
    EXPECT_EQ(mutant.what, "reordered");
    if (mutant.what == "reordered" && ++reordered <= 40)
      expectRuns(mutant.lists);
  }
}

// Whatever the timing, which is another one in each run.
TEST(Stages, AcceptedOrdersRun) {
  std::mt19937 random(3);
  int trials = std::getenv("WEFT_TEST_FULL") ? 2000 : 100;
  for (int trial = 0; trial < trials; ++trial) {
    Order order = trial % 4 == 0 ? Order::OneForwardOneBackward : Order::Any;
    std::vector<List> lists =
        Pipeline(2 + uint32_t(random() % 4), 1 + uint32_t(random() % 9), random, order).lists;
    ASSERT_EQ(faultOf(lists), "");
    expectRuns(lists);
  }
}

} // namespace
