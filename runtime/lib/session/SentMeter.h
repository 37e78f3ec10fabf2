// What ranks send meanwhile, by the axes over which they do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_SENTMETER_H
#define WEFT_RUNTIME_LIB_SESSION_SENTMETER_H

#include "session/Session.h"

#include "weft/runtime/CollectiveFacts.h"

#include <algorithm>

namespace weft::runtime {

/// Reads what the session's collectives have counted, between runs; what ranks tell each other
/// beside programs is not among it. `start` and `stop` do not allocate.
class SentMeter {
public:
  explicit SentMeter(const weft_session &session);

  void start();
  /// `sent` is then what was sent since `start`.
  void stop();
  /// The same of local rank `rank` alone, on its own thread; `own` is by communicator.
  void start(size_t rank);
  void stop(size_t rank, std::vector<Volume> &own) const;
  /// Makes `sent` that of the rank that sent most, of what was `add`ed since.
  void clear() { std::fill(sent.begin(), sent.end(), Volume()); }
  void add(const std::vector<Volume> &own);
  /// Makes `sent` that of the processes that sent most. Collective.
  Status reduce(weft_session &session);

  /// Of each communicator: its axes ("dp,tp"), and what the rank that sent most over it sent.
  const std::vector<std::string> &axes() const { return names; }
  std::vector<Volume> sent;

  /// A run's share of it: "196608 bytes in 24 messages over tp, 8 in 2 over dp,tp"; "" if there is
  /// none.
  std::string text(uint64_t runs) const;
  /// The same as members of an object: `"sent_bytes":{"tp":196608},"sent_messages":{"tp":24}`.
  /// Does not allocate.
  void printJson(std::FILE *file, uint64_t runs) const;

private:
  const weft_session &session;
  std::vector<std::string> names;
  std::vector<Volume> before; // [rank][communicator]
  std::vector<Volume> room;   // of one rank
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_SENTMETER_H
