// The board on which processes show each other where they are and why they failed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Board.h"

#include "base/ValuesText.h"
#include "job/Judge.h"
#include "job/Watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace weft::runtime;

namespace {

TEST(Board, OneOfTwoThreadsLeavesTheFailure) {
  constexpr int kTimes = 300;
  for (int i = 0; i < kTimes; ++i) {
    Board board;
    ASSERT_TRUE(Board::make(1, board).ok());
    std::atomic<int> ready{0};
    bool first[2];
    auto fail = [&](int thread) {
      ++ready;
      while (ready.load() < 2)
        std::this_thread::yield();
      first[thread] = board.put(0, 3 + thread, std::string(1500, char('a' + thread)), thread != 0);
    };
    std::thread other(fail, 1);
    fail(0);
    other.join();
    ASSERT_NE(first[0], first[1]);
    int winner = first[1];
    const BoardSlot &slot = board.slot(0);
    EXPECT_EQ(slot.code.load(), 3 + winner);
    EXPECT_EQ(slot.consequence, winner);
    EXPECT_EQ(slot.text, std::string(1500, char('a' + winner)));
  }
}

TEST(Board, AllEndWithTheCodeOfTheFailureThatIsTold) {
  const Status cause{StatusCode::Usage, "the program is for 4 ranks, 2 were started"};
  for (bool consequenceIsFirst : {false, true}) {
    Board board;
    ASSERT_TRUE(Board::make(2, board).ok());
    const Status noticed = World::stopped();
    if (consequenceIsFirst) // and waits for the cause
      ASSERT_TRUE(board.put(0, int32_t(noticed.code()), noticed.text(), /*consequence=*/true));
    testing::internal::CaptureStderr();
    tellFailure(board, 1, cause, /*consequence=*/false);
    tellFailure(board, 0, noticed, /*consequence=*/true);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: error: " + cause.text() + "\n");
    EXPECT_EQ(exitCodeOf(board, 0, int(StatusCode::RankFailed)), int(StatusCode::Usage));
    EXPECT_EQ(exitCodeOf(board, 1, int(StatusCode::Usage)), int(StatusCode::Usage));
  }
}

// A rank's stream may notice first that another one of its own does not come back.
TEST(Board, AWitnessWhoseOwnStreamComputesIsToBlame) {
  Board board;
  ASSERT_TRUE(Board::make(2, board).ok());
  for (int64_t rank : {0, 1}) {
    BoardSlot &slot = board.slot(rank);
    slot.enter();
    slot.presence = Presence::Working;
    slot.beat = sinceBoot();
    slot.host = Doing::Nothing;
    slot.streams[0].doing = Doing::Waiting;
    slot.streams[1].doing = Doing::Waiting;
  }
  const Status waited{StatusCode::Hang, "rank 1: waited 9 s for event 0 of another stream"};
  EXPECT_EQ(judge(board, ProgramView(), 1, waited, 9).text(), waited.text());
  board.slot(1).streams[0].doing = Doing::Computing;
  std::string text = judge(board, ProgramView(), 1, waited, 9).text();
  EXPECT_EQ(text.find("no progress for 9 s: rank 1 (pid "), 0u) << text;
  EXPECT_NE(text.find(") does not come"), std::string::npos) << text;
  // Another rank that is to blame comes first: its own may compute meanwhile.
  board.slot(0).streams[1].doing = Doing::Computing;
  text = judge(board, ProgramView(), 1, waited, 9).text();
  EXPECT_EQ(text.find("no progress for 9 s: rank 0 (pid "), 0u) << text;
}

TEST(Board, WhereWeftRunTellsARankEndsWithItsOwnCode) {
  Board board;
  ASSERT_TRUE(Board::make(2, board).ok());
  EXPECT_EQ(exitCodeOf(board, 0, 3), 3);
  board.header().supervisor = getpid();
  tellFailure(board, 1, {StatusCode::Usage, "wrong"}, /*consequence=*/false);
  tellFailure(board, 0, World::stopped(), /*consequence=*/true);
  EXPECT_EQ(exitCodeOf(board, 0, 3), 3);
  EXPECT_EQ(exitCodeOf(board, 1, 3), 2);
}

TEST(Board, ALongTextEndsAtALineOrSaysThatItGoesOn) {
  auto shown = [](const std::string &text) {
    Board board;
    EXPECT_TRUE(Board::make(1, board).ok());
    EXPECT_TRUE(board.put(0, 1, text, /*consequence=*/false));
    return std::string(board.slot(0).text);
  };
  constexpr size_t kMost = BoardSlot::kText - 1;
  EXPECT_EQ(shown(std::string(kMost, 'a')), std::string(kMost, 'a'));
  EXPECT_EQ(shown(std::string(kMost + 1, 'a')), std::string(kMost - 3, 'a') + "...");
  EXPECT_EQ(shown(std::string(kMost - 6, 'a') + "\n" + "bbbbbb"),
            std::string(kMost - 6, 'a') + "\n  ...");
  EXPECT_EQ(shown(std::string(kMost - 5, 'a') + "\n" + "bbbbb"),
            std::string(kMost - 5, 'a') + "...");
  EXPECT_EQ(shown("first\n" + std::string(kMost, 'b')), "first\n  ...");
  // Letters of two bytes stay whole.
  EXPECT_EQ(shown(std::string(kMost - 4, 'a') + "\u00e9\u00e9\u00e9"),
            std::string(kMost - 4, 'a') + "...");
}

TEST(Board, KnowsAProcessByItsStartToo) {
  Board board;
  ASSERT_TRUE(Board::make(2, board).ok());
  BoardSlot &slot = board.slot(0);
  EXPECT_EQ(slot.processState(), 0);
  slot.enter();
  slot.presence.store(Presence::Working);
  ASSERT_NE(slot.started.load(), 0u);
  EXPECT_EQ(slot.processState(), 'R');
  EXPECT_FALSE(isLost(slot));
  // As if the rank had died, and its number were this process's.
  slot.started.store(slot.started.load() - 1);
  EXPECT_EQ(slot.processState(), 0);
  EXPECT_TRUE(isLost(slot));

  pid_t child = fork();
  if (child == 0) {
    board.slot(1).enter();
    pause();
    _exit(0);
  }
  while (board.slot(1).pid.load() == 0)
    usleep(1000);
  EXPECT_NE(board.slot(1).processState(), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(board.slot(1).processState(), 0);
}

// Its connections close first.
TEST(Board, WhoIsAboutToEndWhenItsConnectionIsLostIsNamed) {
  Board board;
  ASSERT_TRUE(Board::make(2, board).ok());
  board.slot(0).enter();
  board.slot(0).presence = Presence::Working;
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    board.slot(1).enter();
    board.slot(1).presence = Presence::Working;
    usleep(50000);
    _exit(0);
  }
  for (int i = 0; i < 10000 && board.slot(1).presence.load() != Presence::Working; ++i)
    usleep(1000);
  const Status lost{StatusCode::RankFailed, "rank 1 is lost: Connection reset by peer"};
  std::string text = judge(board, ProgramView(), 0, lost, 9).text();
  waitpid(child, nullptr, 0);
  EXPECT_EQ(text.find("rank 1 (pid " + std::to_string(child) + " on "), 0u) << text;
  EXPECT_NE(text.find(") ended without a word; rank 0 noticed it"), std::string::npos) << text;
  // Of whom the board knows nothing, on another machine say, the loss is told as it was seen.
  board.slot(1).pid = 0;
  EXPECT_EQ(judge(board, ProgramView(), 0, lost, 9).text(), lost.text());
}

TEST(Board, AProcessThatCannotBeAskedLives) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  char state = processState(getpid(), 1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(state, '?');
}

TEST(ValuesText, TellsTheRangeOfWhatIsANumber) {
  std::vector<float> values(10, NAN);
  EXPECT_NE(valuesText(DType::F32, values.data(), 10).find("min nan max nan mean nan"),
            std::string::npos);
  values[3] = 2;
  EXPECT_NE(valuesText(DType::F32, values.data(), 10).find("min 2 max 2 mean nan"),
            std::string::npos);
  // 2^53 and the next integer are the same double.
  std::vector<int64_t> integers(10, int64_t(1) << 53);
  integers[4] += 1;
  EXPECT_NE(valuesText(DType::I64, integers.data(), 10)
                .find("min 9007199254740992 max 9007199254740993 mean"),
            std::string::npos);
}

} // namespace
