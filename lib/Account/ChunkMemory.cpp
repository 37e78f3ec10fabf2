// Lifetimes of values over the nodes of one chunk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChunkMemory.h"

#include "weft/Interfaces/TensorTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::account;
using pipeline::Kind;

namespace {

class ChunkMemory {
public:
  ChunkMemory(const ChunkView &view, ArrayRef<size_t> times)
      : view(view), nodes(view.nodes.all()), times(times) {}

  void fill(cost::Chunk &chunk) {
    for (size_t number = 0; number < nodes.size(); ++number)
      if (view.runs(nodes[number]))
        for (Value written : view.nodes.writtenBy(nodes[number]))
          consider(number, written, chunk);
    for (Kind kind : {Kind::Forward, Kind::Backward, Kind::Weight})
      chunk.transientBytes = std::max(chunk.transientBytes, peakOf(lives[size_t(kind)]));
    chunk.updateTransientBytes = peakOf(updateLives);
  }

private:
  /// From the node that writes so many bytes to the last that reads them.
  struct Life {
    size_t begin, end;
    int64_t bytes;
  };

  void consider(size_t number, Value written, cost::Chunk &chunk) {
    const Node &node = nodes[number];
    int64_t bytes = bytesOf(written);
    // The reader that is last in each action, in the updates, and anywhere on this stage.
    std::array<std::optional<size_t>, pipeline::kNumKinds> last;
    std::optional<size_t> lastUpdate;
    for (size_t reader : view.nodes.readersOf(written)) {
      const Node &user = nodes[reader];
      if (!user.transition && !view.nodes.runsOnStage(user, view.stage()))
        continue;
      if (view.isOfMicrobatch(user))
        later(last[size_t(view.kindOf(user))], reader);
      else if (view.isOfUpdate(user))
        later(lastUpdate, reader);
    }
    if (view.isOfUpdate(node)) {
      // What nobody here reads is the new value of a state, which it overwrites.
      if (lastUpdate && !isInPlace(node))
        updateLives.push_back({times[number], times[*lastUpdate], bytes});
      return;
    }
    if (!view.isOfMicrobatch(node))
      return;
    Kind kind = view.kindOf(node);
    if (isGradient(node.part) && lastUpdate) {
      chunk.stateBytes[size_t(cost::StateClass::Gradient)] += bytes;
      return;
    }
    bool forWeight = last[size_t(Kind::Weight)].has_value(),
         forBackward = last[size_t(Kind::Backward)].has_value();
    if (kind == Kind::Forward && (forBackward || forWeight))
      (forWeight ? chunk.keptForWeight : chunk.keptForBackward) += bytes;
    else if (kind == Kind::Backward && forWeight)
      chunk.madeForWeight += bytes;
    else
      lives[size_t(kind)].push_back(
          {times[number], times[last[size_t(kind)].value_or(number)], bytes});
  }

  void later(std::optional<size_t> &known, size_t reader) const {
    if (!known || times[reader] > times[*known])
      known = reader;
  }

  static bool isInPlace(const Node &node) {
    TransitionOpInterface transition = node.transition;
    return transition && transition.getTransitionKind() == TransitionKind::AllReduce;
  }

  static int64_t peakOf(const std::vector<Life> &lives) {
    std::map<size_t, int64_t> changes;
    for (const Life &life : lives) {
      changes[life.begin] += life.bytes;
      changes[life.end + 1] -= life.bytes;
    }
    int64_t now = 0, most = 0;
    for (auto [number, change] : changes)
      most = std::max(most, now += change);
    return most;
  }

  const ChunkView &view;
  const std::vector<Node> &nodes;
  ArrayRef<size_t> times;
  std::array<std::vector<Life>, pipeline::kNumKinds> lives;
  std::vector<Life> updateLives;
};

} // namespace

std::vector<size_t> account::timesOf(const Nodes &nodes, std::optional<int64_t> microbatch) {
  const std::vector<Node> &all = nodes.all();
  auto isOfMicrobatch = [&](const Node &node) { return node.microbatch == microbatch; };
  std::vector<size_t> times(all.size()), lastMaker(all.size(), 0);
  for (auto [number, node] : llvm::enumerate(all)) {
    SmallVector<size_t> readers;
    for (Value written : nodes.writtenBy(node))
      llvm::append_range(readers, nodes.readersOf(written));
    bool isSum = microbatch && isOfMicrobatch(node) && isGradient(node.part) &&
                 llvm::none_of(readers, [&](size_t reader) { return isOfMicrobatch(all[reader]); });
    times[number] = isSum ? lastMaker[number] : number;
    for (size_t reader : readers)
      lastMaker[reader] = std::max(lastMaker[reader], times[number]);
  }
  return times;
}

void account::fillMemory(const ChunkView &view, ArrayRef<size_t> times, cost::Chunk &chunk) {
  ChunkMemory(view, times).fill(chunk);
}
