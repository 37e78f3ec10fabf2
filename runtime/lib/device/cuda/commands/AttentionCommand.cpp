// Attention and its gradient, by cuDNN.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/libraries/AttentionPlans.h"

#include "weft/runtime/CudnnAttention.h"

#include <algorithm>
#include <limits>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// Of what lies in the scratch of a stream.
constexpr uint64_t kAlignment = 256;

class AttentionCommand : public CudaCommand {
public:
  AttentionCommand(const CudaContext &context, const Command &command, const Attention &params,
                   bool isGradient, bool hasSums)
      : plans(context.attention), params(params), hasSums(hasSums), scale(float(params.scale)) {
    size_t count = isGradient ? ValueGradientPart : OutputPart;
    for (const View &view : context.program.Views().slice(command.views))
      views.emplace_back(context, view);
    if (hasSums) {
      // Behind the last operand or result of the forward pass.
      auto sums = views.begin() + (isGradient ? OutputGradientPart : OutputPart);
      givenSums = *sums;
      views.erase(sums);
    }
    hasMask = views.size() > count;
    views.resize(count);
    const ResolvedView &q = views[0], &k = views[1];
    shape.dtype = q.dtype;
    shape.causal = params.causal != 0;
    shape.isGradient = isGradient;
    shape.batch = q.sizes[0];
    shape.queryHeads = q.sizes[1];
    shape.queries = q.sizes[2];
    shape.depth = q.sizes[3];
    shape.keyHeads = k.sizes[1];
    shape.keys = k.sizes[2];
    for (size_t i = 0; i < count; ++i)
      std::copy_n(views[i].strides, 4, shape.strides[i].begin());
  }

  Status prepare() {
    AttentionCall call{{}, shape.causal, hasMask, params.softcap};
    for (const ResolvedView &view : views)
      call.tensors.push_back(
          {view.dtype, {view.sizes, view.sizes + 4}, {view.strides, view.strides + 4}});
    std::string why = whyNotCudnn(call);
    if (!why.empty())
      return Status::internal("attention should have become a kernel: " + why);
    std::vector<ResolvedView> places = views;
    if (hasSums)
      places.push_back(givenSums);
    for (const ResolvedView &view : places)
      if (view.offset % 16 != 0)
        return Status::user("cuDNN needs attention's operands at multiples of 16 bytes, and one "
                            "lies at byte " +
                            std::to_string(view.offset) +
                            "; compile the model with --attention decomposed");
    if (!hasSums)
      logSums = take(shape.rows() * sizeof(float));
    if (shape.isGradient) {
      if (!hasSums)
        WEFT_TRY(prepareLogSums());
      rowSums = take(shape.rows() * sizeof(float));
      querySums = take(shape.rows() * uint64_t(shape.depth) * sizeof(float));
    }
    return addCall(shape);
  }

  uint64_t scratchBytes() const override {
    uint64_t workspace = 0;
    for (const Call &call : calls)
      workspace = std::max(workspace, call.plan->workspaceBytes());
    return scratch + workspace;
  }

  Status issue(CudaStream &stream) override {
    for (Call &call : calls) {
      if (!call.bound) // its addresses are always the same
        WEFT_TRY(bind(call, stream));
      WEFT_TRY(call.bound->issue(stream.handle));
    }
    return {};
  }

private:
  struct Call {
    AttentionShape shape;
    const CudnnPlan *plan = nullptr;
    std::unique_ptr<CudnnCall> bound;
  };

  /// The forward pass once more, for the sums of rows; its output goes nowhere.
  Status prepareLogSums() {
    AttentionShape again = shape;
    again.isGradient = false;
    again.strides = {};
    std::copy_n(shape.strides.begin(), size_t(OutputPart - QueryPart), again.strides.begin());
    Extents dense = contiguous({shape.batch, shape.queryHeads, shape.queries, shape.depth});
    std::copy_n(dense.begin(), 4, again.strides[OutputPart - QueryPart].begin());
    outputAgain = take(shape.rows() * uint64_t(shape.depth) * dtypeBytes(shape.dtype));
    return addCall(again);
  }

  Status addCall(const AttentionShape &of) {
    calls.push_back({of, nullptr, nullptr});
    return plans.find(of, calls.back().plan);
  }

  /// Where so many bytes of the scratch begin.
  uint64_t take(uint64_t bytes) {
    uint64_t begin = scratch;
    scratch += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }

  Status bind(Call &call, const CudaStream &stream) {
    CudnnCall::Places places;
    bool isGradient = call.shape.isGradient, isAgain = shape.isGradient && !isGradient;
    for (int64_t part = QueryPart; part <= (isGradient ? ValueGradientPart : OutputPart); ++part)
      places.emplace_back(part, views[size_t(part - QueryPart)].address(stream));
    if (isAgain)
      places.back().second = stream.scratch + outputAgain;
    places.emplace_back(LogSumPart, hasSums ? givenSums.address(stream) : stream.scratch + logSums);
    places.emplace_back(ScalePart, &scale);
    if (shape.causal)
      places.emplace_back(HiddenPart, &hidden);
    if (isGradient) {
      places.emplace_back(RowSumPart, stream.scratch + rowSums);
      places.emplace_back(QuerySumPart, stream.scratch + querySums);
      places.emplace_back(OnePart, &one);
    }
    call.bound = std::make_unique<CudnnCall>(plans.library(), *call.plan);
    return call.bound->bind(places, stream.scratch + scratch);
  }

  AttentionPlans &plans;
  Attention params;
  AttentionShape shape;
  std::vector<ResolvedView> views;
  ResolvedView givenSums;
  bool hasMask = false, hasSums;
  std::vector<Call> calls; // in their order
  // Behind each other in the stream's scratch; behind them the library's own.
  uint64_t scratch = 0, logSums = 0, rowSums = 0, querySums = 0, outputAgain = 0;
  float scale, hidden = -std::numeric_limits<float>::infinity(), one = 1;
};

} // namespace

static CudaCommandPtr make(const CudaContext &context, const Command &command,
                           const Attention &record, bool isGradient, bool hasSums, Status &status) {
  auto made = std::make_unique<AttentionCommand>(context, command, record, isGradient, hasSums);
  status = made->prepare();
  return status.ok() ? std::move(made) : nullptr;
}

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Attention &record, Status &status) {
  return make(context, command, record, false, false, status);
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const AttentionGradient &record, Status &status) {
  return make(context, command, record, true, false, status);
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const AttentionWithSums &record, Status &status) {
  return make(context, command, record, false, true, status);
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const AttentionWithSumsGradient &record, Status &status) {
  return make(context, command, record, true, true, status);
}
