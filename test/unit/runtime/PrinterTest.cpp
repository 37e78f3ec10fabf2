// What is told is written in order, by a thread, and nobody waits for who reads it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/Printer.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;

long countAllocations();

namespace {

/// Where standard output and error go until this goes.
class Redirected {
public:
  explicit Redirected(int to) {
    std::fflush(stdout);
    for (int stream : {0, 1}) {
      before[stream] = dup(stream + 1);
      dup2(to, stream + 1);
    }
  }
  ~Redirected() {
    for (int stream : {0, 1}) {
      dup2(before[stream], stream + 1);
      close(before[stream]);
    }
  }

private:
  int before[2];
};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  /// What comes until `enough` of it is there.
  template <typename Enough> std::string read(Enough enough) {
    std::string text;
    char part[4096];
    while (!enough(text)) {
      ssize_t count = ::read(ends[0], part, sizeof part);
      if (count <= 0)
        break;
      text.append(part, size_t(count));
    }
    return text;
  }
  /// Until it takes no more.
  void fill() {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "what came before\n", 17) == 17)
      ++filled;
    fcntl(ends[1], F_SETFL, 0);
  }
  int ends[2], filled = 0; // with lines
};

auto endsWith(const char *end) {
  return [end = std::string(end)](const std::string &text) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
}

TEST(Printer, KeepsTheOrderOfBothStreams) {
  Pipe pipe;
  std::string expected;
  bool done = false;
  {
    Redirected redirected(pipe.ends[1]);
    Printer printer;
    for (int i = 0; i < 500; ++i) {
      std::string line = "line " + std::to_string(i) + "\n";
      emit(i % 3 ? Stream::Out : Stream::Err, line);
      expected += line;
    }
    done = isEmitted(kNoLimit);
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(pipe.read(endsWith("line 499\n")), expected);
}

TEST(Printer, NobodyWaitsForAReaderAndWhatIsLeftOutIsTold) {
  Pipe pipe;
  constexpr int kLines = 40000;
  std::string text;
  bool early = true, late = false;
  long allocations = 0;
  {
    Redirected redirected(pipe.ends[1]);
    Printer printer(1 << 16);
    // Behind this line its thread has begun, for which the system may allocate.
    emit(Stream::Out, "what came before\n");
    EXPECT_TRUE(isEmitted(kNoLimit));
    pipe.fill();
    long before = countAllocations();
    char line[32];
    for (int i = 0; i < kLines; ++i)
      emit(Stream::Out, {line, size_t(std::snprintf(line, sizeof line, "line %08d\n", i))});
    allocations = countAllocations() - before;
    early = isEmitted(0.01);
    std::thread reader([&] { text = pipe.read(endsWith("the end\n")); });
    late = isEmitted(kNoLimit);
    emit(Stream::Err, "the end\n");
    reader.join();
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_FALSE(early);
  EXPECT_TRUE(late);
  // What is told to be missing is, where it is told.
  std::istringstream lines(text);
  int next = 0, number = 0, missing = 0;
  std::string line;
  for (int i = 0; i <= pipe.filled; ++i)
    std::getline(lines, line);
  while (std::getline(lines, line) && line != "the end") {
    int count = 0;
    if (std::sscanf(line.c_str(), "line %d", &number) == 1) {
      ASSERT_EQ(number, next);
      ++next;
    } else {
      ASSERT_EQ(std::sscanf(line.c_str(), "weft: %d lines are left out here", &count), 1) << line;
      next += count;
      missing += count;
    }
  }
  EXPECT_EQ(next, kLines);
  EXPECT_GT(missing, kLines / 2);
  EXPECT_EQ(line, "the end");
}

TEST(Printer, EndsWithAReaderThatStopped) {
  Pipe pipe;
  constexpr char kLine[] = "what fills a pipe within some thousand lines\n";
  constexpr size_t kLines = 3000;
  bool early = true, late = false;
  std::string text;
  {
    Redirected redirected(pipe.ends[1]);
    {
      Printer printer;
      for (size_t i = 0; i < kLines; ++i)
        emit(Stream::Out, kLine);
      early = isEmitted(0.01);
    }
    late = isEmitted(0); // nobody is left to write it
    // The thread is let go, so that it writes to no other test's.
    text = pipe.read(
        [](const std::string &found) { return found.size() == kLines * (sizeof kLine - 1); });
  }
  EXPECT_FALSE(early);
  EXPECT_TRUE(late);
  EXPECT_EQ(text.size(), kLines * (sizeof kLine - 1));
}

TEST(Printer, KnowsThatOutputIsLost) {
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  int before = -1, after = -1;
  {
    Redirected redirected(full);
    Printer printer;
    before = printer.outFailure();
    emit(Stream::Out, "line\n");
    isEmitted(kNoLimit);
    after = printer.outFailure();
  }
  close(full);
  EXPECT_EQ(before, 0);
  EXPECT_EQ(after, ENOSPC);
}

} // namespace
