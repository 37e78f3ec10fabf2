// Copies and slices, by the driver's own copies and fills of rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/CudaCommand.h"

#include <algorithm>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// Copies of rows that one command may take: what needs more is a kernel's work.
constexpr int64_t kMostCopies = 256;

/// Rows of `width` bytes, by their places in the arena.
struct Rows {
  int64_t from, to;              // bytes from the arena's start
  int64_t fromPitch, toPitch;    // bytes from row to row
  int64_t width = 0, height = 0; // bytes, rows
};

Status copyRows(const Driver &driver, const CudaStream &stream, const Rows &rows) {
  if (rows.width == 0 || rows.height == 0)
    return {};
  Copy2D copy{};
  copy.sourceKind = copy.destinationKind = DeviceMemory;
  copy.sourceDevice = DevicePointer(uintptr_t(stream.arena + rows.from));
  copy.destinationDevice = DevicePointer(uintptr_t(stream.arena + rows.to));
  copy.sourcePitch = size_t(rows.fromPitch);
  copy.destinationPitch = size_t(rows.toPitch);
  copy.width = size_t(rows.width);
  copy.height = size_t(rows.height);
  return driver.check(driver.copy2D(&copy, stream.handle), "copying rows");
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
      Rows rows = each;
      int64_t rest = i;
      for (size_t d = 1; d < dims.size(); ++d) {
        rows.from += rest % dims[d].size * dims[d].from;
        rows.to += rest % dims[d].size * dims[d].to;
        rest /= dims[d].size;
      }
      WEFT_TRY(copyRows(driver, stream, rows));
    }
    return {};
  }

private:
  struct Dim {
    int64_t size, from, to; // strides in bytes
  };
  const Driver &driver;
  std::vector<Dim> dims; // bytes, and those that copies repeat over
  Rows each{};
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
    WEFT_TRY(copyRows(driver, stream, kept));
    if (padding.width == 0 || padding.height == 0)
      return {};
    DevicePointer to(uintptr_t(stream.arena + padding.to));
    size_t pitch = size_t(padding.toPitch), height = size_t(padding.height);
    size_t count = size_t(padding.width / bytes);
    return driver.check(fill(stream.handle, to, pitch, count, height), "filling padding");
  }

private:
  Result fill(Stream stream, DevicePointer to, size_t pitch, size_t count, size_t height) const {
    uint32_t low = uint32_t(padBits), high = uint32_t(padBits >> 32);
    if (bytes == 1)
      return driver.fill8(to, pitch, uint8_t(padBits), count, height, stream);
    if (bytes == 2)
      return driver.fill16(to, pitch, uint16_t(padBits), count, height, stream);
    if (bytes == 4)
      return driver.fill32(to, pitch, low, count, height, stream);
    if (low == high)
      return driver.fill32(to, pitch, low, 2 * count, height, stream);
    // Each half of the elements in rows of its own: one of a row of `height` at a time.
    for (size_t row = 0; row < height; ++row)
      for (uint32_t half : {0u, 1u})
        if (Result failed =
                driver.fill32(to + row * pitch + 4 * half, 8, half ? high : low, 1, count, stream))
          return failed;
    return Success;
  }

  const Driver &driver;
  uint64_t padBits;
  int64_t bytes = 1;
  Rows kept{}, padding{};
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
