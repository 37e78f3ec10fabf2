// Attention: heads and blocks of query rows over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/Libraries.h"
#include "device/host/Step.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

class AttentionStep : public Step {
public:
  AttentionStep(const HostContext &context, const Command &command, Status &status)
      : params(context.program.Attentions()[command.params]), dense(context.libraries.dense()),
        threads(context.threads) {
    const ProgramView &p = context.program;
    Table<View> views = p.Views().slice(command.views);
    unsigned next = 0;
    for (ResolvedView *v : {&q, &k, &v_, &out, &mask, &sum}) {
      if ((v == &mask && !params.hasMask) || (v == &sum && !params.hasLogSumExp))
        continue;
      status = ResolvedView::make(context, views[next++], *v);
      if (!status.ok())
        return;
    }
    keyLength.addend = k.sizes[2];
    if (params.keyLength != kNone)
      keyLength = ResolvedValue(context, p.ScalarValues()[params.keyLength]);
    slot = (dense.attentionScratch(q.sizes[3], v_.sizes[3], q.dtype) + 63) / 64 * 64;
  }

  uint64_t scratchBytes() const override { return slot * threads; }

  Status run(HostStream &stream) override {
    const ResolvedView *views[] = {&q, &k, &v_, &out, &mask, &sum};
    char *bases[6] = {};
    for (unsigned i = 0; i < 6; ++i) {
      if ((i == 4 && !params.hasMask) || (i == 5 && !params.hasLogSumExp))
        continue;
      bases[i] = views[i]->address(stream);
      if (!bases[i])
        return views[i]->leaves(stream);
    }
    int64_t keys = keyLength.get(stream.scalars);
    if (keys < 0 || keys > k.sizes[2])
      return Status::user("the key length " + std::to_string(keys) + " is outside of [0, " +
                          std::to_string(k.sizes[2]) + "]");
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
        if (params.hasMask)
          problem.mask = matrix(mask, bases[4], entry, first, folded);
        if (params.hasLogSumExp) {
          problem.logSumExp = bases[5] + (entry * sum.strides[0] + first * sum.strides[1]) *
                                             int64_t(dtypeBytes(sum.dtype));
          problem.logSumExpStride = sum.strides[folded ? 1 : 2];
        }
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

  Attention params;
  const DenseKernels &dense;
  unsigned threads;
  ResolvedView q, k, v_, out, mask, sum;
  ResolvedValue keyLength;
  uint64_t slot = 0;
};

} // namespace

StepPtr weft::runtime::makeAttention(const HostContext &context, const Command &command,
                                     Status &status) {
  StepPtr step = std::make_unique<AttentionStep>(context, command, status);
  return status.ok() ? std::move(step) : nullptr;
}
