// Copies and slices, by the driver's own copies and fills of rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/commands/Rows.h"

#include "weft/runtime/CopyRows.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// Rows of one size, by their places in the arena.
struct Windows {
  int64_t from, to;              // bytes from the arena's start
  int64_t fromPitch, toPitch;    // bytes from row to row
  int64_t width = 0, height = 0; // bytes, rows
};

DevicePointer addressOf(const CudaStream &stream, int64_t offset) {
  return DevicePointer(uintptr_t(stream.arena + offset));
}

Status copyWindows(const Driver &driver, const CudaStream &stream, const Windows &windows) {
  return copyRows(driver, stream.handle, {addressOf(stream, windows.from), windows.fromPitch},
                  {addressOf(stream, windows.to), windows.toPitch}, windows.width, windows.height);
}

/// Elements of one size between strided windows.
class CopyCommand : public CudaCommand {
public:
  CopyCommand(const CudaContext &context, const Command &command) : driver(context.driver) {
    Table<View> list = context.program.Views().slice(command.views);
    ResolvedView source(context, list[0]), destination(context, list[1]);
    plan =
        planCopyRows(dtypeBytes(source.dtype), listOf(source.sizes, source.rank),
                     listOf(source.strides, source.rank), listOf(destination.strides, source.rank));
    each = {source.offset, destination.offset, plan.rows.from,
            plan.rows.to,  plan.width,         plan.rows.size};
  }

  Status check() const {
    if (plan.copies > kMostRowCopies)
      return Status::internal("a copy of " + std::to_string(plan.copies) +
                              " windows should have become a kernel");
    return {};
  }

  Status issue(CudaStream &stream) override {
    for (int64_t i = 0; i < plan.copies; ++i) {
      Windows rows = each;
      int64_t rest = i;
      for (const CopyDim &dim : plan.outer) {
        rows.from += rest % dim.size * dim.from;
        rows.to += rest % dim.size * dim.to;
        rest /= dim.size;
      }
      WEFT_TRY(copyWindows(driver, stream, rows));
    }
    return {};
  }

private:
  static std::vector<int64_t> listOf(const int64_t *values, uint32_t count) {
    return {values, values + count};
  }

  const Driver &driver;
  CopyRows plan;
  Windows each{};
};

class SliceCommand : public CudaCommand {
public:
  SliceCommand(const CudaContext &context, const Command &command, const Slice &params)
      : driver(context.driver), padBits(params.padBits) {
    const ProgramView &p = context.program;
    std::vector<int64_t> sizes, positions;
    for (uint32_t axis : p.axes(params.axes)) {
      sizes.push_back(p.MeshAxes()[axis].size);
      positions.push_back(context.coordinates[axis]);
    }
    Shard shard =
        shardOf(params.extent, {sizes.data(), sizes.size()}, {positions.data(), positions.size()});
    Table<View> views = p.Views().slice(command.views);
    ResolvedView source(context, views[0]), destination(context, views[1]);
    bytes = dtypeBytes(source.dtype);
    int64_t row = params.inner * bytes;
    kept = {source.offset + shard.start * row,
            destination.offset,
            params.extent * row,
            shard.extent * row,
            shard.valid * row,
            params.outer};
    padding = {0,
               destination.offset + shard.valid * row,
               0,
               shard.extent * row,
               (shard.extent - shard.valid) * row,
               params.outer};
  }

  Status issue(CudaStream &stream) override {
    WEFT_TRY(copyWindows(driver, stream, kept));
    return fillRows(driver, stream.handle, {addressOf(stream, padding.to), padding.toPitch},
                    padding.width / bytes, padding.height, bytes, padBits);
  }

private:
  const Driver &driver;
  uint64_t padBits;
  int64_t bytes = 1;
  Windows kept{}, padding{};
};

} // namespace

CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Copy &, Status &status) {
  auto made = std::make_unique<CopyCommand>(context, command);
  status = made->check();
  return status.ok() ? std::move(made) : nullptr;
}
CudaCommandPtr cuda::makeCudaCommand(const CudaContext &context, const Command &command,
                                     const Slice &record, Status &) {
  return std::make_unique<SliceCommand>(context, command, record);
}
