// Runs recorded cases on this machine's device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H

#include "Recorded.h"

namespace weft::conformance {

/// How a case ended: its outputs are right; they are not; it did not run.
enum class Ending : uint32_t { Right, Wrong, Failed };

struct Verdict {
  Ending ending = Ending::Right;
  std::string message;
};

/// Runs the case twice, which a device with graphs does in two ways: both runs must give the
/// expected outputs, and the same bits. After a failure the process should end: the device may be
/// of no more use to it.
Verdict replay(const RecordedCase &recorded);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_REPLAY_H
