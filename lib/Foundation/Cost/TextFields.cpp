// Text protobuf, field by field.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/TextFields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <cmath>
#include <cstdio>

using namespace weft::cost;
namespace pb = google::protobuf;

namespace {

/// Keeps the first error.
class FirstError : public pb::io::ErrorCollector {
public:
  explicit FirstError(std::string &error) : error(error) {}
  void AddError(int line, pb::io::ColumnNumber, const std::string &message) override {
    if (error.empty())
      error = (line < 0 ? "" : "line " + std::to_string(line + 1) + ": ") + message;
  }

private:
  std::string &error;
};

std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

} // namespace

bool weft::cost::parseText(const std::string &text, pb::Message &message,
                           pb::TextFormat::ParseInfoTree &lines, std::string &error) {
  error.clear();
  FirstError collector(error);
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(&lines);
  // Messages are nested three deep; what is nested otherwise is no such file.
  constexpr int kMostNested = 16;
  parser.SetRecursionLimit(kMostNested);
  if (parser.ParseFromString(text, &message))
    return true;
  if (error.empty())
    error = "is no text protobuf";
  return false;
}

const pb::FieldDescriptor *Fields::find(const char *field) const {
  return message.GetDescriptor()->FindFieldByName(field);
}

bool Fields::has(const char *field) const {
  return message.GetReflection()->HasField(message, find(field));
}

int Fields::count(const char *field) const {
  return message.GetReflection()->FieldSize(message, find(field));
}

int Fields::lineOf(const char *field) const {
  const pb::FieldDescriptor *found = *field ? find(field) : nullptr;
  int at = found && tree ? tree->GetLocation(found, found->is_repeated() ? 0 : -1).line : -1;
  return at < 0 ? line : at + 1;
}

bool Fields::fail(const char *field, const std::string &what) {
  if (error.empty())
    error = "line " + std::to_string(lineOf(field)) + ": " +
            (*field ? "'" + (name.empty() ? "" : name + ".") + field + "' " : "'" + name + "' ") +
            what;
  return false;
}

bool Fields::required(const char *field, const char *what) {
  const pb::FieldDescriptor *found = find(field);
  bool isThere = found->is_repeated() ? count(field) > 0 : has(field);
  return error.empty() && (isThere || fail(field, std::string("is missing: give ") + what));
}

bool Fields::number(const char *field, double least, double most, double &value, bool isRequired) {
  if (!error.empty())
    return false;
  std::string range = "a number from " + textOf(least) + " to " + textOf(most);
  if (!has(field))
    return !isRequired || fail(field, "is missing: give " + range);
  double found = message.GetReflection()->GetDouble(message, find(field));
  if (!(found >= least && found <= most))
    return fail(field, "must be " + range);
  value = found;
  return true;
}

bool Fields::integer(const char *field, int64_t least, int64_t most, int64_t &value,
                     bool isRequired) {
  if (!error.empty())
    return false;
  std::string range =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!has(field))
    return !isRequired || fail(field, "is missing: give " + range);
  int64_t found = message.GetReflection()->GetInt64(message, find(field));
  if (found < least || found > most)
    return fail(field, "must be " + range);
  value = found;
  return true;
}

bool Fields::flag(const char *field, bool &value) {
  if (error.empty() && has(field))
    value = message.GetReflection()->GetBool(message, find(field));
  return error.empty();
}

bool Fields::string(const char *field, std::string &value, bool isRequired) {
  if (!error.empty())
    return false;
  if (!has(field))
    return !isRequired || fail(field, "is missing: give a string");
  value = message.GetReflection()->GetString(message, find(field));
  return !isRequired || !value.empty() || fail(field, "must not be empty");
}

bool Fields::word(const char *field, const std::vector<std::string> &words, size_t &value,
                  bool isRequired) {
  std::string found;
  if (!string(field, found, isRequired))
    return false;
  if (!has(field))
    return true;
  std::string all;
  for (value = 0; value < words.size(); ++value) {
    if (words[value] == found)
      return true;
    all += (value ? ", " : "") + words[value];
  }
  return fail(field, "must be one of " + all);
}

bool Fields::origin() {
  std::string text;
  return error.empty() && ((has("origin") && string("origin", text)) ||
                           fail("", "does not say where its numbers come from: give 'origin'"));
}

Fields Fields::child(const char *field, int index) {
  const pb::FieldDescriptor *found = find(field);
  const pb::Reflection *reflection = message.GetReflection();
  const pb::Message &inner = found->is_repeated()
                                 ? reflection->GetRepeatedMessage(message, found, index)
                                 : reflection->GetMessage(message, found);
  int at = tree ? tree->GetLocation(found, index).line : -1;
  std::string path = (name.empty() ? "" : name + ".") + field +
                     (found->is_repeated() ? "[" + std::to_string(index) + "]" : "");
  return Fields(inner, tree ? tree->GetTreeForNested(found, index) : nullptr, path,
                at < 0 ? line : at + 1, error);
}
