// Copies and slices, by the driver's own copies and fills of rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/commands/Rows.h"

#include <algorithm>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// Copies of rows that one command may take: what needs more is a kernel's work.
constexpr int64_t kMostCopies = 256;

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
    int64_t bytes = dtypeBytes(source.dtype);
    // Bytes are the innermost dim, and dims that both sides pass at one go are merged.
    dims.push_back({bytes, 1, 1});
    for (unsigned d = source.rank; d-- > 0;) {
      Dim dim{source.sizes[d], source.strides[d] * bytes, destination.strides[d] * bytes};
      Dim &inner = dims.back();
      if (dim.size == 1)
        continue;
      if (dim.from == inner.from * inner.size && dim.to == inner.to * inner.size)
        inner.size *= dim.size;
      else
        dims.push_back(dim);
    }
    // Rows that lie in each other, as windows do, are copied one by one.
    auto areApart = [&](const Dim &dim) {
      return dim.from >= dims[0].size && dim.to >= dims[0].size;
    };
    auto found = std::find_if(dims.begin() + 1, dims.end(), areApart);
    Dim rows{1, dims[0].size, dims[0].size};
    if (found != dims.end()) {
      rows = *found;
      dims.erase(found);
    }
    each = {source.offset, destination.offset, rows.from, rows.to, dims[0].size, rows.size};
    for (size_t d = 1; d < dims.size(); ++d)
      copies *= dims[d].size;
    if (source.numElements() == 0)
      copies = 0;
  }

  Status check() const {
    if (copies > kMostCopies)
      return Status::internal("a copy of " + std::to_string(copies) +
                              " windows should have become a kernel");
    return {};
  }

  Status issue(CudaStream &stream) override {
    for (int64_t i = 0; i < copies; ++i) {
      Windows rows = each;
      int64_t rest = i;
      for (size_t d = 1; d < dims.size(); ++d) {
        rows.from += rest % dims[d].size * dims[d].from;
        rows.to += rest % dims[d].size * dims[d].to;
        rest /= dims[d].size;
      }
      WEFT_TRY(copyWindows(driver, stream, rows));
    }
    return {};
  }

private:
  struct Dim {
    int64_t size, from, to; // strides in bytes
  };
  const Driver &driver;
  std::vector<Dim> dims; // bytes, and those that copies repeat over
  Windows each{};
  int64_t copies = 1;
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
