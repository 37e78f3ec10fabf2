// What belongs to one key, in the order in which keys came.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EXPLAIN_GROUPING_H
#define WEFT_LIB_EXPLAIN_GROUPING_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <vector>

namespace weft::explain {

/// Finds the group of a key, or makes it; groups stay in the order in which they came.
template <typename Group, typename Key> class Grouping {
public:
  Group &of(const Key &key, llvm::function_ref<Group()> make) {
    auto [found, isNew] = numbers.try_emplace(key, groups.size());
    if (isNew)
      groups.push_back(make());
    return groups[found->second];
  }
  std::vector<Group> groups;

private:
  std::map<Key, size_t> numbers;
};

} // namespace weft::explain

#endif // WEFT_LIB_EXPLAIN_GROUPING_H
