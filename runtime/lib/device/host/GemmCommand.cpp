// Matrix products: batches and tiles over the rank's threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostCommand.h"
#include "device/host/Libraries.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// A view of [b.., i, j] as matrices, one per batch entry.
struct BatchedMatrix {
  ResolvedView view;

  MatrixRef at(const char *base, const int64_t *index, unsigned batch) const {
    int64_t offset = 0;
    for (unsigned d = 0; d < batch; ++d)
      offset += index[d] * view.strides[d];
    return {base + offset * int64_t(dtypeBytes(view.dtype)), view.dtype, view.strides[batch],
            view.strides[batch + 1]};
  }
};

/// Below this many multiplications (some 8 microseconds) another thread does
/// not pay.
constexpr int64_t kGrain = 512 * 1024;

class GemmCommand : public HostCommand {
public:
  GemmCommand(const HostContext &context, const Command &command, const Gemm &)
      : dense(context.libraries.dense()), threads(context.threads) {
    Table<View> views = productViews(context, command);
    unsigned next = 0;
    for (BatchedMatrix *m : {&a, &b, &c})
      m->view = ResolvedView(context, views[next++]);
    for (; next < views.size(); ++next)
      addends[numAddends++].view = ResolvedView(context, views[next]);
    batch = c.view.rank - 2;
    turnIfByColumns();
    m = c.view.sizes[batch];
    n = c.view.sizes[batch + 1];
    k = a.view.sizes[batch + 1];
    entries = 1;
    for (unsigned d = 0; d < batch; ++d)
      entries *= c.view.sizes[d];
    plan();
  }

  uint64_t scratchBytes() const override { return slot * threads; }

  Status run(HostStream &stream) override {
    const char *bases[] = {a.view.address(stream), b.view.address(stream), c.view.address(stream)};
    const char *added[kMostAddends] = {};
    for (unsigned i = 0; i < numAddends; ++i)
      added[i] = addends[i].view.address(stream);
    int64_t tasks = entries * rowParts * columnParts;
    auto body = [&](int64_t begin, int64_t end, unsigned part) {
      for (int64_t task = begin; task < end; ++task) {
        int64_t rest = task;
        int64_t column = rest % columnParts * columnsEach;
        rest /= columnParts;
        int64_t row = rest % rowParts * rowsEach;
        rest /= rowParts;
        int64_t index[kMaxTensorRank];
        for (unsigned d = batch; d-- > 0; rest /= c.view.sizes[d])
          index[d] = rest % c.view.sizes[d];
        GemmProblem problem{m,
                            n,
                            k,
                            a.at(bases[0], index, batch),
                            b.at(bases[1], index, batch),
                            c.at(bases[2], index, batch),
                            {}};
        for (unsigned i = 0; i < numAddends; ++i)
          problem.addends[i] = addends[i].at(added[i], index, batch);
        one(problem, row, column, stream.scratch + part * slot);
      }
    };
    stream.pool->forEach(tasks, 1, body);
    return {};
  }

private:
  static void advance(MatrixRef &ref, int64_t rows, int64_t columns) {
    ref.data += (rows * ref.row + columns * ref.column) * int64_t(dtypeBytes(ref.dtype));
  }

  /// A result that lies by columns is that of the turned operands by rows, of the same sums.
  void turnIfByColumns() {
    if (c.view.strides[batch + 1] == 1 || c.view.strides[batch] != 1)
      return;
    std::swap(a, b);
    auto turn = [&](BatchedMatrix &matrix) {
      std::swap(matrix.view.sizes[batch], matrix.view.sizes[batch + 1]);
      std::swap(matrix.view.strides[batch], matrix.view.strides[batch + 1]);
    };
    for (BatchedMatrix *matrix : {&a, &b, &c})
      turn(*matrix);
    for (unsigned i = 0; i < numAddends; ++i)
      turn(addends[i]);
  }

  /// Cuts each product so that all threads have work; never along k.
  void plan() {
    // The fewest parts that come out even, as every part packs operands anew.
    int64_t most = std::max<int64_t>(1, m * n * k / kGrain);
    int64_t wanted = 1;
    while (wanted < most && entries * wanted < 4 * int64_t(threads) &&
           entries * wanted % threads != 0)
      ++wanted;
    auto cut = [](int64_t extent, int64_t parts, int64_t tile) {
      int64_t each = (extent + parts - 1) / parts;
      return std::max<int64_t>(tile, (each + tile - 1) / tile * tile);
    };
    // Cutting the longer side copies less of the other one.
    rowsEach = m >= n ? cut(m, wanted, dense.tileRows) : std::max<int64_t>(1, m);
    columnsEach = m >= n ? std::max<int64_t>(1, n) : cut(n, wanted, dense.tileColumns);
    rowParts = (m + rowsEach - 1) / rowsEach;
    columnParts = (n + columnsEach - 1) / columnsEach;
    slot = dense.gemmScratch(std::min(m, rowsEach), std::min(n, columnsEach), k, a.view.dtype,
                             c.view.dtype);
  }

  /// The part of a whole product that begins at this row and column.
  void one(GemmProblem &problem, int64_t row, int64_t column, char *scratch) const {
    problem.m = std::min(rowsEach, m - row);
    problem.n = std::min(columnsEach, n - column);
    advance(problem.a, row, 0);
    advance(problem.b, 0, column);
    advance(problem.c, row, column);
    for (unsigned i = 0; i < numAddends; ++i)
      advance(problem.addends[i], row, column);
    dense.gemm(problem, scratch);
  }

  const DenseKernels &dense;
  unsigned threads;
  BatchedMatrix a, b, c, addends[kMostAddends];
  unsigned numAddends = 0;
  unsigned batch = 0;
  int64_t m = 0, n = 0, k = 0, entries = 1;
  int64_t rowsEach = 1, columnsEach = 1, rowParts = 1, columnParts = 1;
  uint64_t slot = 0; // scratch bytes of one thread
};

} // namespace

HostCommandPtr weft::runtime::makeHostCommand(const HostContext &context, const Command &command,
                                              const Gemm &record, Status &) {
  return std::make_unique<GemmCommand>(context, command, record);
}
