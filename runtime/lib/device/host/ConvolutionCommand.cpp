// Convolutions: boxes of output positions and channels over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostCommand.h"
#include "device/host/Libraries.h"

#include <algorithm>
#include <numeric>

using namespace weft::runtime;

namespace {

/// Along one dim: outputs first, first + step, ... meet taps tap, tap +
/// tapStep, ... of an input that is dilated by `step`; as a convolution of the
/// input itself.
struct Residue {
  int64_t first, outputs, tap, tapStep, taps, dilation, pad;
};

/// Outputs by their residue modulo the input's dilation: each has taps of its
/// own that fall on elements, all others fall between.
std::vector<Residue> residuesOf(int64_t outputs, int64_t taps, int64_t dilation,
                                int64_t inputDilation, int64_t pad) {
  std::vector<Residue> all;
  int64_t divisor = std::gcd(dilation, inputDilation);
  for (int64_t r = 0; r < std::min(outputs, inputDilation); ++r) {
    Residue one{r, (outputs - r + inputDilation - 1) / inputDilation,
                0, inputDilation / divisor,
                0, dilation / divisor,
                0};
    auto place = [&](int64_t tap) { return r + tap * dilation - pad; };
    while (one.tap < std::min(taps, one.tapStep) && place(one.tap) % inputDilation != 0)
      ++one.tap;
    if (one.tap < std::min(taps, one.tapStep)) {
      one.taps = (taps - one.tap + one.tapStep - 1) / one.tapStep;
      one.pad = -place(one.tap) / inputDilation;
    } else {
      one.tap = 0;
    }
    all.push_back(one);
  }
  return all;
}

class ConvolutionCommand : public HostCommand {
public:
  ConvolutionCommand(const HostContext &context, const Command &command, const Convolution &params)
      : params(params), dense(context.libraries.dense()), threads(context.threads) {
    Table<View> views = context.program.Views().slice(command.views);
    input = ResolvedView(context, views[0]);
    weight = ResolvedView(context, views[1]);
    output = ResolvedView(context, views[2]);
    makeProblems(context.program);
    cut();
  }

  uint64_t scratchBytes() const override { return slot * threads; }

  Status run(HostStream &stream) override {
    char *const bases[] = {input.address(stream), weight.address(stream), output.address(stream)};
    auto body = [&](int64_t begin, int64_t end, unsigned part) {
      for (int64_t task = begin; task < end; ++task)
        one(bases, task, stream.scratch + part * slot);
    };
    stream.pool->forEach(tasks, 1, body);
    return {};
  }

private:
  /// A problem, where its tensors begin in elements, and how it is cut.
  struct Piece {
    ConvolutionProblem problem{};
    int64_t weightOffset = 0, outputOffset = 0;
    int64_t boxes[4];
  };

  void makeProblems(const ProgramView &p) {
    unsigned spatial = input.rank - 2, unused = 3 - spatial;
    std::vector<Residue> residues[3];
    ConvolutionProblem common{};
    common.images = input.sizes[0];
    common.channels = input.sizes[1] / params.groups;
    common.outputs = output.sizes[1] / params.groups;
    auto place = [&](ImageRef &ref, const ResolvedView &view) {
      ref.dtype = view.dtype;
      ref.strides[0] = view.strides[0];
      ref.strides[1] = view.strides[1];
      for (unsigned d = 0; d < spatial; ++d)
        ref.strides[2 + unused + d] = view.strides[2 + d];
    };
    place(common.input, input);
    place(common.weight, weight);
    place(common.output, output);
    for (unsigned d = 0; d < 3; ++d) {
      common.in[d] = common.stride[d] = 1;
      residues[d] = {{0, 1, 0, 1, 1, 1, 0}};
      if (d < unused)
        continue;
      unsigned from = d - unused;
      common.in[d] = input.sizes[2 + from];
      common.stride[d] = p.ints(params.strides)[from];
      residues[d] =
          residuesOf(output.sizes[2 + from], weight.sizes[2 + from], p.ints(params.dilations)[from],
                     p.ints(params.inputDilations)[from], p.ints(params.padsBegin)[from]);
    }
    for (const Residue &a : residues[0])
      for (const Residue &b : residues[1])
        for (const Residue &c : residues[2]) {
          Piece piece;
          piece.problem = common;
          const Residue *along[] = {&a, &b, &c};
          for (unsigned d = 0; d < 3; ++d) {
            const Residue &r = *along[d];
            ConvolutionProblem &problem = piece.problem;
            piece.weightOffset += r.tap * problem.weight.strides[2 + d];
            piece.outputOffset += r.first * problem.output.strides[2 + d];
            problem.weight.strides[2 + d] *= r.tapStep;
            problem.output.strides[2 + d] *= int64_t(residues[d].size());
            problem.out[d] = r.outputs;
            problem.taps[d] = r.taps;
            problem.dilation[d] = r.dilation;
            problem.pad[d] = r.pad;
          }
          pieces.push_back(piece);
        }
  }

