// Convolutions as products of the weight with gathered columns of the input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Convert.h"
#include "Executor.h"
#include "Libraries.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

constexpr unsigned kMaxSpatial = 3;

class ConvolutionStep : public Step {
public:
  ConvolutionStep(const PrepareContext &context, const Command &command,
                  Status &status)
      : params(context.program.Convolutions()[command.params]),
        dense(context.libraries.dense()), threads(context.threads) {
    const ProgramView &p = context.program;
    Table<View> views = p.Views().slice(command.views);
    ResolvedView *list[] = {&input, &weight, &output, &bias};
    for (unsigned i = 0; i < views.size(); ++i) {
      status = ResolvedView::make(context, views[i], *list[i]);
      if (!status.ok())
        return;
    }
    spatial = input.rank - 2;
    kernelSize = positions = 1;
    for (unsigned d = 0; d < spatial; ++d) {
      stride[d] = p.ints(params.strides)[d];
      dilation[d] = p.ints(params.dilations)[d];
      pad[d] = p.ints(params.padsBegin)[d];
      kernelSize *= weight.sizes[2 + d];
      positions *= output.sizes[2 + d];
    }
    inChannels = input.sizes[1] / params.groups;
    outChannels = output.sizes[1] / params.groups;
    depth = inChannels * kernelSize;
    // The weight of a group as a matrix [outChannels, depth]: a plain window if
    // it is row-major and not transposed, else copied into the scratch.
    bytes = dtypeBytes(input.dtype);
    int64_t row = std::max<int64_t>(1, depth) * bytes;
    columns =
        std::max(dense.tileColumns,
                 kColumnBytes / row / dense.tileColumns * dense.tileColumns);
    // Parts for all threads even where there are few images and groups.
    int64_t pairs = std::max<int64_t>(1, input.sizes[0] * params.groups);
    int64_t wanted = (int64_t(threads) + pairs - 1) / pairs;
    columns = std::max<int64_t>(
        1, std::min(columns, (positions + wanted - 1) / wanted));
    columnBytes = alignUp(uint64_t(columns * row));
    uint64_t product =
        dense.gemmScratch(outChannels, columns, depth, input.dtype);
    slot = columnBytes + alignUp(product);
    packedBytes = weight.isRowMajor() && !params.transposed
                      ? 0
                      : alignUp(uint64_t(output.sizes[1]) * row);
  }

  uint64_t scratchBytes() const override {
    return packedBytes + slot * threads;
  }

  Status run(StreamContext &stream) override {
    const ResolvedView *views[] = {&input, &weight, &output, &bias};
    char *bases[4] = {};
    for (unsigned i = 0; i < (params.hasBias ? 4u : 3u); ++i) {
      bases[i] = views[i]->address(stream);
      if (!bases[i])
        return views[i]->leaves(stream);
    }
    const char *matrix = bases[1];
    if (packedBytes != 0) {
      packWeight(bases[1], stream.scratch, *stream.pool);
      matrix = stream.scratch;
    }
    int64_t blocks = (positions + columns - 1) / columns;
    auto body = [&](int64_t begin, int64_t end, unsigned part) {
      char *scratch = stream.scratch + packedBytes + part * slot;
      for (int64_t task = begin; task < end; ++task) {
        int64_t block = task % blocks;
        int64_t group = task / blocks % params.groups;
        int64_t image = task / blocks / params.groups;
        product(bases, matrix, image, group, block * columns, scratch);
      }
    };
    stream.pool->forEach(input.sizes[0] * params.groups * blocks, 1, body);
    return {};
  }

private:
  /// Gathered columns of about this size stay in the second-level cache.
  static constexpr int64_t kColumnBytes = 512 * 1024;
  static uint64_t alignUp(uint64_t value) { return (value + 63) / 64 * 64; }

