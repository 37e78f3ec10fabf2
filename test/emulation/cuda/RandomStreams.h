// Random kernels on several streams, with the events that order them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_EMULATION_CUDA_RANDOMSTREAMS_H
#define WEFT_TEST_EMULATION_CUDA_RANDOMSTREAMS_H

#include "Harness.h"

namespace weft::emulated {

/// A list of launches, each of which reads two stretches of one memory and writes a third one. An
/// event is recorded behind each launch.
struct RandomStreams {
  static constexpr unsigned kStreams = 3, kStretches = 8, kInputs = 2;
  static constexpr int64_t kElements = 64; // of a stretch
  /// Behind the last stretch there is room for one that was moved.
  static constexpr int64_t kResults = (kStretches - kInputs + 1) * kElements;

  struct Launch {
    unsigned stream;
    int64_t from, with, to; // first elements of stretches
    int64_t scale;
    std::vector<uint32_t> waits; // for the events behind these launches
  };
  std::vector<Launch> launches;

  /// With the waits that its stretches need, and no others.
  RandomStreams(uint64_t seed, unsigned count);

  /// Whether streams and events order all launches of which one writes what the other touches.
  bool isOrdered() const;
  /// Whether stretches that begin there share elements.
  static bool meet(int64_t a, int64_t b);

  /// As a program: the inputs are "x", all other stretches "y".
  void build(runtime::Harness &harness) const;
  static std::vector<float> inputs();
  /// "y" after so many runs in which launches are done one after the other.
  std::vector<float> expected(int runs) const;

private:
  static bool conflict(const Launch &a, const Launch &b);
};

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_RANDOMSTREAMS_H
