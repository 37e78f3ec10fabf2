// Where emulated members meet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Meeting.h"

#include <gtest/gtest.h>

#include <memory>
#include <unistd.h>

using namespace weft::emulated;

namespace {

using MeetingPtr = std::unique_ptr<Meeting>;

TEST(Meeting, PostsAreReadOnceByEach) {
  std::string name = Meeting::makeName();
  MeetingPtr a(Meeting::open(name, 2, 0));
  EXPECT_FALSE(a->haveAllCome());
  MeetingPtr b(Meeting::open(name, 2, 1));
  EXPECT_TRUE(a->haveAllCome());
  EXPECT_NE(access(name.c_str(), F_OK), 0) << "nothing is left when a process is killed";

  uint64_t what = 0;
  EXPECT_FALSE(b->hasCome(0, Meeting::kAll));
  a->post(Meeting::kAll, {'x', 'y'}, 7);
  EXPECT_FALSE(a->isFree(Meeting::kAll));
  EXPECT_EQ(b->read(0, Meeting::kAll, what), (std::vector<char>{'x', 'y'}));
  EXPECT_EQ(what, 7u);
  EXPECT_FALSE(b->hasCome(0, Meeting::kAll));
  EXPECT_FALSE(a->isFree(Meeting::kAll)) << "its own part is not read";
  EXPECT_EQ(a->read(0, Meeting::kAll, what).size(), 2u);
  EXPECT_TRUE(a->isFree(Meeting::kAll));
}

TEST(Meeting, ChannelsAreApart) {
  std::string name = Meeting::makeName();
  MeetingPtr a(Meeting::open(name, 2, 0)), b(Meeting::open(name, 2, 1));
  uint64_t what = 0;
  a->post(1, {'s'}, 0);
  b->post(0, {}, 0);
  EXPECT_FALSE(b->hasCome(0, Meeting::kAll));
  EXPECT_TRUE(b->hasCome(0, 1));
  EXPECT_TRUE(a->hasCome(1, 0));
  EXPECT_EQ(a->read(1, 0, what).size(), 0u);
  EXPECT_TRUE(b->isFree(0));
  EXPECT_FALSE(a->isFree(1));
}

TEST(Meeting, EndsWhenAllLeave) {
  std::string name = Meeting::makeName();
  MeetingPtr a(Meeting::open(name, 2, 0)), b(Meeting::open(name, 2, 1));
  a->leave();
  EXPECT_FALSE(a->haveAllLeft());
  b->leave();
  EXPECT_TRUE(a->haveAllLeft());
}

} // namespace
