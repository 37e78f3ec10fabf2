// Frontiers of the axis search: what is alive in which states, and the cheapest way there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H
#define WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H

#include "AxisCandidates.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringMap.h"

#include <map>
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
  size_t bytes() const { return masks.size() * sizeof(uint32_t); }
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
  Ticks cost = 0; ///< above that of the first frontier before
  /// What this op alone moves.
  double bytes = 0;
  unsigned collectives = 0;
  unsigned parent = 0;
  unsigned strategy = 0;
};

/// A frontier by its number, and a way there.
struct Reached {
  unsigned frontier;
  Entry entry;
};

/// The frontiers of one list of live values that a search has met, each once.
class FrontierTable {
public:
  explicit FrontierTable(size_t width) : frontiers(width) {}
  FrontierTable(const FrontierTable &) = delete;

  size_t size() const { return frontiers.size(); }
  /// About so much memory it takes.
  size_t bytes() const {
    constexpr size_t kKnown = 56; // a number in a hash table, its kind, and the sums due
    return frontiers.bytes() + size() * kKnown + numDistances * sizeof(Ticks);
  }
  Frontier operator[](unsigned number) const { return frontiers[number]; }
  unsigned numberOf(Frontier frontier) {
    frontiers.push_back(frontier);
    auto [position, isNew] = known.insert(frontiers.size() - 1);
    if (!isNew)
      frontiers.pop_back();
    return *position;
  }

  /// The number of what `key` tells of a frontier, once it was told.
  template <typename Key> unsigned kindOf(unsigned number, Key key) {
    if (number >= kinds.size())
      kinds.resize(size(), ~0u);
    if (kinds[number] == ~0u)
      kinds[number] =
          kindNumbers.try_emplace(key((*this)[number]), kindNumbers.size()).first->second;
    return kinds[number];
  }

  /// What `due` tells of a frontier, once it was told.
  template <typename Due> Ticks sumsDue(unsigned number, Due due) {
    if (number >= dueSums.size())
      dueSums.resize(size(), kUnknown);
    if (dueSums[number] == kUnknown)
      dueSums[number] = due((*this)[number]);
    return dueSums[number];
  }

  /// By frontier what it costs to make it of one; kUnknown: nobody has asked.
  static constexpr Ticks kUnknown = -1, kImpossible = -2;
  std::vector<Ticks> &distancesFrom(unsigned number) {
    std::vector<Ticks> &list = distances[number];
    numDistances += size() - list.size();
    list.resize(size(), kUnknown);
    return list;
  }

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
  Frontiers frontiers;
  std::unordered_set<unsigned, Hash, Equal> known{0, Hash{frontiers}, Equal{frontiers}};
  std::map<unsigned, std::vector<Ticks>> distances;
  size_t numDistances = 0;
  std::map<std::vector<uint32_t>, unsigned> kindNumbers;
  std::vector<unsigned> kinds; // by frontier
  std::vector<Ticks> dueSums;  // by frontier
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
/// asked of those alive (the number of their list), the frontiers, and what each costs beyond the
/// first.
struct State {
  unsigned list = 0;
  std::vector<unsigned> frontiers; ///< numbers in the list's table
  std::vector<Ticks> costs;

  std::vector<int64_t> key() const;
};

/// Where an op leads from a state.
struct Outcome {
  unsigned next;              ///< the state behind it
  std::vector<Entry> entries; ///< of its frontiers
  unsigned pruned;
};

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_FRONTIERS_H
