// What each chunk of a pipeline is, takes and holds: read off the program that was cut.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageRows.h"

#include "weft/Pipeline/Simulate.h"

using namespace mlir;

namespace weft::dist {

namespace {

class RowWriter {
public:
  RowWriter(func::FuncOp program, StageAssignment &chunks, const Mesh &mesh,
            ArrayRef<int32_t> place)
      : program(program), chunks(chunks), mesh(mesh), place(place), rows(place.size()) {}

  std::vector<ChunkRow> run() {
    for (auto [row, stage] : llvm::zip_equal(rows, place))
      row.stage = stage;
    for (Operation *op : chunks.line()) {
      ChunkRow &row = rows[size_t(chunks.of(op).front())];
      row.last = nodeName(op);
      if (row.first.empty())
        row.first = row.last;
      for (Value result : op->getResults())
        addReceivers(result, chunks.of(op).front());
    }
    for (BlockArgument argument : program.getArguments())
      addState(argument);
    for (Operation &op : program.getBody().front().without_terminator())
      addGradients(&op);
    return std::move(rows);
  }

private:
  /// Of one device, in one microbatch.
  int64_t localBytes(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bytes = elementBytes(type.getElementType());
    for (int64_t extent : localShape(mesh, getPlacement(type).getValue()))
      bytes *= extent;
    return bytes;
  }

  /// A stage gets a value once, for the first of its chunks that reads it.
  void addReceivers(Value value, int64_t maker) {
    ChunkSet readers;
    for (Operation *reader : value.getUsers())
      if (!reader->hasTrait<OpTrait::IsTerminator>() &&
          chunks.classOf(reader) == StageClass::Activation)
        readers.push_back(chunks.of(reader).front());
    llvm::sort(readers);
    SmallVector<int32_t> having = {place[size_t(maker)]};
    for (int64_t reader : readers)
      if (int32_t stage = place[size_t(reader)]; !llvm::is_contained(having, stage)) {
        having.push_back(stage);
        rows[size_t(reader)].bytesIn += localBytes(value);
      }
  }

  void addState(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    if (!nn::isState(program, number))
      return;
    bool isParameter = nn::isParameter(program, number);
    auto bytes = isParameter                             ? &ChunkRow::parameterBytes
                 : nn::isOptimizerState(program, number) ? &ChunkRow::optimizerBytes
                                                         : &ChunkRow::otherBytes;
    auto type = cast<RankedTensorType>(argument.getType());
    bool isTrained = isParameter && isa<FloatType>(type.getElementType());
    for (int64_t chunk : chunks.ofArgument(number)) {
      rows[size_t(chunk)].*bytes += localBytes(argument);
      rows[size_t(chunk)].parameters += isTrained ? type.getNumElements() : 0;
    }
  }

  /// A sum over microbatches is kept as it is added up; other gradients as updates read them, but
  /// for what is made of such sums, which is there once a step.
  void addGradients(Operation *op) {
    if (chunks.classOf(op) != StageClass::Gradient)
      return;
    bool isSum = isSumOfMicrobatches(op);
    auto isOfSums = [&](Value operand) { return ofSums.contains(operand.getDefiningOp()); };
    if (isSum || llvm::any_of(op->getOperands(), isOfSums))
      ofSums.insert(op);
    auto isUpdate = [&](Operation *reader) {
      return !reader->hasTrait<OpTrait::IsTerminator>() &&
             chunks.classOf(reader) == StageClass::Optimizer;
    };
    for (Value value : op->getResults())
      if (isSum || (!ofSums.contains(op) && llvm::any_of(value.getUsers(), isUpdate)))
        for (int64_t chunk : chunks.of(op))
          rows[size_t(chunk)].gradientBytes += localBytes(isSum ? op->getOperand(0) : value);
  }

  func::FuncOp program;
  StageAssignment &chunks;
  const Mesh &mesh;
  ArrayRef<int32_t> place;
  std::vector<ChunkRow> rows;
  llvm::DenseSet<Operation *> ofSums; ///< of gradients over microbatches, and made of them
};

} // namespace

std::vector<ChunkRow> chunkRows(func::FuncOp program, StageAssignment &chunks, const Mesh &mesh,
                                const pipeline::Schedule &schedule, const pipeline::Costs &costs) {
  std::vector<ChunkRow> rows = RowWriter(program, chunks, mesh, schedule.place).run();
  bool goesBack = llvm::any_of(costs.chunks, [](const pipeline::ChunkCosts &chunk) {
    return chunk.backward + chunk.weight > 0;
  });
  for (auto [row, chunk, peak] :
       llvm::zip_equal(rows, costs.chunks, pipeline::chunkPeaks(schedule, costs))) {
    row.forward = chunk.forward;
    row.backward = chunk.backward;
    row.weight = chunk.weight;
    row.inFlight = goesBack ? peak.inFlight : 1;
    row.activationBytes = goesBack ? int64_t(peak.kept) : 0;
  }
  return rows;
}

} // namespace weft::dist
