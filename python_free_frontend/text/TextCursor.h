// A place in a text: words, numbers, strings and errors with line and column.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTCURSOR_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTCURSOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace weft::text {

/// Methods that return bool return false after a fault, which is then recorded
/// once, with its place; every caller passes the false on.
class TextCursor {
public:
  TextCursor(llvm::StringRef text, llvm::StringRef fileName) : text(text), fileName(fileName) {}

  /// Records a fault at the next word, or at `where` if given.
  bool fail(const llvm::Twine &what, size_t where = llvm::StringRef::npos);
  const std::string &fault() const { return problem; }

  /// The next character after space and comments; 0 at the end.
  char peek();
  bool atEnd() { return peek() == 0 && at >= text.size(); }
  size_t place() {
    peek();
    return at;
  }
  void moveTo(size_t where) { at = where; }

  /// Takes `c` if it comes next.
  bool take(char c);
  /// Takes `c`, or fails; `purpose` says what it would do there.
  bool expect(char c, const llvm::Twine &purpose);
  /// Takes "=>".
  bool expectArrow();

  /// The identifier that comes next, without taking it; empty if none.
  llvm::StringRef peekWord();
  /// Takes an identifier, or fails.
  bool word(std::string &result, const llvm::Twine &purpose);
  /// Takes an identifier or a quoted string, or fails.
  bool name(std::string &result, const llvm::Twine &purpose);
  /// Takes a quoted string, or fails.
  bool quoted(std::string &result, const llvm::Twine &purpose);

  /// Takes the characters of a number (or inf, nan), without judging them;
  /// `isFloat` tells whether it is spelled as a fraction.
  bool number(llvm::StringRef &digits, bool &isFloat, const llvm::Twine &purpose);
  bool integer(int64_t &value, const llvm::Twine &purpose);
  bool unsignedInteger(uint64_t &value, const llvm::Twine &purpose);
  bool real(float &value, const llvm::Twine &purpose);
  bool real(double &value, const llvm::Twine &purpose);

private:
  template <typename T> bool realOf(T &value, const llvm::Twine &purpose);
  std::string next();

  llvm::StringRef text, fileName;
  size_t at = 0;
  std::string problem;
};

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTCURSOR_H
