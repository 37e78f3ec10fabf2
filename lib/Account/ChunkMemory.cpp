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
  explicit ChunkMemory(const ChunkView &view) : view(view), nodes(view.nodes.all()) {}

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
    for (size_t reader : view.nodes.readersOf(written)) { // ascending
      const Node &user = nodes[reader];
      if (!user.transition && !view.nodes.runsOnStage(user, view.stage()))
        continue;
      if (view.isOfMicrobatch(user))
        last[size_t(view.kindOf(user))] = reader;
      else if (view.isOfUpdate(user))
        lastUpdate = reader;
    }
    if (view.isOfUpdate(node)) {
      // What nobody here reads is the new value of a state, which it overwrites.
      if (lastUpdate && !isInPlace(node))
        updateLives.push_back({number, *lastUpdate, bytes});
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
      lives[size_t(kind)].push_back({number, last[size_t(kind)].value_or(number), bytes});
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
  std::array<std::vector<Life>, pipeline::kNumKinds> lives;
  std::vector<Life> updateLives;
};

} // namespace

void account::fillMemory(const ChunkView &view, cost::Chunk &chunk) {
  ChunkMemory(view).fill(chunk);
}
