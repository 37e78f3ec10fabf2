// A training program linked by hand: a bigram model of bytes under SGD.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// logits[b, s, :] = table[tokens[b, s], :], cross-entropy, momentum. Samples
// are split over dp, the logits of "forward" over tp. Contributions to sums are
// rounded to multiples of 2^-30, so that their sums are exact and every layout
// has the same bits. Of several stages each does all of this by itself, so that none waits for
// another one: steps run ahead.
#ifndef WEFT_TEST_CONFORMANCE_RUNTIME_TRAININGSAMPLE_H
#define WEFT_TEST_CONFORMANCE_RUNTIME_TRAININGSAMPLE_H

#include "weft/runtime/ProgramBuilder.h"

#include <cmath>

namespace weft::runtime::sample {

constexpr int64_t kBatch = 6, kSequence = 8, kVocabulary = 256;
constexpr int64_t kTable = kVocabulary * kVocabulary;

inline double exactly(double value) { return std::nearbyint(value * 0x1p30) * 0x1p-30; }

/// Of `kBatch` rows those that begin at `start`, at most `local`.
inline int64_t validRows(int64_t start, int64_t local) {
  return std::min(local, std::max<int64_t>(0, kBatch - start));
}

/// pointers: tokens labels table sums; scalars: first row, local rows, whether
/// gradients are wanted. sums: the table's gradient, the loss, the count.
inline void sumLosses(int64_t, int64_t, void *const *pointers, const int64_t *scalars) {
  auto *tokens = static_cast<const int32_t *>(pointers[0]);
  auto *labels = static_cast<const int64_t *>(pointers[1]);
  auto *table = static_cast<const double *>(pointers[2]);
  auto *sums = static_cast<double *>(pointers[3]);
  std::fill_n(sums, kTable + 2, 0.0);
  int64_t count = validRows(scalars[0], scalars[1]) * kSequence;
  for (int64_t i = 0; i < count; ++i) {
    if (labels[i] == -100)
      continue;
    const double *row = table + tokens[i] * kVocabulary;
    double *gradient = sums + tokens[i] * kVocabulary;
    double total = 0;
    for (int64_t v = 0; v < kVocabulary; ++v)
      total += std::exp(row[v]);
    for (int64_t v = 0; v < kVocabulary && scalars[2]; ++v)
      gradient[v] += exactly(std::exp(row[v]) / total - (v == labels[i]));
    sums[kTable] += exactly(std::log(total) - row[labels[i]]);
    sums[kTable + 1] += 1;
  }
}

/// pointers: sums, loss.
inline void meanLoss(int64_t, int64_t, void *const *pointers, const int64_t *) {
  auto *sums = static_cast<const double *>(pointers[0]);
  *static_cast<double *>(pointers[1]) = sums[kTable] / sums[kTable + 1];
}

/// pointers: sums table momentum step gradNorm lr. A step counter of 1000
/// stands for a training that diverges.
inline void update(int64_t, int64_t, void *const *pointers, const int64_t *) {
  auto *sums = static_cast<const double *>(pointers[0]);
  auto *table = static_cast<double *>(pointers[1]);
  auto *momentum = static_cast<double *>(pointers[2]);
  auto *step = static_cast<int64_t *>(pointers[3]);
  double rate = 2.0 / (1.0 + 0.01 * double(*step)), squares = 0;
  if (*step == 1000)
    rate = HUGE_VAL;
  for (int64_t i = 0; i < kTable; ++i) {
    double gradient = sums[i] / sums[kTable + 1];
    squares += gradient * gradient;
    momentum[i] = 0.9 * momentum[i] + gradient;
    table[i] -= rate * momentum[i];
  }
  *static_cast<double *>(pointers[4]) = std::sqrt(squares);
  *static_cast<double *>(pointers[5]) = rate;
  ++*step;
}

/// pointers: tokens table logits; scalars: first row, local rows, first token
/// of the vocabulary, local tokens.
inline void lookUp(int64_t, int64_t, void *const *pointers, const int64_t *scalars) {
  auto *tokens = static_cast<const int32_t *>(pointers[0]);
  auto *table = static_cast<const double *>(pointers[1]);
  auto *logits = static_cast<double *>(pointers[2]);
  int64_t count = validRows(scalars[0], scalars[1]) * kSequence;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t v = 0; v < scalars[3]; ++v)
      logits[i * scalars[3] + v] = table[tokens[i] * kVocabulary + scalars[2] + v];
}

inline const weft_kernel_entry kKernels[] = {
    {"sum_losses", sumLosses}, {"mean_loss", meanLoss}, {"update", update}, {"look_up", lookUp}};
constexpr uint64_t kNumKernels = sizeof kKernels / sizeof kKernels[0];

class TrainingSample {
public:
  TrainingSample(int64_t dpSize, int64_t tpSize, int64_t stages = 1)
      : tpSize(tpSize), stages(stages) {
    b.info().weftVersion = b.string("test");
    b.info().modelName = b.string("bigram");
    b.info().target = b.string("cpu");
    b.addMetadata("train.tokens", "tokens");
    b.addMetadata("train.labels", "labels");
    b.addMetadata("train.batch", std::to_string(kBatch));
    b.addMetadata("train.loss", "softmax_cross_entropy:logits,labels");
    b.addMetadata("generate.tokens", "tokens");
    b.addMetadata("generate.logits", "logits");
    dp = b.addMeshAxis("dp", dpSize);
    tp = b.addMeshAxis("tp", tpSize);
    if (stages > 1)
      b.info().stageAxes = b.axes({b.addMeshAxis("pp", stages)});
    rows = (kBatch + dpSize - 1) / dpSize;
  }

