// Steps that need no library: launches, copies, fills, slices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/Step.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// Below this many bytes another thread costs more than it moves.
constexpr int64_t kCopyGrainBytes = 64 * 1024;

class LaunchStep : public Step {
public:
  LaunchStep(const HostContext &context, const Command &command, Status &status) {
    const ProgramView &p = context.program;
    const Launch &launch = p.Launches()[command.params];
    function = context.kernels[launch.kernel]->function;
    extent = launch.extent;
    grain = launch.grain;
    for (const View &view : p.Views().slice(command.views)) {
      views.emplace_back();
      status = ResolvedView::make(context, view, views.back());
      if (!status.ok())
        return;
    }
    for (const ScalarValue &value : p.ScalarValues().slice(launch.scalars))
      values.emplace_back(context, value);
    pointers.resize(views.size());
    scalars.resize(values.size());
  }

  Status run(HostStream &stream) override {
    for (size_t i = 0; i < views.size(); ++i) {
      pointers[i] = views[i].address(stream);
      if (!pointers[i])
        return views[i].leaves(stream);
    }
    for (size_t i = 0; i < values.size(); ++i)
      scalars[i] = values[i].get(stream.scalars);
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      function(begin, end, pointers.data(), scalars.data());
    };
    stream.pool->forEach(extent, grain, body);
    return {};
  }

private:
  weft_kernel_fn function;
  int64_t extent, grain;
  std::vector<ResolvedView> views;
  std::vector<ResolvedValue> values;
  std::vector<void *> pointers;
  std::vector<int64_t> scalars;
};

/// Moves elements of one size between strided windows.
class CopyStep : public Step {
public:
  CopyStep(const HostContext &context, const Command &command, Status &status) {
    Table<View> list = context.program.Views().slice(command.views);
    status = ResolvedView::make(context, list[0], source);
    if (status.ok())
      status = ResolvedView::make(context, list[1], destination);
    if (!status.ok())
      return;
    bytes = dtypeBytes(source.dtype);
    // Drop extents of 1 and merge dimensions that both sides pass at one go.
    for (unsigned d = 0; d < source.rank; ++d) {
      Dim dim{source.sizes[d], source.strides[d], destination.strides[d]};
      if (dim.size == 1)
        continue;
      if (!dims.empty() && dims.back().from == dim.from * dim.size &&
          dims.back().to == dim.to * dim.size) {
        dim.size *= dims.back().size;
        dims.pop_back();
      }
      dims.push_back(dim);
    }
    if (dims.empty())
      dims.push_back({1, 1, 1});
    if (dims.size() == 1)
      dims.insert(dims.begin(), {1, 0, 0});
    for (const Dim &dim : dims)
      total *= dim.size;
  }

  Status run(HostStream &stream) override {
    const char *from = source.address(stream);
    char *to = destination.address(stream);
    if (!from || !to)
      return (from ? destination : source).leaves(stream);
    if (total == 0)
      return {};
    // The outermost dimension is cut if it is wide, else the innermost one of a
    // plain copy.
    if (dims.size() == 2 && dims[0].size == 1) {
      const Dim &inner = dims[1];
      auto body = [&](int64_t begin, int64_t end, unsigned) {
        row(from + begin * inner.from * int64_t(bytes), to + begin * inner.to * int64_t(bytes),
            {end - begin, inner.from, inner.to});
      };
      stream.pool->forEach(inner.size, std::max<int64_t>(1, kCopyGrainBytes / bytes), body);
      return {};
    }
    int64_t each = std::max<int64_t>(1, total / dims[0].size * bytes);
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      for (int64_t i = begin; i < end; ++i)
        walk(1, from + i * dims[0].from * int64_t(bytes), to + i * dims[0].to * int64_t(bytes));
    };
    stream.pool->forEach(dims[0].size, std::max<int64_t>(1, kCopyGrainBytes / each), body);
    return {};
  }

private:
  struct Dim {
    int64_t size, from, to; // strides in elements
  };

  void walk(size_t d, const char *from, char *to) const {
    if (d + 1 == dims.size())
      return row(from, to, dims[d]);
    for (int64_t i = 0; i < dims[d].size; ++i)
      walk(d + 1, from + i * dims[d].from * int64_t(bytes), to + i * dims[d].to * int64_t(bytes));
  }
  template <typename T> static void strided(const char *from, char *to, const Dim &dim) {
    const T *in = reinterpret_cast<const T *>(from);
    T *out = reinterpret_cast<T *>(to);
    for (int64_t i = 0; i < dim.size; ++i)
      out[i * dim.to] = in[i * dim.from];
  }
  void row(const char *from, char *to, const Dim &dim) const {
    // Windows of one buffer may overlap exactly; memmove is right then.
    if (dim.from == 1 && dim.to == 1) {
      std::memmove(to, from, size_t(dim.size) * bytes);
      return;
    }
    switch (bytes) {
    case 1:
      return strided<uint8_t>(from, to, dim);
    case 2:
      return strided<uint16_t>(from, to, dim);
    case 4:
      return strided<uint32_t>(from, to, dim);
    default:
      return strided<uint64_t>(from, to, dim);
    }
  }

  ResolvedView source, destination;
  unsigned bytes = 1;
  std::vector<Dim> dims;
  int64_t total = 1;
};

