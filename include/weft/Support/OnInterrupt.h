// Files and folders to remove when a signal ends the process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_ONINTERRUPT_H
#define WEFT_SUPPORT_ONINTERRUPT_H

#include <functional>

namespace weft {

/// While it lives, `cleanup` is run before SIGINT, SIGTERM or SIGHUP ends the
/// process: on a thread of its own, so it may do anything that does not wait for
/// the other threads. A signal that was ignored when the process began stays so.
class OnInterrupt {
public:
  explicit OnInterrupt(std::function<void()> cleanup);
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt &) = delete;

private:
  unsigned number;
};

} // namespace weft

#endif // WEFT_SUPPORT_ONINTERRUPT_H
