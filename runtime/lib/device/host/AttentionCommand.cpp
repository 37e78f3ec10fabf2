// Attention: heads and blocks of query rows over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostCommand.h"
#include "device/host/Libraries.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

class AttentionCommand : public HostCommand {
public:
  AttentionCommand(const HostContext &context, const Command &command, const Attention &params,
                   bool givesSums)
      : params(params), dense(context.libraries.dense()), threads(context.threads) {
    Table<View> views = context.program.Views().slice(command.views);
    ResolvedView *all[] = {&q, &k, &v_, &out, givesSums ? &sums : &mask};
    for (uint32_t i = 0; i < views.size(); ++i)
      *all[i] = ResolvedView(context, views[i]);
    hasMask = views.size() > 4 && !givesSums;
    hasSums = givesSums;
    slot = (dense.attentionScratch(q.sizes[3], v_.sizes[3], q.dtype) + 63) / 64 * 64;
  }

  uint64_t scratchBytes() const override { return slot * threads; }

  Status run(HostStream &stream) override {
    const ResolvedView *views[] = {&q, &k, &v_, &out, &mask};
    char *bases[5] = {};
    for (unsigned i = 0; i < 5; ++i)
      bases[i] = views[i]->address(stream);
    int64_t keys = k.sizes[2];
    int64_t heads = q.sizes[1], rows = q.sizes[2];
    int64_t sharing = heads / std::max<int64_t>(1, k.sizes[1]);
    // With one query each (a decode step) the heads that share keys are the
    // rows of one problem, so that keys are read once. One query sees all keys.
    bool folded = rows == 1 && sharing > 1;
    if (folded) {
      rows = sharing;
      heads = k.sizes[1];
    }
    int64_t each = dense.attentionRows;
    int64_t blocks = (rows + each - 1) / each;
    if (q.numElements() == 0 && out.numElements() == 0)
      return {};
    auto body = [&](int64_t begin, int64_t end, unsigned part) {
      for (int64_t task = begin; task < end; ++task) {
        int64_t block = task % blocks;
        int64_t head = task / blocks % heads, entry = task / blocks / heads;
        AttentionProblem problem{};
        problem.rows = rows;
        problem.keys = keys;
        problem.depth = q.sizes[3];
        problem.valueDepth = v_.sizes[3];
        problem.firstRow = block * each;
        problem.lastRow = std::min(rows, problem.firstRow + each);
        int64_t first = folded ? head * sharing : head;
        int64_t shared = folded ? head : head / sharing;
        problem.q = matrix(q, bases[0], entry, first, folded);
        problem.k = matrix(k, bases[1], entry, shared);
        problem.v = matrix(v_, bases[2], entry, shared);
        problem.out = matrix(out, bases[3], entry, first, folded);
        if (hasMask)
          problem.mask = matrix(mask, bases[4], entry, first, folded);
        if (hasSums)
          problem.logSums = rowsOf(sums, sums.address(stream), entry, first, folded);
        problem.scale = params.scale;
        problem.softcap = params.softcap;
        problem.causal = params.causal != 0 && !folded;
        dense.attention(problem, stream.scratch + part * slot);
      }
    };
    stream.pool->forEach(q.sizes[0] * heads * blocks, 1, body);
    return {};
  }

private:
  static MatrixRef matrix(const ResolvedView &view, const char *base, int64_t entry, int64_t head,
                          bool folded = false) {
    return {base + (entry * view.strides[0] + head * view.strides[1]) *
                       int64_t(dtypeBytes(view.dtype)),
            view.dtype, view.strides[folded ? 1 : 2], view.strides[3]};
  }

  /// Of a number for each row.
  static MatrixRef rowsOf(const ResolvedView &view, char *base, int64_t entry, int64_t head,
                          bool folded) {
    return {base + (entry * view.strides[0] + head * view.strides[1]) *
                       int64_t(dtypeBytes(view.dtype)),
            view.dtype, view.strides[folded ? 1 : 2], 0};
  }

  Attention params;
  const DenseKernels &dense;
  unsigned threads;
  bool hasMask = false, hasSums = false;
  ResolvedView q, k, v_, out, mask, sums;
  uint64_t slot = 0;
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Attention &record, Status &) {
  return std::make_unique<AttentionCommand>(context, command, record, false);
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const AttentionWithSums &record, Status &) {
  return std::make_unique<AttentionCommand>(context, command, record, true);
}
