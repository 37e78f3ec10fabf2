// Runs recorded cases on this machine's device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H

#include "Recorded.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace weft::conformance {

/// How a case ended: its outputs are right; they are not; it did not run.
enum class Ending : uint32_t { Right, Wrong, Failed };

struct Verdict {
  Ending ending = Ending::Right;
  std::string message;
  /// Whether the second run was a graph.
  bool wasGraph = false;
};

/// Bytes where a driver reads headers in place.
class Aligned {
public:
  explicit Aligned(const std::string &bytes)
      : memory(static_cast<char *>(std::aligned_alloc(64, (bytes.size() + 64) / 64 * 64))) {
    std::memcpy(memory.get(), bytes.data(), bytes.size());
  }
  const void *data() const { return memory.get(); }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
};

/// Runs the case twice, the second time as a graph unless the environment wants none: both runs
/// must give the expected outputs, and the same bits. After a failure the process should end: the
/// device may be of no more use to it.
Verdict replay(const RecordedCase &recorded);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H