  // Row (group, m), column (c, kernel position); a transposed weight is
  // [c of all groups, m of a group, kernel].
  void packWeight(const char *from, char *to, ThreadPool &pool) const {
    auto body = [&](int64_t begin, int64_t end, unsigned) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t group = row / outChannels, m = row % outChannels;
        for (int64_t c = 0; c < inChannels; ++c) {
          int64_t first = params.transposed ? group * inChannels + c : row;
          int64_t second = params.transposed ? m : c;
          for (int64_t x = 0; x < kernelSize; ++x) {
            int64_t offset =
                first * weight.strides[0] + second * weight.strides[1];
            int64_t rest = x;
            for (unsigned d = spatial; d-- > 0; rest /= weight.sizes[2 + d])
              offset += rest % weight.sizes[2 + d] * weight.strides[2 + d];
            std::memcpy(to + (row * depth + c * kernelSize + x) * bytes,
                        from + offset * bytes, size_t(bytes));
          }
        }
      }
    };
    pool.forEach(output.sizes[1], 16, body);
  }

  /// Where output position `at` reads the input through kernel offset `kernel`
  /// along dimension d, or -1.
  int64_t source(unsigned d, int64_t at, int64_t kernel) const {
    int64_t index;
    if (params.transposed) {
      int64_t scaled = at + pad[d] - kernel * dilation[d];
      if (scaled < 0 || scaled % stride[d] != 0)
        return -1;
      index = scaled / stride[d];
    } else {
      index = at * stride[d] - pad[d] + kernel * dilation[d];
    }
    return index >= 0 && index < input.sizes[2 + d] ? index : -1;
  }

  /// A run whose input elements lie side by side: zeros, a copy, zeros.
  template <typename T>
  void gatherRun(const T *in, int64_t column, int64_t kernel, int64_t count,
                 T *out) const {
    unsigned last = spatial - 1;
    int64_t first = column - pad[last] + kernel * dilation[last];
    int64_t begin = std::clamp<int64_t>(-first, 0, count);
    int64_t end =
        std::clamp<int64_t>(input.sizes[2 + last] - first, begin, count);
    std::fill(out, out + begin, T(0));
    if (begin < end)
      std::memcpy(out + begin, in + first + begin,
                  size_t(end - begin) * sizeof(T));
    std::fill(out + end, out + count, T(0));
  }

  template <typename T>
  void gather(const char *base, int64_t first, int64_t count, char *to) const {
    const T *in = reinterpret_cast<const T *>(base);
    T *out = reinterpret_cast<T *>(to);
    unsigned last = spatial - 1;
    int64_t width = output.sizes[2 + last];
    bool plain =
        !params.transposed && stride[last] == 1 && input.strides[2 + last] == 1;
    for (int64_t c = 0; c < inChannels; ++c)
      for (int64_t x = 0; x < kernelSize; ++x, out += count) {
        int64_t kernel[kMaxSpatial], rest = x;
        for (unsigned d = spatial; d-- > 0; rest /= weight.sizes[2 + d])
          kernel[d] = rest % weight.sizes[2 + d];
        // Runs along the last spatial dimension share all other indices.
        for (int64_t done = 0; done < count;) {
          int64_t at = first + done;
          int64_t column = at % width;
          int64_t run = std::min(width - column, count - done);
          int64_t offset = c * input.strides[1];
          bool inside = true;
          rest = at / width;
          for (unsigned d = last; d-- > 0; rest /= output.sizes[2 + d]) {
            int64_t index = source(d, rest % output.sizes[2 + d], kernel[d]);
            inside &= index >= 0;
            offset += index * input.strides[2 + d];
          }
          if (inside && plain)
            gatherRun(in + offset, column, kernel[last], run, out + done);
          else
            for (int64_t i = 0; i < run; ++i) {
              int64_t index =
                  inside ? source(last, column + i, kernel[last]) : -1;
              out[done + i] = index >= 0
                                  ? in[offset + index * input.strides[2 + last]]
                                  : T(0);
            }
          done += run;
        }
      }
  }

  void product(char *const *bases, const char *matrix, int64_t image,
               int64_t group, int64_t first, char *scratch) const {
    int64_t count = std::min(columns, positions - first);
    const char *from = bases[0] + (image * input.strides[0] +
                                   group * inChannels * input.strides[1]) *
                                      bytes;
    // The low dtypes are gathered as they are and widened by the product.
    if (bytes == 8)
      gather<uint64_t>(from, first, count, scratch);
    else if (bytes == 4)
      gather<uint32_t>(from, first, count, scratch);
    else
      gather<uint16_t>(from, first, count, scratch);
    GemmProblem problem{};
    problem.m = outChannels;
    problem.n = count;
    problem.k = depth;
    problem.a = {matrix + group * outChannels * depth * bytes, input.dtype,
                 depth, 1};
    problem.b = {scratch, input.dtype, count, 1};
    problem.alpha = 1.0;
    problem.activation = params.activation;
    if (params.hasBias)
      problem.bias = {bases[3] + group * outChannels * bias.strides[0] * bytes,
                      input.dtype, bias.strides[0], 0};
    char *to = bases[2] + (image * output.strides[0] +
                           group * outChannels * output.strides[1]) *
                              bytes;
    // Output positions are one index only if the spatial dimensions are dense;
    // else the product is written row by row of the last dimension.
    unsigned last = spatial - 1;
    int64_t width = output.sizes[2 + last];
    bool denseOutput = true;
    for (unsigned d = 0; d < last; ++d)
      denseOutput &=
          output.strides[2 + d] == output.strides[3 + d] * output.sizes[3 + d];
    for (int64_t done = 0; done < count;) {
      int64_t at = first + done;
      int64_t run =
          denseOutput ? count : std::min(width - at % width, count - done);
      int64_t offset = 0, rest = at;
      for (unsigned d = spatial; d-- > 0; rest /= output.sizes[2 + d])
        offset += rest % output.sizes[2 + d] * output.strides[2 + d];
      GemmProblem part = problem;
      part.n = run;
      part.b.data += done * bytes;
      part.c = {to + offset * bytes, input.dtype, output.strides[1],
                output.strides[2 + last]};
      dense.gemm(part, scratch + columnBytes);
      done += run;
    }
  }

  Convolution params;
  const DenseKernels &dense;
  unsigned threads;
  ResolvedView input, weight, output, bias;
  unsigned spatial = 1;
  int64_t stride[kMaxSpatial], dilation[kMaxSpatial], pad[kMaxSpatial];
  int64_t kernelSize = 1, positions = 1, inChannels = 1, outChannels = 1;
  int64_t depth = 1, bytes = 4, columns = 1;
  uint64_t columnBytes = 0, slot = 0, packedBytes = 0;
};

} // namespace

StepPtr weft::runtime::makeConvolution(const PrepareContext &context,
                                       const Command &command, Status &status) {
  StepPtr step = std::make_unique<ConvolutionStep>(context, command, status);
  return status.ok() ? std::move(step) : nullptr;
}