  /// Tasks are boxes of positions, times rows where these are too few.
  void cut() {
    int64_t boxes = 0, outputs = pieces.front().problem.outputs;
    for (Piece &piece : pieces) {
      ConvolutionProblem &p = piece.problem;
      dense.planConvolution(p);
      int64_t count = 1;
      for (unsigned d = 0; d < 4; ++d) {
        int64_t extent = d ? p.out[d - 1] : p.images;
        piece.boxes[d] = (extent + p.columns[d] - 1) / p.columns[d];
        count *= piece.boxes[d];
      }
      boxes += count;
    }
    // Groups that follow each other share what is known of a box.
    groupParts = std::clamp<int64_t>(
        (8 * int64_t(threads) + boxes - 1) / std::max<int64_t>(boxes, 1), 1, params.groups);
    groupsEach = (params.groups + groupParts - 1) / groupParts;
    groupParts = (params.groups + groupsEach - 1) / groupsEach;
    boxes *= groupParts;
    // Each part of the rows gathers the columns anew.
    int64_t most = std::max<int64_t>(1, outputs / (4 * dense.tileRows));
    int64_t wanted = 1;
    while (wanted < most && boxes * wanted < 4 * int64_t(threads) && boxes * wanted % threads != 0)
      ++wanted;
    rowsEach = (outputs + wanted - 1) / wanted;
    rowsEach = (rowsEach + dense.tileRows - 1) / dense.tileRows * dense.tileRows;
    rowParts = std::max<int64_t>(1, (outputs + rowsEach - 1) / rowsEach);
    tasks = boxes * rowParts;
    for (const Piece &piece : pieces)
      slot = std::max(slot, dense.convolutionScratch(piece.problem, std::min(outputs, rowsEach)));
  }

  void one(char *const *bases, int64_t task, char *scratch) const {
    int64_t rows = task % rowParts;
    task /= rowParts;
    int64_t groups = task % groupParts;
    task /= groupParts;
    const Piece *piece = pieces.data();
    auto boxesOf = [](const Piece &p) { return p.boxes[0] * p.boxes[1] * p.boxes[2] * p.boxes[3]; };
    for (; task >= boxesOf(*piece); ++piece)
      task -= boxesOf(*piece);
    ConvolutionPart part;
    for (unsigned d = 4; d-- > 0; task /= piece->boxes[d])
      part.column[d] = task % piece->boxes[d] * piece->problem.columns[d];
    ConvolutionProblem problem = piece->problem;
    part.firstGroup = groups * groupsEach;
    part.lastGroup = std::min<int64_t>(params.groups, part.firstGroup + groupsEach);
    part.firstRow = rows * rowsEach;
    part.lastRow = std::min(problem.outputs, part.firstRow + rowsEach);
    int64_t bytes = dtypeBytes(input.dtype);
    problem.input.data = bases[0];
    problem.weight.data = bases[1] + piece->weightOffset * bytes;
    problem.output.data = bases[2] + piece->outputOffset * bytes;
    dense.convolution(problem, part, scratch);
  }

  Convolution params;
  const DenseKernels &dense;
  unsigned threads;
  ResolvedView input, weight, output;
  std::vector<Piece> pieces;
  int64_t groupsEach = 1, groupParts = 1, rowsEach = 1, rowParts = 1, tasks = 0;
  uint64_t slot = 0; // scratch bytes of one thread
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Convolution &record, Status &) {
  return std::make_unique<ConvolutionCommand>(context, command, record);
}
