// Messages to and from all members of a group, made anew for each exchange.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_COLLECTIVES_MESSAGES_H
#define WEFT_RUNTIME_LIB_COMM_COLLECTIVES_MESSAGES_H

#include "weft/runtime/Communicator.h"

#include <vector>

namespace weft::runtime {

/// A message is a list of blocks; `most` blocks a member have room.
class Messages {
public:
  void reserve(size_t members, size_t most) {
    blocks.resize(members * most);
    messages.resize(members);
    capacity = most;
  }
  void clear() {
    for (size_t m = 0; m < messages.size(); ++m)
      messages[m] = {blocks.data() + m * capacity, 0};
  }
  void add(int64_t member, const void *data, int64_t bytes) {
    weft_message &message = messages[size_t(member)];
    blocks[size_t(member) * capacity + message.count++] = {data, uint64_t(bytes)};
  }
  const weft_message *data() const { return messages.data(); }
  const weft_message &operator[](int64_t member) const { return messages[size_t(member)]; }

private:
  std::vector<weft_block> blocks;
  std::vector<weft_message> messages;
  size_t capacity = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_COLLECTIVES_MESSAGES_H
