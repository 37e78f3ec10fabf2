// Which work of a GPU's streams comes before which, and who touched which bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_EMULATION_CUDA_ORDERING_H
#define WEFT_TEST_EMULATION_CUDA_ORDERING_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::emulated {

/// How far each stream is known to have come: a vector clock, by number of the stream.
class Clock {
public:
  uint64_t operator[](unsigned stream) const { return stream < ticks.size() ? ticks[stream] : 0; }
  void advance(unsigned stream) {
    ticks.resize(std::max<size_t>(ticks.size(), stream + 1));
    ++ticks[stream];
  }
  void join(const Clock &other) {
    ticks.resize(std::max(ticks.size(), other.ticks.size()));
    for (size_t s = 0; s < other.ticks.size(); ++s)
      ticks[s] = std::max(ticks[s], other.ticks[s]);
  }

private:
  std::vector<uint64_t> ticks;
};

/// Bytes that a piece of work reads or writes.
struct Touch {
  uint64_t begin, bytes;
  bool writes;
};

/// Remembers of all bytes who wrote them last and who has read them since.
class Touched {
public:
  /// Work of `stream` at `clock`, its own tick included. Returns "", or which work it is not
  /// ordered with.
  std::string note(const Touch &touch, unsigned stream, const Clock &clock,
                   const std::string &label);
  void forget(uint64_t begin, uint64_t bytes);

private:
  struct Use {
    unsigned stream;
    uint64_t tick;
    std::string label;
  };
  struct Segment {
    uint64_t end;
    std::vector<Use> writers; // none or one
    std::vector<Use> readers; // one a stream
  };
  using Segments = std::map<uint64_t, Segment>;

  /// Cuts a segment in two there, if one spans it.
  void cut(uint64_t at);
  /// The segments of a range, which has no holes afterwards.
  std::pair<Segments::iterator, Segments::iterator> range(uint64_t begin, uint64_t end);

  Segments segments;
};

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_ORDERING_H
