// What the emulated GPU knows of order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ordering.h"

#include <gtest/gtest.h>

using namespace weft::emulated;

namespace {

struct Ordering : testing::Test {
  Touched touched;
  Clock clocks[3];

  /// Work of a stream; the error that it gives.
  std::string work(unsigned stream, uint64_t begin, uint64_t bytes, bool writes) {
    clocks[stream].advance(stream);
    return touched.note({begin, bytes, writes}, stream, clocks[stream],
                        "work " + std::to_string(begin));
  }
};

TEST_F(Ordering, StreamsThatMeetUnorderedAreFound) {
  EXPECT_EQ(work(0, 100, 10, true), "");
  EXPECT_EQ(work(1, 90, 11, false),
            "'work 90' of stream 1 reads bytes that 'work 100' of stream 0 writes, and nothing "
            "orders the two");
}

TEST_F(Ordering, AnEventOrders) {
  EXPECT_EQ(work(0, 100, 10, true), "");
  clocks[1].join(clocks[0]);
  EXPECT_EQ(work(1, 90, 20, true), "");
  // But not what comes later on the first stream.
  EXPECT_NE(work(0, 95, 1, false), "");
}

TEST_F(Ordering, ReadersMayMeetButNotAWriter) {
  EXPECT_EQ(work(0, 0, 8, false), "");
  EXPECT_EQ(work(1, 4, 8, false), "");
  EXPECT_EQ(work(2, 12, 8, true), "");
  clocks[2].join(clocks[0]);
  EXPECT_NE(work(2, 6, 1, true).find("that 'work 4' of stream 1 reads"), std::string::npos);
}

TEST_F(Ordering, ParallelWorkOnOtherBytesIsFine) {
  EXPECT_EQ(work(0, 0, 8, true), "");
  EXPECT_EQ(work(1, 8, 8, true), "");
  EXPECT_EQ(work(2, 16, 8, true), "");
  EXPECT_EQ(work(1, 8, 8, true), "");
}

TEST_F(Ordering, MemoryThatWasFreedIsForgotten) {
  EXPECT_EQ(work(0, 0, 64, true), "");
  touched.forget(16, 16);
  EXPECT_EQ(work(1, 16, 16, true), "");
  EXPECT_NE(work(2, 8, 8, true), "");
}

} // namespace
