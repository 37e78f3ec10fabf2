// Commands that need no library: launches, copies, slices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostCommand.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// Below this many bytes another thread costs more than it moves.
constexpr int64_t kCopyGrainBytes = 64 * 1024;

class LaunchCommand : public HostCommand {
public:
  LaunchCommand(const HostContext &context, const Command &command, const Launch &launch)
      : function(context.kernels[launch.kernel]->function), extent(launch.extent),
        grain(launch.grain) {
    const ProgramView &p = context.program;
    for (const View &view : p.Views().slice(command.views))
      views.emplace_back(context, view);
    for (const ScalarValue &value : p.ScalarValues().slice(launch.scalars))
      scalars.push_back(valueOf(context, value));
    pointers.resize(views.size());
  }

  Status run(HostStream &stream) override {
    for (size_t i = 0; i < views.size(); ++i)
      pointers[i] = views[i].address(stream);
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
  std::vector<void *> pointers;
  std::vector<int64_t> scalars;
};

/// Moves elements of one size between strided windows.
class CopyCommand : public HostCommand {
public:
  CopyCommand(const HostContext &context, const Command &command, const Copy &) {
    Table<View> list = context.program.Views().slice(command.views);
    source = ResolvedView(context, list[0]);
    destination = ResolvedView(context, list[1]);
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

class SliceCommand : public HostCommand {
public:
  SliceCommand(const HostContext &context, const Command &command, const Slice &params)
      : params(params) {
    const ProgramView &p = context.program;
    std::vector<int64_t> sizes, positions;
    for (uint32_t axis : p.axes(params.axes)) {
      sizes.push_back(p.MeshAxes()[axis].size);
      positions.push_back(context.coordinates[axis]);
    }
    shard =
        shardOf(params.extent, {sizes.data(), sizes.size()}, {positions.data(), positions.size()});
    Table<View> views = p.Views().slice(command.views);
    source = ResolvedView(context, views[0]);
    destination = ResolvedView(context, views[1]);
  }

  Status run(HostStream &stream) override {
    const char *from = source.address(stream);
    char *to = destination.address(stream);
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

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Launch &record, Status &status) {
  const weft_kernel_entry &kernel = *context.kernels[record.kernel];
  if (!kernel.function) {
    status = Status::user("kernel '" + std::string(kernel.name) + "' is for " + kernel.image->chip +
                          ", not for processors; unset WEFT_DEVICE, or compile with --target cpu");
    return nullptr;
  }
  return std::make_unique<LaunchCommand>(context, command, record);
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Copy &record, Status &) {
  return std::make_unique<CopyCommand>(context, command, record);
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Slice &record, Status &) {
  return std::make_unique<SliceCommand>(context, command, record);
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &, const Command &,
                                              const EventRecord &, Status &) {
  return nullptr;
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &, const Command &,
                                              const EventWait &, Status &) {
  return nullptr;
}
HostCommandPtr weft::runtime::makeHostCommand(const HostContext &, const Command &, const Invoke &,
                                              Status &) {
  return nullptr;
}
