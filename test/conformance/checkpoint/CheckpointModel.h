// A model's state in any layout, with values that are known, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_CHECKPOINT_CHECKPOINTMODEL_H
#define WEFT_TEST_CONFORMANCE_CHECKPOINT_CHECKPOINTMODEL_H

#include "session/Session.h"

#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/ProgramBuilder.h"

#include <string>
#include <vector>

namespace weft::runtime::test {

/// One state of the model. `factors`: the factors of each dimension. A constant
/// belongs to the executable; all its bytes are 7.
struct Tensor {
  std::string name;
  DType dtype;
  std::vector<std::vector<int64_t>> factors;
  bool constant = false;
};

/// Parameters, optimizer slots and counters of several dtypes; some dims are
/// fused (3 x heads), some extents divide by nothing.
std::vector<Tensor> modelTensors();

/// How a layout places tensors over its mesh.
enum class Style {
  Replicated, // DDP
  Sharded,    // ZeRO-3: the first dim over all axes
  Factors,    // the last axis splits a factor, slots over the others too
  Random,
  Stages // the first axis is a pipeline: some of its stages hold a tensor, each where it likes
};
struct Layout {
  std::string name;
  std::vector<int64_t> mesh;
  Style style;
  uint64_t seed;

  int64_t numRanks() const;
};

/// At least ten layouts of one to eight ranks.
std::vector<Layout> layouts();

std::vector<uint8_t> buildProgram(const Layout &layout, const std::vector<Tensor> &tensors);

/// A session of a layout's program. Values are a function of tensor, element
/// and `version`; ranks hold garbage where they hold padding.
class ModelSession {
public:
  ModelSession(const Layout &layout, const std::vector<Tensor> &tensors,
               const char *comm = "inproc");
  ~ModelSession();
  ModelSession(const ModelSession &) = delete;

  weft_session *session = nullptr;
  std::string error; // of opening

  void fill(uint64_t version);
  /// Overwrites all states with bytes that no version has.
  void poison();
  /// Empty if every element on every local rank, padding aside, is that of
  /// `version`; else what differs.
  std::string compare(uint64_t version);

private:
  template <typename Visit> void forEachElement(Visit visit);

  std::vector<uint8_t> blob;
};

/// Bits of one element, 0 or 1 for Bool and a small number for floats, so that
/// conversions between float types are exact.
uint64_t elementBits(const std::string &name, DType dtype, int64_t index, uint64_t version);

} // namespace weft::runtime::test

#endif // WEFT_TEST_CONFORMANCE_CHECKPOINT_CHECKPOINTMODEL_H