void fillRun(char *to, int64_t count, uint64_t bits, unsigned bytes) {
  if (bits == 0) {
    std::memset(to, 0, size_t(count) * bytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * bytes, &bits, bytes); // little-endian: the low bytes
}

class FillStep : public Step {
public:
  FillStep(const HostContext &context, const Command &command, Status &status)
      : bits(context.program.Fills()[command.params].bits) {
    status = ResolvedView::make(context, context.program.Views()[command.views.begin], view);
  }

  Status run(HostStream &stream) override {
    char *to = view.address(stream);
    if (!to)
      return view.leaves(stream);
    unsigned bytes = dtypeBytes(view.dtype);
    int64_t count = view.numElements();
    if (count == 0)
      return {};
    if (view.isRowMajor()) {
      auto body = [&](int64_t begin, int64_t end, unsigned) {
        fillRun(to + begin * bytes, end - begin, bits, bytes);
      };
      stream.pool->forEach(count, std::max<int64_t>(1, kCopyGrainBytes / bytes), body);
      return {};
    }
    int64_t index[kMaxTensorRank] = {};
    while (true) {
      int64_t offset = 0;
      for (unsigned d = 0; d < view.rank; ++d)
        offset += index[d] * view.strides[d];
      fillRun(to + offset * int64_t(bytes), 1, bits, bytes);
      unsigned d = view.rank;
      while (d > 0 && ++index[d - 1] == view.sizes[d - 1])
        index[--d] = 0;
      if (d == 0)
        return {};
    }
  }

private:
  ResolvedView view;
  uint64_t bits;
};

class SliceStep : public Step {
public:
  SliceStep(const HostContext &context, const Command &command, Status &status)
      : params(context.program.Slices()[command.params]) {
    const ProgramView &p = context.program;
    std::vector<int64_t> sizes, positions;
    for (uint32_t axis : p.axes(params.axes)) {
      sizes.push_back(p.MeshAxes()[axis].size);
      positions.push_back(context.coordinates[axis]);
    }
    shard =
        shardOf(params.extent, {sizes.data(), sizes.size()}, {positions.data(), positions.size()});
    Table<View> views = p.Views().slice(command.views);
    status =
        ResolvedView::make(context, views[0], source, params.outer * params.extent * params.inner);
    if (status.ok())
      status = ResolvedView::make(context, views[1], destination,
                                  params.outer * shard.extent * params.inner);
  }

  Status run(HostStream &stream) override {
    const char *from = source.address(stream);
    char *to = destination.address(stream);
    if (!from || !to)
      return (from ? destination : source).leaves(stream);
    unsigned bytes = dtypeBytes(source.dtype);
    int64_t row = params.inner * bytes;
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      for (int64_t o = begin; o < end; ++o) {
        char *target = to + o * shard.extent * row;
        std::memcpy(target, from + (o * params.extent + shard.start) * row,
                    size_t(shard.valid * row));
        fillRun(target + shard.valid * row, (shard.extent - shard.valid) * params.inner,
                params.padBits, bytes);
      }
    };
    int64_t each = std::max<int64_t>(1, shard.extent * row);
    stream.pool->forEach(params.outer, std::max<int64_t>(1, kCopyGrainBytes / each), body);
    return {};
  }

private:
  Slice params;
  Shard shard;
  ResolvedView source, destination;
};

template <typename T>
StepPtr make(const HostContext &context, const Command &command, Status &status) {
  StepPtr step = std::make_unique<T>(context, command, status);
  return status.ok() ? std::move(step) : nullptr;
}

} // namespace

StepPtr weft::runtime::makeLaunch(const HostContext &context, const Command &command,
                                  Status &status) {
  return make<LaunchStep>(context, command, status);
}
StepPtr weft::runtime::makeCopy(const HostContext &context, const Command &command,
                                Status &status) {
  return make<CopyStep>(context, command, status);
}
StepPtr weft::runtime::makeFill(const HostContext &context, const Command &command,
                                Status &status) {
  return make<FillStep>(context, command, status);
}
StepPtr weft::runtime::makeSlice(const HostContext &context, const Command &command,
                                 Status &status) {
  return make<SliceStep>(context, command, status);
}
