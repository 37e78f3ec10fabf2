// What a terminal is given of names that hostile files hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Terminal.h"

#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

TEST(Terminal, ControlCharactersAreShownAsNumbers) {
  EXPECT_EQ(shownSafely("a\x1b[2Jb\x7f\r\n\tc"), "a\\x1B[2Jb\\x7F\\x0D\n\tc");
  EXPECT_EQ(shownSafely(std::string("a\0b", 3)), "a\\x00b");
  // Two bytes of UTF-8 are the control character that begins a sequence, too; others are letters.
  EXPECT_EQ(shownSafely("\xc2\x9b"
                        "2J \xc3\xa9 \xe2\x82\xac"),
            "\\xC2\\x9B2J \xc3\xa9 \xe2\x82\xac");
  // What is no UTF-8 may be one to a terminal that knows none.
  EXPECT_EQ(shownSafely("\xc2"), "\\xC2");
  EXPECT_EQ(shownSafely("\x9b"
                        "2J \xe2\x82 \xff"),
            "\\x9B2J \\xE2\\x82 \\xFF");
  EXPECT_EQ(shownSafely("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

TEST(Terminal, OfLongLinesBothEndsAreTold) {
  std::string longest(4096, 'n');
  EXPECT_EQ(listingText("short\n" + longest), "short\n" + longest);
  std::string text =
      messageText("node '" + std::string(1'000'000, 'n') + "' is wrong: do this\n  next");
  EXPECT_EQ(text.substr(0, 8), "node 'nn");
  EXPECT_NE(text.find("n ... (996185 bytes left out) ... n"), text.npos);
  std::string end = "n' is wrong: do this\n  next";
  EXPECT_EQ(text.substr(text.size() - end.size()), end);
  EXPECT_LT(text.size(), 4096u);
}

TEST(Terminal, WhatIsNoTextIsBoundedToo) {
  EXPECT_LT(messageText(std::string(1'000'000, '\x80')).size(), 5000u);
  EXPECT_LT(messageText(std::string(1'000'000, '\n')).size(), 70'000u);
  std::string lines;
  for (int i = 0; i < 100'000; ++i)
    lines += "\n  line " + std::to_string(i);
  std::string told = messageText(lines);
  EXPECT_EQ(told.substr(0, 10), "\n  line 0\n");
  EXPECT_EQ(told.substr(told.size() - 13), "\n  line 99999");
}

TEST(Terminal, NoNameBeginsALineOfItsOwn) {
  EXPECT_EQ(messageText("node 'a\nweft: error: b\n' is wrong:\n  do\n\n  this\n"),
            "node 'a\\x0Aweft: error: b\\x0A' is wrong:\n  do\\x0A\n  this\\x0A");
}

TEST(Terminal, NoCharacterIsCut) {
  for (size_t shift : {0, 1, 2}) {
    std::string text(shift, 'a');
    for (int i = 0; i < 5000; ++i)
      text += "\xe2\x82\xac";
    std::string told = messageText(text);
    size_t left = told.find(" ... "), right = told.rfind(" ... ") + 5;
    EXPECT_EQ(told.substr(left - 3, 3), "\xe2\x82\xac") << shift;
    EXPECT_EQ(told.substr(right, 3), "\xe2\x82\xac") << shift;
  }
}

} // namespace
