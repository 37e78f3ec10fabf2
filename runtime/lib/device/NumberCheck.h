// The first command of a rank behind which numbers were not finite.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_NUMBERCHECK_H
#define WEFT_RUNTIME_LIB_DEVICE_NUMBERCHECK_H

#include "device/Device.h"

#include <mutex>
#include <optional>

namespace weft::runtime {

/// A view of a command, for whoever looks at its numbers.
struct SeenView : ResolvedView {
  Id buffer;
  bool isWritten;
};

/// Looks at what commands wrote, each when it is done, until there is a NaN. All elements of a
/// view count, those behind the end of a shard that is cut unevenly, too.
class NumberCheck {
public:
  struct Found {
    double seconds; // when it was seen, by the clock of the machine
    CommandPlace place;
    uint64_t count, of; // elements that were written
    Id source;          // where the command read such; kNone = it made them of others
  };

  /// Called by the thread that issued the command, which is done.
  Status look(Device &device, CommandPlace place, const std::vector<SeenView> &views);
  /// Goes on as if nothing was seen; between runs.
  void forget();

  std::optional<Found> nan() const;
  /// The first that made infinite numbers of finite ones: hiding by a mask does so, too.
  std::optional<Found> infinite() const;

private:
  enum class Kind { NaN, Infinite };
  Status add(Kind kind, Device &device, CommandPlace place, const std::vector<SeenView> &views,
             uint64_t count, uint64_t of);

  mutable std::mutex mutex;
  std::optional<Found> firstNan, firstInfinite;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_NUMBERCHECK_H
