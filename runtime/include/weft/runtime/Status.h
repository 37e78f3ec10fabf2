// Result of a runtime call: a code that is also the exit code, and a message.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_STATUS_H
#define WEFT_RUNTIME_STATUS_H

#include <cstdint>
#include <string>
#include <utility>

namespace weft::runtime {

enum class StatusCode : int32_t {
  Ok = 0,
  UserError = 1,    // the inputs, files or mesh are wrong: repair them
  Usage = 2,        // the command line is wrong
  RankFailed = 3,   // another rank failed first: read that rank's message
  Hang = 4,         // a rank did not arrive in time: restart, or raise --timeout
  DoesNotFit = 5,   // memory: use more ranks or another placement
  DeviceFailed = 6, // a GPU, or what joins GPUs, failed at work: restart
  Internal = 70     // Weft's own fault: report it
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string text) : statusCode(code), message(std::move(text)) {}
  static Status user(std::string text) { return {StatusCode::UserError, std::move(text)}; }
  static Status internal(std::string text) { return {StatusCode::Internal, std::move(text)}; }

  bool ok() const { return statusCode == StatusCode::Ok; }
  StatusCode code() const { return statusCode; }
  const std::string &text() const { return message; }
  /// Puts `where` before the message, outermost last.
  Status &prefix(const std::string &where) {
    if (!ok())
      message = where + ": " + message;
    return *this;
  }

private:
  StatusCode statusCode = StatusCode::Ok;
  std::string message;
};

/// Returns from the caller with the status of `expression` if it is not ok.
#define WEFT_TRY(expression)                                                                       \
  do {                                                                                             \
    ::weft::runtime::Status weftStatus = (expression);                                             \
    if (!weftStatus.ok())                                                                          \
      return weftStatus;                                                                           \
  } while (false)

} // namespace weft::runtime

#endif // WEFT_RUNTIME_STATUS_H
