// Groups by everything but the layer's number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Classes.h"

#include "Grouping.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <tuple>

using namespace weft::explain;

LayerName weft::explain::foldName(llvm::StringRef name) {
  LayerName folded;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && llvm::isDigit(name[end]))
      ++end;
    bool starts = i > 0 && llvm::StringRef("./").contains(name[i - 1]);
    bool goesOn = end + 1 < name.size() && llvm::StringRef("./").contains(name[end]);
    int64_t number;
    if (end > i && starts && goesOn && !name.slice(i, end).getAsInteger(10, number)) {
      folded.pattern += '*';
      folded.layer = folded.layer < 0 ? number : folded.layer;
    } else {
      end = std::max(end, i + 1);
      folded.pattern += name.slice(i, end);
    }
    i = end;
  }
  return folded;
}

void Members::add(int64_t layer, int64_t times) {
  count += times;
  auto at = llvm::lower_bound(layers, layer);
  if (layer >= 0 && (at == layers.end() || *at != layer))
    layers.insert(at, layer);
}

std::string Members::layersText() const {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(layers[i]);
    if (last > i)
      text += ".." + std::to_string(layers[last]);
    i = last + 1;
  }
  return text;
}

std::string weft::explain::numbersText(llvm::StringRef what, const Members &members) {
  return (what + (members.layers.size() == 1 ? " " : "s ") + members.layersText()).str();
}

std::vector<NodeClass> weft::explain::foldNodes(const std::vector<Node> &nodes,
                                                std::vector<int64_t> &classes) {
  Grouping<NodeClass, std::tuple<std::string, std::string, std::string, std::string, std::string>>
      grouping;
  for (const Node &node : nodes) {
    LayerName name = foldName(node.node);
    NodeClass &group =
        grouping.of({name.pattern, node.op, node.type, node.placement, node.role}, [&] {
          NodeClass made{node, {}};
          made.node.node = name.pattern;
          return made;
        });
    group.members.add(name.layer, node.count);
    classes.push_back(&group - grouping.groups.data());
  }
  return std::move(grouping.groups);
}

static void addReaders(CollectiveClass &group, const Collective &collective, int64_t layer) {
  std::vector<std::string> patterns;
  for (const std::string &reader : collective.readers)
    patterns.push_back(foldName(reader).pattern);
  auto found = llvm::find_if(group.readers, [&](const CollectiveClass::Readers &readers) {
    return readers.patterns == patterns && readers.count == collective.readerCount;
  });
  if (found == group.readers.end())
    found = group.readers.insert(found, {patterns, collective.readerCount, {}});
  found->members.add(layer);
}

std::vector<CollectiveClass>
weft::explain::foldCollectives(const std::vector<Collective> &collectives) {
  using Key = std::tuple<std::string, std::string, std::vector<std::string>, std::string,
                         std::string, std::string, std::string, std::string, int64_t, double>;
  Grouping<CollectiveClass, Key> grouping;
  for (const Collective &one : collectives) {
    LayerName maker = foldName(one.maker);
    Key key{maker.pattern, one.kind, one.axes, one.type,
            one.from,      one.to,   one.role, foldName(one.hint).pattern,
            one.times,     one.bytes};
    CollectiveClass &group = grouping.of(key, [&] {
      CollectiveClass made;
      made.example = one;
      made.example.maker = maker.pattern;
      made.example.hint = foldName(one.hint).pattern;
      return made;
    });
    group.members.add(maker.layer);
    group.bytes += one.bytes;
    group.seconds += one.seconds;
    addReaders(group, one, maker.layer);
  }
  for (CollectiveClass &group : grouping.groups)
    llvm::sort(group.readers,
               [](const CollectiveClass::Readers &a, const CollectiveClass::Readers &b) {
                 return std::make_tuple(-a.members.count, a.members.layers, a.patterns, a.count) <
                        std::make_tuple(-b.members.count, b.members.layers, b.patterns, b.count);
               });
  llvm::sort(grouping.groups, [](const CollectiveClass &a, const CollectiveClass &b) {
    return std::make_tuple(-a.bytes, a.example.maker, a.example.kind, a.example.type,
                           a.example.from, a.example.to) <
           std::make_tuple(-b.bytes, b.example.maker, b.example.kind, b.example.type,
                           b.example.from, b.example.to);
  });
  return std::move(grouping.groups);
}

/// The name up to the layer's number, spelled alike for nodes, weights and what is made of them.
static std::string chainOf(const LayerName &name) {
  if (name.layer < 0)
    return "";
  llvm::StringRef head = llvm::StringRef(name.pattern).take_until([](char c) { return c == '*'; });
  if (size_t of = head.rfind(" of "); of != llvm::StringRef::npos)
    head = head.drop_front(of + 4);
  std::string chain = head.ltrim('/').str() + "*";
  llvm::replace(chain, '/', '.');
  return chain;
}

