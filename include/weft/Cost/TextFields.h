// Fields of text protobuf that anybody may have written, and the lines where they stand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_TEXTFIELDS_H
#define WEFT_COST_TEXTFIELDS_H

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

namespace weft::cost {

/// Reads `text` into `message`; on failure says in `error` which line is wrong, and why.
bool parseText(const std::string &text, google::protobuf::Message &message,
               google::protobuf::TextFormat::ParseInfoTree &lines, std::string &error);

/// The fields of one message by name. The first that is wrong is told in `error`; after it, all
/// calls return false.
class Fields {
public:
  using Tree = google::protobuf::TextFormat::ParseInfoTree;

  /// `name` and `line` are those of the message, for what is missing in it.
  Fields(const google::protobuf::Message &message, Tree *tree, std::string name, int line,
         std::string &error)
      : message(message), tree(tree), name(std::move(name)), line(line), error(error) {}

  bool has(const char *field) const;
  int count(const char *field) const;

  /// A number from `least` to `most`. If it is not there, `value` stays, unless it is required.
  bool number(const char *field, double least, double most, double &value, bool required = true);
  bool integer(const char *field, int64_t least, int64_t most, int64_t &value,
               bool required = true);
  bool flag(const char *field, bool &value);
  bool string(const char *field, std::string &value, bool required = true);
  /// One of `words`; `value` is its place among them.
  bool word(const char *field, const std::vector<std::string> &words, size_t &value,
            bool required = true);
  /// Where the numbers of this message come from must be said.
  bool origin();

  /// A message in this one, or the number `index` of several; it must be there.
  Fields child(const char *field, int index = -1);
  /// That it must be there.
  bool required(const char *field, const char *what);

  /// Says that `field`, or the message itself if it is empty, is wrong.
  bool fail(const char *field, const std::string &what);

private:
  const google::protobuf::FieldDescriptor *find(const char *field) const;
  int lineOf(const char *field) const;

  const google::protobuf::Message &message;
  Tree *tree;
  std::string name;
  int line;
  std::string &error;
};

} // namespace weft::cost

#endif // WEFT_COST_TEXTFIELDS_H
