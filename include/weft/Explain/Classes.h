// Repeated layers as one: names that differ only in a layer's number fold into a class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EXPLAIN_CLASSES_H
#define WEFT_EXPLAIN_CLASSES_H

#include "weft/Explain/Document.h"

namespace weft::explain {

/// `/h.3/mlp/Gemm` is of the class `/h.*/mlp/Gemm`, layer 3. A number counts layers if it is a
/// whole component of the name and not its last, so `/h.3/Add_1` stays apart from `/h.3/Add_2`.
struct LayerName {
  std::string pattern;
  int64_t layer = -1; // the first such number; -1: none
};
LayerName foldName(llvm::StringRef name);

/// Members of a class: how many, and in which layers.
struct Members {
  int64_t count = 0;
  std::vector<int64_t> layers; // ascending, each once
  void add(int64_t layer, int64_t times = 1);
  /// `0..11`, `0..3,5`; "" without layers.
  std::string layersText() const;
};

/// Numbered things, one or several: `chunk 3`, `chunks 1..6`.
std::string numbersText(llvm::StringRef what, const Members &members);

struct NodeClass {
  Node node; // its name is the pattern
  Members members;
};
/// In program order of their first members; `classes` gets the number of each node's class.
std::vector<NodeClass> foldNodes(const std::vector<Node> &nodes, std::vector<int64_t> &classes);

/// Collectives that differ in nothing but the layer, and perhaps in who needs the result.
struct CollectiveClass {
  Collective example; // its names are patterns, but for the readers
  Members members;
  double bytes = 0, seconds = 0; // of all members
  /// Who needs the result, most often first; all but the first are exceptions.
  struct Readers {
    std::vector<std::string> patterns;
    int64_t count = 0; // readers of one
    Members members;
  };
  std::vector<Readers> readers;
};
/// Most bytes first.
std::vector<CollectiveClass> foldCollectives(const std::vector<Collective> &collectives);

/// Chunks of a pipeline that differ in nothing but their layers and stages, and in what each keeps
/// of how many microbatches.
struct ChunkClass {
  Chunk least, most; // the names are patterns; of numbers that differ, the least and the most
  Members chunks, stages;
};
/// In the order of their first members.
std::vector<ChunkClass> foldChunks(llvm::ArrayRef<Chunk> chunks);

/// What all collectives of layers that are alike send: layers of one chain with equally many
/// collectives and equally many bytes. A collective is of the layer that makes its value.
struct LayerClass {
  /// `transformer.h.*`, for nodes `/transformer/h.3/mlp`, their weights `transformer.h.3.mlp.w` and
  /// `adamw of transformer.h.3.mlp.w`; "" of what belongs to no layer.
  std::string name;
  Members members;         // layers
  int64_t collectives = 0; // in a run
  double bytes = 0, seconds = 0;
};
/// Most bytes first.
std::vector<LayerClass> foldLayers(const std::vector<Collective> &collectives);

struct StateClass {
  State state; // its name is the pattern
  Members members;
};
/// Most bytes first.
std::vector<StateClass> foldStates(const std::vector<State> &states);

struct MemoryItemClass {
  MemoryItem item; // its name is the pattern, its bytes are of one
  Members members;
};
std::vector<MemoryItemClass> foldMemory(const std::vector<MemoryItem> &items);

} // namespace weft::explain

#endif // WEFT_EXPLAIN_CLASSES_H