std::vector<LayerClass> weft::explain::foldLayers(const std::vector<Collective> &collectives) {
  std::map<std::pair<std::string, int64_t>, LayerClass> layers;
  for (const Collective &one : collectives) {
    LayerName name = foldName(one.maker.empty() ? one.node : one.maker);
    LayerClass &layer = layers[{chainOf(name), name.layer}];
    layer.collectives += one.times;
    layer.bytes += one.bytes;
    layer.seconds += one.seconds;
  }
  Grouping<LayerClass, std::tuple<std::string, int64_t, double>> grouping;
  for (const auto &entry : layers) {
    const std::string &name = entry.first.first;
    const LayerClass &layer = entry.second;
    LayerClass &group = grouping.of({name, layer.collectives, layer.bytes},
                                    [&] { return LayerClass{name, {}, 0, 0, 0}; });
    group.members.add(entry.first.second);
    group.collectives += layer.collectives;
    group.bytes += layer.bytes;
    group.seconds += layer.seconds;
  }
  llvm::sort(grouping.groups, [](const LayerClass &a, const LayerClass &b) {
    return std::tie(b.bytes, a.name, a.members.layers) <
           std::tie(a.bytes, b.name, b.members.layers);
  });
  return std::move(grouping.groups);
}

std::vector<ChunkClass> weft::explain::foldChunks(llvm::ArrayRef<Chunk> chunks) {
  using Times = std::tuple<std::string, std::string, std::string>;
  Grouping<ChunkClass, std::tuple<std::string, std::string, int64_t, Times, int64_t, size_t>>
      grouping;
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    Chunk folded = chunk;
    folded.first = foldName(chunk.first).pattern;
    folded.last = foldName(chunk.last).pattern;
    // Times of equal layers may differ in their last bits.
    Times times{timeText(chunk.forward), timeText(chunk.backward), timeText(chunk.weight)};
    ChunkClass &group = grouping.of(
        {folded.first, folded.last, chunk.parameters, times, chunk.bytesIn, chunk.memory.size()},
        [&] { return ChunkClass{folded, folded, {}, {}}; });
    group.chunks.add(number);
    group.stages.add(chunk.stage);
    group.least.inFlight = std::min(group.least.inFlight, chunk.inFlight);
    group.most.inFlight = std::max(group.most.inFlight, chunk.inFlight);
    for (auto [least, most, own] :
         llvm::zip_equal(group.least.memory, group.most.memory, chunk.memory)) {
      least.second = std::min(least.second, own.second);
      most.second = std::max(most.second, own.second);
    }
  }
  for (ChunkClass &group : grouping.groups)
    if (group.chunks.count == 1) { // alone it has its own name
      const Chunk &only = chunks[group.chunks.layers.front()];
      group.least = group.most = only;
    }
  return std::move(grouping.groups);
}

std::vector<StateClass> weft::explain::foldStates(const std::vector<State> &states) {
  Grouping<StateClass, std::tuple<std::string, std::string, std::string, std::string, std::string>>
      grouping;
  for (const State &state : states) {
    LayerName name = foldName(state.name);
    StateClass &group =
        grouping.of({name.pattern, state.kind, state.type, state.stored, state.used}, [&] {
          StateClass made{state, {}};
          made.state.name = name.pattern;
          return made;
        });
    group.members.add(name.layer);
  }
  llvm::sort(grouping.groups, [](const StateClass &a, const StateClass &b) {
    return std::make_tuple(-a.state.bytes * a.members.count, a.state.name, a.state.stored) <
           std::make_tuple(-b.state.bytes * b.members.count, b.state.name, b.state.stored);
  });
  return std::move(grouping.groups);
}

std::vector<MemoryItemClass> weft::explain::foldMemory(const std::vector<MemoryItem> &items) {
  Grouping<MemoryItemClass, std::tuple<std::string, std::string, int64_t>> grouping;
  for (const MemoryItem &item : items) {
    LayerName name = foldName(item.name);
    MemoryItemClass &group = grouping.of({name.pattern, item.kind, item.bytes}, [&] {
      MemoryItemClass made{item, {}};
      made.item.name = name.pattern;
      return made;
    });
    group.members.add(name.layer);
  }
  llvm::sort(grouping.groups, [](const MemoryItemClass &a, const MemoryItemClass &b) {
    return std::make_tuple(-a.item.bytes * a.members.count, a.item.kind, a.item.name) <
           std::make_tuple(-b.item.bytes * b.members.count, b.item.kind, b.item.name);
  });
  return std::move(grouping.groups);
}
