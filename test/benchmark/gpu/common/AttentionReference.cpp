// Attention and its gradients in double precision on the CPU, for one group of
// heads of one sequence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionReference.h"
#include "Random.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace weft::gpukit {

AttentionReference::AttentionReference(const AttentionShape &shape, const AttentionData &data,
                                       int64_t batch, int64_t keyHead)
    : shape(shape), roundsOutput(data.roundsOutput), keyHead(keyHead) {
  int64_t d = shape.depth, time = shape.time;
  auto packed = [&](int64_t head) {
    Matrix matrix(size_t(time * d));
    for (int64_t t = 0; t < time; ++t)
      for (int64_t i = 0; i < d; ++i)
        matrix[size_t(t * d + i)] = bf16NormalAt(
            data.seedPacked, shape.packedRow(batch, t, head) + uint64_t(i), data.sigma);
    return matrix;
  };
  keys = packed(shape.queryHeads + keyHead);
  values = packed(shape.queryHeads + shape.keyHeads + keyHead);
  keysTransposed.resize(keys.size());
  for (int64_t t = 0; t < time; ++t)
    for (int64_t i = 0; i < d; ++i)
      keysTransposed[size_t(i * time + t)] = keys[size_t(t * d + i)];
  for (int64_t member = 0; member < groupSize(); ++member) {
    queries.push_back(packed(queryHead(member)));
    Matrix gradient(size_t(time * d));
    for (int64_t t = 0; t < time; ++t)
      for (int64_t i = 0; i < d; ++i)
        gradient[size_t(t * d + i)] =
            bf16NormalAt(data.seedGradient,
                         shape.outputRow(batch, t, queryHead(member)) + uint64_t(i), data.sigma);
    gradients.push_back(std::move(gradient));
    outputs.emplace_back(size_t(time * d), 0.0);
    logSums.emplace_back(size_t(time), 0.0);
    rowSums.emplace_back(size_t(time), 0.0);
  }
  // Every row is its own work; each thread takes every n-th, since causal rows
  // grow.
  int64_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (int64_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([this, worker, workers, time] {
      for (int64_t member = 0; member < groupSize(); ++member)
        for (int64_t t = worker; t < time; t += workers)
          forwardRow(member, t);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void AttentionReference::forwardRow(int64_t member, int64_t t) {
  int64_t d = shape.depth, time = shape.time;
  std::vector<double> scores;
  int64_t length = shape.causal ? t + 1 : time;
  scores.assign(size_t(length), 0.0);
  const double *query = row(queries[size_t(member)], t);
  // Depth outermost, so that the compiler can keep many positions in one
  // vector.
  for (int64_t i = 0; i < d; ++i) {
    const double *column = keysTransposed.data() + i * time;
    double factor = query[i] * shape.scale();
    for (int64_t j = 0; j < length; ++j)
      scores[size_t(j)] += factor * column[j];
  }
  double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - largest);
  double *output = outputs[size_t(member)].data() + t * d;
  for (int64_t j = 0; j < length; ++j) {
    double weight = scores[size_t(j)] / sum;
    const double *value = row(values, j);
    for (int64_t i = 0; i < d; ++i)
      output[i] += weight * value[i];
  }
  logSums[size_t(member)][size_t(t)] = largest + std::log(sum);
  const double *gradient = row(gradients[size_t(member)], t);
  double product = 0;
  for (int64_t i = 0; i < d; ++i)
    product += gradient[i] * (roundsOutput ? bf16Value(bf16Bits(float(output[i]))) : output[i]);
  rowSums[size_t(member)][size_t(t)] = product;
}

double AttentionReference::probability(int64_t member, int64_t t, int64_t j) const {
  if (shape.causal && j > t)
    return 0;
  const double *query = row(queries[size_t(member)], t), *key = row(keys, j);
  double score = 0;
  for (int64_t i = 0; i < shape.depth; ++i)
    score += query[i] * key[i];
  return std::exp(score * shape.scale() - stats(member, t));
}

double AttentionReference::scoreGradient(int64_t member, int64_t t, int64_t j) const {
  const double *gradient = row(gradients[size_t(member)], t), *value = row(values, j);
  double product = 0;
  for (int64_t i = 0; i < shape.depth; ++i)
    product += gradient[i] * value[i];
  return probability(member, t, j) * (product - rowSums[size_t(member)][size_t(t)]) * shape.scale();
}

std::vector<double> AttentionReference::output(int64_t member, int64_t t) const {
  const double *begin = row(outputs[size_t(member)], t);
  return {begin, begin + shape.depth};
}

std::vector<double> AttentionReference::queryGradient(int64_t member, int64_t t) const {
  std::vector<double> gradient(size_t(shape.depth), 0.0);
  int64_t length = shape.causal ? t + 1 : shape.time;
  for (int64_t j = 0; j < length; ++j) {
    double weight = scoreGradient(member, t, j);
    for (int64_t i = 0; i < shape.depth; ++i)
      gradient[size_t(i)] += weight * row(keys, j)[i];
  }
  return gradient;
}

std::vector<double> AttentionReference::keyGradient(int64_t j) const {
  std::vector<double> gradient(size_t(shape.depth), 0.0);
  for (int64_t member = 0; member < groupSize(); ++member)
    for (int64_t t = shape.causal ? j : 0; t < shape.time; ++t) {
      double weight = scoreGradient(member, t, j);
      for (int64_t i = 0; i < shape.depth; ++i)
        gradient[size_t(i)] += weight * row(queries[size_t(member)], t)[i];
    }
  return gradient;
}

std::vector<double> AttentionReference::valueGradient(int64_t j) const {
  std::vector<double> gradient(size_t(shape.depth), 0.0);
  for (int64_t member = 0; member < groupSize(); ++member)
    for (int64_t t = shape.causal ? j : 0; t < shape.time; ++t) {
      double weight = probability(member, t, j);
      for (int64_t i = 0; i < shape.depth; ++i)
        gradient[size_t(i)] += weight * row(gradients[size_t(member)], t)[i];
    }
  return gradient;
}

} // namespace weft::gpukit
