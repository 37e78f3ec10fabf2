// Takes connections and reads greetings, many at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/Door.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// A process that belongs to the job greets at once.
constexpr double kPatience = 5;
/// Connections that have not greeted yet; the oldest goes when one more comes.
constexpr size_t kMostGuests = 256;

} // namespace

Door::~Door() {
  for (Guest &guest : guests)
    close(guest.connection);
  if (listener >= 0)
    close(listener);
}

Status Door::open(uint32_t address, uint16_t wanted, int adopted) {
  listener = adopted >= 0 ? adopted : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(wanted);
  name.sin_addr.s_addr = address;
  auto *asName = reinterpret_cast<sockaddr *>(&name);
  socklen_t length = sizeof name;
  bool good = listener >= 0;
  if (good && adopted < 0) {
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    good = bind(listener, asName, length) == 0 && listen(listener, SOMAXCONN) == 0;
  }
  good = good && getsockname(listener, asName, &length) == 0 &&
         fcntl(listener, F_SETFL, O_NONBLOCK) == 0 && fcntl(listener, F_SETFD, FD_CLOEXEC) == 0;
  if (!good)
    return Status::user(std::strerror(errno));
  ownPort = ntohs(name.sin_port);
  return {};
}

void Door::keepAlive(int connection) {
  constexpr int kOn = 1, kIdleSeconds = 30, kSeconds = 10, kTimes = 6;
  setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &kSeconds, sizeof kSeconds);
  setsockopt(connection, IPPROTO_TCP, TCP_KEEPCNT, &kTimes, sizeof kTimes);
}

Status Door::acceptAll() {
  while (guests.size() < kMostGuests) {
    int came = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (came < 0 && (errno == EMFILE || errno == ENFILE))
      return Status::user(std::string("no more ranks can connect: ") + std::strerror(errno) +
                          "; allow more open files: ulimit -n");
    if (came < 0)
      return {};
    keepAlive(came);
    guests.push_back({came, 0, Clock::now(), {}});
  }
  return {};
}

bool Door::listenTo(Guest &guest) {
  while (guest.bytes < sizeof guest.greeting) {
    char *to = reinterpret_cast<char *>(&guest.greeting) + guest.bytes;
    ssize_t got = recv(guest.connection, to, sizeof guest.greeting - guest.bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return secondsSince(guest.since) < kPatience;
    if (got <= 0)
      return false;
    guest.bytes += size_t(got);
  }
  return true;
}

Status Door::take(const std::array<uint64_t, 2> &token, Greeting &greeting, int &connection) {
  connection = -1;
  std::vector<pollfd> waits{{listener, POLLIN, 0}};
  for (const Guest &guest : guests)
    waits.push_back({guest.connection, POLLIN, 0});
  if (poll(waits.data(), waits.size(), 20) < 0)
    return {};
  WEFT_TRY(acceptAll());
  for (size_t i = 0; i < guests.size();) {
    Guest &guest = guests[i];
    bool stays = listenTo(guest);
    bool complete = stays && guest.bytes == sizeof guest.greeting;
    if (stays && !complete) {
      ++i;
      continue;
    }
    Guest gone = guest;
    guests.erase(guests.begin() + long(i));
    if (complete && gone.greeting.magic == Greeting::kMagic && gone.greeting.token == token) {
      greeting = gone.greeting;
      connection = gone.connection;
      return {};
    }
    // Whoever does not know the job is somebody else's, or curious.
    close(gone.connection);
  }
  // Those that are left have not greeted.
  if (guests.size() == kMostGuests) {
    close(guests.front().connection);
    guests.erase(guests.begin());
  }
  return {};
}
