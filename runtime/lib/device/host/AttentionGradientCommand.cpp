// Gradient of attention: key heads over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostCommand.h"
#include "device/host/Libraries.h"

#include <algorithm>

using namespace weft::runtime;

namespace {

class AttentionGradientCommand : public HostCommand {
public:
  AttentionGradientCommand(const HostContext &context, const Command &command,
                           const Attention &params, bool hasSums)
      : params(params), dense(context.libraries.dense()), threads(context.threads) {
    Table<View> all = context.program.Views().slice(command.views);
    // The sums of rows are made again with the scores.
    constexpr uint32_t sums = kUpper + 1;
    for (uint32_t i = 0, count = 0; i < all.size(); ++i)
      if (!hasSums || i != sums)
        views[count++] = ResolvedView(context, all[i]);
    hasMask = all.size() > kMask && !hasSums;
    const ResolvedView &k = views[kKey];
    slot =
        (dense.attentionGradientScratch(k.sizes[2], k.sizes[3], views[kValue].sizes[3], k.dtype) +
         63) /
        64 * 64;
  }

  uint64_t scratchBytes() const override { return slot * threads; }

  Status run(HostStream &stream) override {
    char *bases[kMask + 1] = {};
    for (unsigned i = 0; i <= kMask; ++i)
      bases[i] = views[i].address(stream);
    const ResolvedView &q = views[kQuery], &k = views[kKey];
    int64_t keyHeads = k.sizes[1];
    int64_t sharing = q.sizes[1] / std::max<int64_t>(1, keyHeads);
    // The heads that share keys and values add up their gradients: one task.
    auto body = [&](int64_t begin, int64_t end, unsigned part) {
      for (int64_t task = begin; task < end; ++task) {
        int64_t entry = task / keyHeads, keyHead = task % keyHeads;
        auto matrix = [&](unsigned which, int64_t head) {
          const ResolvedView &view = views[which];
          int64_t offset = entry * view.strides[0] + head * view.strides[1];
          return MatrixRef{bases[which] + offset * int64_t(dtypeBytes(view.dtype)), view.dtype,
                           view.strides[2], view.strides[3]};
        };
        for (int64_t i = 0; i < sharing; ++i) {
          int64_t head = keyHead * sharing + i;
          AttentionGradientProblem problem{};
          problem.rows = q.sizes[2];
          problem.keys = k.sizes[2];
          problem.depth = q.sizes[3];
          problem.valueDepth = views[kValue].sizes[3];
          problem.q = matrix(kQuery, head);
          problem.k = matrix(kKey, keyHead);
          problem.v = matrix(kValue, keyHead);
          problem.out = matrix(kOut, head);
          problem.upper = matrix(kUpper, head);
          problem.dq = matrix(kQueryGradient, head);
          problem.dk = matrix(kKeyGradient, keyHead);
          problem.dv = matrix(kValueGradient, keyHead);
          if (hasMask)
            problem.mask = matrix(kMask, head);
          problem.scale = params.scale;
          problem.softcap = params.softcap;
          problem.causal = params.causal != 0;
          problem.firstHead = i == 0;
          problem.lastHead = i + 1 == sharing;
          dense.attentionGradient(problem, stream.scratch + part * slot);
        }
      }
    };
    stream.pool->forEach(k.sizes[0] * keyHeads, 1, body);
    return {};
  }

private:
  enum : unsigned {
    kQuery,
    kKey,
    kValue,
    kOut,
    kUpper,
    kQueryGradient,
    kKeyGradient,
    kValueGradient,
    kMask
  };
  Attention params;
  bool hasMask = false;
  const DenseKernels &dense;
  unsigned threads;
  ResolvedView views[kMask + 1];
  uint64_t slot = 0;
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const AttentionGradient &record, Status &) {
  return std::make_unique<AttentionGradientCommand>(context, command, record, false);
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const AttentionWithSumsGradient &record, Status &) {
  return std::make_unique<AttentionGradientCommand>(context, command, record, true);
}
