// BERT's tokenizer: text to the ids of a WordPiece vocabulary.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_REAL_MODELS_WORDPIECE_H
#define WEFT_TEST_REAL_MODELS_WORDPIECE_H

#include <cstdint>
#include <istream>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft {

class WordPiece {
public:
  /// Reads vocab.txt: one piece per line, its id the line number from 0.
  /// `fault()` tells when the special pieces are missing.
  explicit WordPiece(std::istream &vocabulary);
  const std::string &fault() const { return problem; }

  /// [CLS] pieces... [SEP] of UTF-8 `text`, lower-cased and without accents;
  /// at most `limit` ids, the end cut off.
  std::vector<int64_t> encode(const std::string &text, size_t limit) const;

private:
  void appendWord(const std::u32string &word, std::vector<int64_t> &ids) const;

  std::unordered_map<std::string, int64_t> pieces;
  int64_t unknown = 0, start = 0, end = 0;
  std::string problem;
};

} // namespace weft

#endif // WEFT_TEST_REAL_MODELS_WORDPIECE_H
