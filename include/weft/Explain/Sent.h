// What the members of a group send to each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EXPLAIN_SENT_H
#define WEFT_EXPLAIN_SENT_H

#include "weft/runtime/CollectiveFacts.h"

namespace weft::explain {

/// By member; those one after another that send alike are one run, so that large groups are short.
class Sent {
public:
  struct Run {
    int64_t members;
    runtime::Volume each;
  };

  /// Adds the next member.
  void add(const runtime::Volume &volume) {
    if (runs.empty() || !(runs.back().each == volume))
      runs.push_back({0, volume});
    ++runs.back().members;
  }
  const std::vector<Run> &getRuns() const { return runs; }

  /// Nothing beyond the last member.
  runtime::Volume of(int64_t member) const {
    for (const Run &run : runs) {
      if (member < run.members)
        return run.each;
      member -= run.members;
    }
    return {};
  }

  runtime::Volume ofAll() const {
    runtime::Volume sum;
    for (const Run &run : runs)
      sum += uint64_t(run.members) * run.each;
    return sum;
  }

  /// As CollectiveFacts.h says.
  static Sent by(const std::vector<runtime::Traffic> &members) {
    Sent sent;
    for (const runtime::Traffic &member : members)
      sent.add(member.sent);
    return sent;
  }

private:
  std::vector<Run> runs;
};

} // namespace weft::explain

#endif // WEFT_EXPLAIN_SENT_H
