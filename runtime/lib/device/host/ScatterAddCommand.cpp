// Updates added to rows that indices name: rows, then columns over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Convert.h"
#include "comm/Reduce.h"
#include "device/host/HostCommand.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// Below this many bytes another thread costs more than it moves.
constexpr int64_t kGrainBytes = 64 * 1024;
/// Threads add to columns of their own, cache lines apart.
constexpr int64_t kLineBytes = 64;

using LoadIndex = int64_t (*)(const char *);

/// Unsigned numbers of 2^63 and more become negative: out of range, too.
template <typename T> int64_t loadIndex(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return int64_t(value);
}

LoadIndex loaderFor(DType type) {
  return withType(type, [](auto value) -> LoadIndex {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>)
      return loadIndex<T>;
    return nullptr;
  });
}

class ScatterAddCommand : public HostCommand {
public:
  ScatterAddCommand(const HostContext &context, const Command &command, const ScatterAdd &) {
    Table<View> views = context.program.Views().slice(command.views);
    indices = ResolvedView(context, views[0]);
    updates = ResolvedView(context, views[1]);
    result = ResolvedView(context, views[2]);
    hasOperand = views.size() > 3;
    if (hasOperand)
      operand = ResolvedView(context, views[3]);
    positions = indices.rank - 1;
    for (unsigned d = 1; d < result.rank; ++d)
      width *= result.sizes[d];
    bytes = dtypeBytes(result.dtype);
    bool half = result.dtype == DType::BF16 || result.dtype == DType::F16;
    add = reductionFor(result.dtype, half ? DType::F32 : result.dtype);
    load = loaderFor(indices.dtype);
    for (unsigned d = 0; d < positions; ++d)
      total *= indices.sizes[d];
  }

  Status run(HostStream &stream) override {
    char *to = result.address(stream);
    const char *from = hasOperand ? operand.address(stream) : nullptr;
    if (from != to)
      start(*stream.pool, from, to);
    const char *index = indices.address(stream), *update = updates.address(stream);
    // Each thread goes through all updates, so an element's sum is in their order.
    int64_t line = kLineBytes / bytes, lines = (width + line - 1) / line;
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      addAll(0, index, update, to, {begin * line, std::min(end * line, width)});
    };
    stream.pool->forEach(lines, std::max<int64_t>(1, kGrainBytes / (total * kLineBytes + 1)), body);
    return {};
  }

private:
  struct Columns {
    int64_t begin, end;
  };

  /// Gives the rows the operand's values, or zeros.
  void start(ThreadPool &pool, const char *from, char *to) const {
    int64_t row = width * bytes, step = result.strides[0] * bytes;
    int64_t fromStep = from ? operand.strides[0] * bytes : 0;
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      for (int64_t r = begin; r < end; ++r)
        if (from)
          std::memcpy(to + r * step, from + r * fromStep, size_t(row));
        else
          std::memset(to + r * step, 0, size_t(row));
    };
    pool.forEach(result.sizes[0], std::max<int64_t>(1, kGrainBytes / (row + 1)), body);
  }

  /// Adds the updates at all positions along the index dims from `d` on.
  void addAll(unsigned d, const char *index, const char *update, char *to, Columns columns) const {
    if (d == positions) {
      int64_t row = load(index);
      if (row < 0 || row >= result.sizes[0])
        return;
      char *sum = to + row * result.strides[0] * bytes;
      const void *sources[] = {sum, update};
      add(Reduction::Sum, sources, 2, columns.begin, columns.end, sum);
      return;
    }
    int64_t indexStep = indices.strides[d] * int64_t(dtypeBytes(indices.dtype));
    for (int64_t i = 0; i < indices.sizes[d]; ++i)
      addAll(d + 1, index + i * indexStep, update + i * updates.strides[d] * bytes, to, columns);
  }

  ResolvedView indices, updates, result, operand;
  bool hasOperand = false;
  unsigned positions = 0;
  int64_t width = 1, total = 1, bytes = 1;
  ReduceSpan add = nullptr;
  LoadIndex load = nullptr;
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const ScatterAdd &record, Status &) {
  return std::make_unique<ScatterAddCommand>(context, command, record);
}