  std::vector<uint8_t> make() {
    const int64_t columns = kVocabulary / tpSize;
    Id tokens = buffer("tokens", BufferClass::Input, DType::I32, {rows, kSequence});
    Id labels = buffer("labels", BufferClass::Input, DType::I64, {rows, kSequence});
    Id table = buffer("table", BufferClass::Parameter, DType::F64, {kVocabulary, kVocabulary});
    Id momentum =
        buffer("momentum", BufferClass::Parameter, DType::F64, {kVocabulary, kVocabulary});
    Id step = buffer("step", BufferClass::Parameter, DType::I64, {});
    sums = buffer("sums", BufferClass::Activation, DType::F64, {kTable + 2});
    Id loss = buffer("loss", BufferClass::Output, DType::F64, {});
    Id norm = buffer("grad_norm", BufferClass::Output, DType::F64, {});
    Id rate = buffer("lr", BufferClass::Output, DType::F64, {});
    Id logits = buffer("logits", BufferClass::Output, DType::F64, {rows, kSequence, columns});
    Id whole = b.addReplicated({kVocabulary, kVocabulary});
    Id scalar = b.addReplicated({});
    b.addState("table", DType::F64, {kVocabulary, kVocabulary}, whole, table, {});
    b.addState("table#momentum_buffer", DType::F64, {kVocabulary, kVocabulary}, whole, momentum,
               {});
    b.addState("weft.step", DType::I64, {}, scalar, step, {});
    Id batch = b.addPlacement({{{kBatch, {dp}}}, {{kSequence, {}}}});
    Id vocabulary = b.addPlacement({{{kBatch, {dp}}}, {{kSequence, {}}}, {{kVocabulary, {tp}}}});
    auto port = [&](const char *name, DType type, ProgramBuilder::Ints shape, Id placement,
                    Id buffer) { return b.addPort(name, type, shape, placement, buffer); };
    auto inputs = [&](bool both) {
      std::vector<uint32_t> ids{port("tokens", DType::I32, {kBatch, kSequence}, batch, tokens)};
      if (both)
        ids.push_back(port("labels", DType::I64, {kBatch, kSequence}, batch, labels));
      return ids;
    };

    for (bool trains : {true, false}) {
      std::vector<uint32_t> in = inputs(true);
      std::vector<uint32_t> out{port("loss", DType::F64, {}, scalar, loss)};
      if (trains) {
        out.push_back(port("grad_norm", DType::F64, {}, scalar, norm));
        out.push_back(port("lr", DType::F64, {}, scalar, rate));
      }
      b.beginProgram(trains ? "step" : "eval", in, out);
      for (int64_t stage = 0; stage < stages; ++stage) {
        b.beginBody(2, 2);
        b.launch({0, "losses"}, b.addKernel("sum_losses"), 1, 1,
                 {b.view(tokens), b.view(labels), b.view(table), b.view(sums)},
                 {b.coordinate({dp}, rows), b.constant(rows), b.constant(trains)});
        reduceSums();
        b.launch({0, "loss"}, b.addKernel("mean_loss"), 1, 1, {b.view(sums), b.view(loss)}, {});
        if (trains)
          b.launch({0, "sgd"}, b.addKernel("update"), 1, 1,
                   {b.view(sums), b.view(table), b.view(momentum), b.view(step), b.view(norm),
                    b.view(rate)},
                   {});
        b.endBody();
      }
      b.endProgram();
    }
    std::vector<uint32_t> in = inputs(false);
    std::vector<uint32_t> out{
        port("logits", DType::F64, {kBatch, kSequence, kVocabulary}, vocabulary, logits)};
    b.beginProgram("forward", in, out);
    for (int64_t stage = 0; stage < stages; ++stage) {
      b.beginBody(1, 0);
      b.launch({0, "lookup"}, b.addKernel("look_up"), 1, 1,
               {b.view(tokens), b.view(table), b.view(logits)},
               {b.coordinate({dp}, rows), b.constant(rows), b.coordinate({tp}, columns),
                b.constant(columns)});
      b.endBody();
    }
    b.endProgram();
    for (int64_t stage = 0; stage < stages; ++stage)
      b.addStage({end, {}});
    return b.finish();
  }

private:
  Id buffer(const char *name, BufferClass kind, DType type, ProgramBuilder::Ints shape) {
    uint64_t bytes = dtypeBytes(type);
    for (int64_t size : shape)
      bytes *= uint64_t(size);
    Id id = b.addBuffer(name, kind, type, end, bytes, shape);
    end += (bytes + 63) / 64 * 64;
    return id;
  }

  void reduceSums() {
    b.add({0}, EventRecord{0}, {});
    b.add({1}, EventWait{0}, {});
    Collective sum{};
    sum.kind = CollectiveKind::AllReduce;
    sum.dtype = sum.accumulator = DType::F64;
    sum.communicator = b.addCommunicator({dp});
    sum.outer = 1, sum.extent = kTable + 2, sum.inner = 1;
    sum.middle = sum.otherExtent = 1;
    b.add({1, "sums"}, sum, {b.view(sums), b.view(sums)});
    b.add({1}, EventRecord{1}, {});
    b.add({0, "sums"}, EventWait{1}, {});
  }

  ProgramBuilder b;
  int64_t tpSize, stages, rows = 0;
  Id dp = 0, tp = 0, sums = 0;
  uint64_t end = 0;
};

} // namespace weft::runtime::sample

#endif // WEFT_TEST_CONFORMANCE_RUNTIME_TRAININGSAMPLE_H
