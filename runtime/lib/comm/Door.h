// Where processes that want to join a job knock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_DOOR_H
#define WEFT_RUNTIME_LIB_COMM_DOOR_H

#include "job/World.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// What a process says first on every connection.
struct Greeting {
  static constexpr uint64_t kMagic = 0x57656674'54637032; // "WeftTcp2"
  uint64_t magic;
  std::array<uint64_t, 2> token;
  uint64_t group; // 0: the rendezvous
  int64_t processes, rank;
  uint64_t port; // where it listens
};

/// A listening socket. Nobody who connects to it is waited for: who does not
/// greet within seconds, or does not know the token, is sent away, and holds up
/// none of the others.
class Door {
public:
  Door() = default;
  ~Door();
  Door(const Door &) = delete;

  /// Listens where processes of this machine alone can connect, or all.
  /// `adopted`: a socket that listens already, or -1.
  Status open(uint32_t address, uint16_t wanted, int adopted);
  uint16_t port() const { return ownPort; }

  /// A connection that knows `token`, and its greeting; -1 if none was complete
  /// within 20 ms. The caller owns it. Fails if no more connections can be taken.
  Status take(const std::array<uint64_t, 2> &token, Greeting &greeting, int &connection);

  /// So that firewalls remember a connection on which nothing is said for hours, and a machine that
  /// is gone is noticed.
  static void keepAlive(int connection);

private:
  struct Guest {
    int connection;
    size_t bytes; // of the greeting that are here
    Clock::time_point since;
    Greeting greeting;
  };
  Status acceptAll();
  /// False if the guest has left or been too slow.
  static bool listenTo(Guest &guest);

  int listener = -1;
  uint16_t ownPort = 0;
  std::vector<Guest> guests;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_DOOR_H
