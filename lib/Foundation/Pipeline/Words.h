// Reads texts of lines and words, and says where one is wrong; writes numbers that are read back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PIPELINE_WORDS_H
#define WEFT_LIB_FOUNDATION_PIPELINE_WORDS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::pipeline {

class Words {
public:
  Words(const std::string &text, std::string &error) : text(text), error(error) {}

  /// Goes to the first word of the next line that has one.
  bool nextLine();
  /// Goes to the next word of the line; false at its end, where `word` is empty.
  bool next();
  const std::string &word() const { return current; }
  bool is(const char *what) const { return current == what; }

  /// "line 3, word 2: 'x' is no number" into `error`; `wants` begins with a verb: "is a kind".
  /// Returns false.
  bool fail(const std::string &wants);

  /// The first line is "weft WHAT 1".
  bool header(const std::string &what);
  /// The next word is `what`.
  bool expect(const char *what);
  /// The next word is a whole number from `least` to `most`.
  bool number(int64_t least, int64_t most, int64_t &result);
  /// The word is NAME=NUMBER, NUMBER not negative.
  bool assign(const std::vector<std::pair<std::string, double *>> &fields);
  /// The line has no further word.
  bool end();

private:
  const std::string &text;
  std::string &error;
  std::string current;
  size_t at = 0, line = 0, index = 0;
  bool inLine = false;
};

/// `text` is a whole number from `least` to `most`, in digits alone.
bool parseWhole(const std::string &text, int64_t least, int64_t most, int64_t &result);

/// The fewest digits that are read as this number, so that what differs is told differently, and
/// what is told to be enough is.
std::string numberText(double value);

} // namespace weft::pipeline

#endif // WEFT_LIB_FOUNDATION_PIPELINE_WORDS_H
