// Frontiers of the axis search: what is alive in which states, and the cheapest way there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H
#define WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H

#include "AxisCandidates.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_set>

namespace weft {

/// For each live value the set of states that exist, one bit a state. A program
/// argument that nobody has used yet has none: its first use decides.
using Frontier = llvm::ArrayRef<uint32_t>;

/// Frontiers of the same live values, in one piece of memory: a search makes millions of them.
class Frontiers {
public:
  explicit Frontiers(size_t width) : width(width) {}

  size_t size() const { return count; }
  Frontier operator[](size_t index) const { return Frontier(masks).slice(index * width, width); }
  void push_back(Frontier frontier) {
    masks.insert(masks.end(), frontier.begin(), frontier.end());
    ++count;
  }
  void pop_back() {
    masks.resize(masks.size() - width);
    --count;
  }

private:
  size_t width, count = 0;
  std::vector<uint32_t> masks;
};

/// The cheapest known way to a frontier: from which of those before the op, and how the op runs.
struct Entry {
  Ticks cost = 0; ///< above that of the cheapest frontier before
  /// What this op alone moves.
  double bytes = 0;
  unsigned collectives = 0;
  unsigned parent = 0;
  unsigned strategy = 0;
};

/// The frontiers behind an op, each once, with the cheapest way there.
class Reached {
public:
  explicit Reached(size_t width) : frontiers(width) {}

  void add(Frontier frontier, const Entry &entry) {
    frontiers.push_back(frontier);
    auto [position, isNew] = known.insert(entries.size());
    if (isNew) {
      entries.push_back(entry);
      return;
    }
    frontiers.pop_back();
    if (entry.cost < entries[*position].cost)
      entries[*position] = entry;
  }

  Frontiers frontiers;
  std::vector<Entry> entries;

private:
  struct Hash {
    const Frontiers &frontiers;
    size_t operator()(unsigned index) const {
      Frontier frontier = frontiers[index];
      return llvm::hash_combine_range(frontier.begin(), frontier.end());
    }
  };
  struct Equal {
    const Frontiers &frontiers;
    bool operator()(unsigned a, unsigned b) const { return frontiers[a] == frontiers[b]; }
  };
  std::unordered_set<unsigned, Hash, Equal> known{0, Hash{frontiers}, Equal{frontiers}};
};

/// Numbers for keys: one for all equal keys, in the order in which they are met.
class Numbers {
public:
  /// The number, and whether the key is new.
  std::pair<unsigned, bool> of(llvm::ArrayRef<int64_t> key) {
    llvm::StringRef bytes(reinterpret_cast<const char *>(key.data()), key.size() * sizeof(int64_t));
    auto [entry, isNew] = numbers.try_emplace(bytes, numbers.size());
    return {entry->second, isNew};
  }

private:
  llvm::StringMap<unsigned> numbers;
};

/// All that decides how the search goes on behind an op, whatever the values are called: what is
/// asked of those alive (by number), the frontiers, and what each costs beyond the cheapest.
struct State {
  llvm::SmallVector<unsigned> values;
  unsigned list = 0; ///< the number of `values`
  Frontiers frontiers{0};
  std::vector<Ticks> costs;

  std::vector<int64_t> key() const;
};

/// Where an op leads from one frontier, whatever that costs itself.
struct Steps {
  Frontiers frontiers{0};
  std::vector<Entry> entries; ///< costs above that of the frontier before
};

/// Where an op leads from a state.
struct Outcome {
  unsigned next;              ///< the state behind it
  std::vector<Entry> entries; ///< of its frontiers
  unsigned pruned;
};

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H
