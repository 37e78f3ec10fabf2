// BERT's tokenizer on a small vocabulary.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WordPiece.h"

#include "gtest/gtest.h"
#include <sstream>

using Ids = std::vector<int64_t>;

namespace {

weft::WordPiece small() {
  //                        0     1     2     3    4     5    6   7   8    9
  std::istringstream text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n,\n"
                          "cafe\n\xe4\xb8\x96\n");
  return weft::WordPiece(text);
}

TEST(WordPiece, TakesTheLongestPieceFirst) {
  EXPECT_EQ(small().encode("Unaffable", 16), (Ids{2, 4, 5, 6, 3}));
}

TEST(WordPiece, GivesUpOnAWordAsAWhole) {
  EXPECT_EQ(small().encode("unaffablex un", 16), (Ids{2, 1, 4, 3}));
  EXPECT_EQ(small().encode(std::string(101, 'u'), 16), (Ids{2, 1, 3}));
}

TEST(WordPiece, SplitsPunctuationAndIdeographsAndDropsAccents) {
  EXPECT_EQ(small().encode("un,CAF\xc3\x89\xe4\xb8\x96un", 16), (Ids{2, 4, 7, 8, 9, 4, 3}));
  EXPECT_EQ(small().encode("cafe\xcc\x81", 16), (Ids{2, 8, 3}));
}

TEST(WordPiece, CutsToTheLimitAndSurvivesBrokenText) {
  EXPECT_EQ(small().encode("un un un un", 4), (Ids{2, 4, 4, 3}));
  EXPECT_EQ(small().encode("un\xff\xe4\xb8", 16), (Ids{2, 4, 3}));
  EXPECT_EQ(small().encode("", 16), (Ids{2, 3}));
}

TEST(WordPiece, NamesAMissingSpecialPiece) {
  std::istringstream text("[UNK]\n[CLS]\n");
  EXPECT_EQ(weft::WordPiece(text).fault(), "the vocabulary has no [SEP]");
}

} // namespace
