// Rendezvous at rank 0, connections of groups, and the watch over processes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/TcpLinks.h"

#include "job/World.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;

namespace {

constexpr char kGoodbye = 'B', kAborted = 'A';

std::string why() { return std::strerror(errno); }

/// "rank 2, rank 3".
std::string rankList(const std::vector<int64_t> &ranks) {
  std::string text;
  for (int64_t rank : ranks)
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
  return text;
}

bool sendAll(int descriptor, const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t sent = ::send(descriptor, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    bytes -= size_t(sent);
  }
  return true;
}

sockaddr_in ipv4(uint32_t address, uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  result.sin_addr.s_addr = address;
  return result;
}

std::string textOf(const sockaddr_in &address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

bool isLoopback(const std::string &address) { return address.compare(0, 4, "127.") == 0; }

/// Whether who named rank 0's host so meant this machine alone. A name that stands for a loopback
/// address does not say so: many systems give their own name one, which others see elsewhere.
bool meansThisMachine(const std::string &host) {
  in_addr address{};
  return host == "localhost" || (isLoopback(host) && inet_pton(AF_INET, host.c_str(), &address));
}

/// A process has connections to all others, and one more for each group that both are in.
void allowConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// Where connecting to a port of this machine before anybody listens there got it as its own, too.
bool isToItself(int descriptor) {
  sockaddr_in own{}, peer{};
  socklen_t length = sizeof own;
  getsockname(descriptor, reinterpret_cast<sockaddr *>(&own), &length);
  length = sizeof peer;
  getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &length);
  return own.sin_port == peer.sin_port && own.sin_addr.s_addr == peer.sin_addr.s_addr;
}

/// Connects without waiting for longer; 0 or an errno value. The machine that is
/// asked may need longer, and is asked again then.
int connectWithin(int descriptor, const sockaddr_in &name, int milliseconds) {
  int flags = fcntl(descriptor, F_GETFL);
  fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  int code =
      connect(descriptor, reinterpret_cast<const sockaddr *>(&name), sizeof name) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    pollfd wait{descriptor, POLLOUT, 0};
    socklen_t size = sizeof code;
    code = ETIMEDOUT;
    if (poll(&wait, 1, milliseconds) > 0)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size);
  }
  fcntl(descriptor, F_SETFL, flags);
  return code;
}

} // namespace

TcpLinks::~TcpLinks() {
  for (int descriptor : control)
    if (descriptor >= 0) {
      (void)sendAll(descriptor, &kGoodbye, 1);
      close(descriptor);
    }
  for (auto &entry : early)
    close(entry.second);
}

Status TcpLinks::resolve(sockaddr_in &result) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  Clock::time_point start = Clock::now();
  int code;
  // A name server that all ranks of a large job ask at once may be late.
  while ((code = getaddrinfo(job.host.c_str(), nullptr, &hints, &found)) == EAI_AGAIN) {
    WEFT_TRY(checkWait(secondsSince(start), {0}).prefix("asking for '" + job.host + "'"));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  if (code != 0)
    return Status::user("the first process's host '" + job.host + "' is not found: " +
                        gai_strerror(code) + "; set MASTER_ADDR to its name or IPv4 address");
  std::memcpy(&result, found->ai_addr, sizeof result);
  freeaddrinfo(found);
  return {};
}

/// On `address` where the job is this machine's alone, else for all.
Status TcpLinks::listenOn(const std::string &address, uint16_t wanted, int adopted) {
  sockaddr_in name{};
  if (meansThisMachine(job.host))
    inet_pton(AF_INET, address.c_str(), &name.sin_addr);
  Status opened = door.open(name.sin_addr.s_addr, wanted, adopted);
  if (opened.ok())
    return {};
  return Status::user("rank " + std::to_string(job.rank) + " cannot listen on port " +
                      std::to_string(wanted) + ": " + opened.text() +
                      "; set MASTER_PORT to a port that is free on the "
                      "first process's machine");
}

Status TcpLinks::open() {
  addresses.resize(size_t(job.processes));
  ports.resize(size_t(job.processes));
  control.assign(size_t(job.processes), -1);
  allowConnections();
  return job.rank == 0 ? gather() : join();
}

/// Rank 0: waits for all others, then tells them where each listens.
Status TcpLinks::gather() {
  WEFT_TRY(listenOn(job.host == "localhost" ? "127.0.0.1" : job.host, job.port, job.listener));
  Waited waited;
  std::vector<int64_t> missing;
  for (int64_t rank = 1; rank < job.processes; ++rank)
    missing.push_back(rank);
  while (!missing.empty()) {
    Greeting greeting;
    int descriptor = -1;
    WEFT_TRY(door.take(job.token, greeting, descriptor));
    if (descriptor < 0) {
      WEFT_TRY(checkWait(waited.seconds(), missing));
      continue;
    }
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    getpeername(descriptor, reinterpret_cast<sockaddr *>(&peer), &length);
    auto found = std::find(missing.begin(), missing.end(), greeting.rank);
    if (greeting.processes != job.processes || found == missing.end()) {
      close(descriptor);
      return Status::user("a process at " + textOf(peer) + " says it is rank " +
                          std::to_string(greeting.rank) + " of " +
                          std::to_string(greeting.processes) + ", but " +
                          (greeting.processes != job.processes
                               ? "there are " + std::to_string(job.processes) + " processes"
                               : "that is none that is waited for"));
    }
    missing.erase(found);
    control[size_t(greeting.rank)] = descriptor;
    addresses[size_t(greeting.rank)] = textOf(peer);
    ports[size_t(greeting.rank)] = uint16_t(greeting.port);
  }
  // Fixed-size entries: an address as text, and a port.
  std::vector<char> table(size_t(job.processes) * 24);
  for (size_t rank = 0; rank < size_t(job.processes); ++rank) {
    std::snprintf(&table[rank * 24], 16, "%s", addresses[rank].c_str());
    std::memcpy(&table[rank * 24 + 16], &ports[rank], sizeof ports[rank]);
  }
  for (int64_t rank = 1; rank < job.processes; ++rank)
    if (!sendAll(control[size_t(rank)], table.data(), table.size()))
      return {StatusCode::RankFailed,
              "rank " + std::to_string(rank) + " is lost during start: " + why()};
  return {};
}

Status TcpLinks::join() {
  sockaddr_in first{};
  WEFT_TRY(resolve(first));
  std::string address = textOf(first);
  int link;
  WEFT_TRY(connectTo(address, job.port, 0, link));
  control[0] = link;
  sockaddr_in mine{};
  socklen_t length = sizeof mine;
  getsockname(link, reinterpret_cast<sockaddr *>(&mine), &length);
  WEFT_TRY(listenOn(textOf(mine), 0, -1));
  WEFT_TRY(greet(link, {Greeting::kMagic, job.token, 0, job.processes, job.rank, door.port()},
                 "rank 0"));
  std::vector<char> table(size_t(job.processes) * 24);
  // Rank 0 may still wait for others: as long as it does, so does this.
  Waited waited;
  for (size_t at = 0; at < table.size();) {
    ssize_t got = ::recv(link, &table[at], table.size() - at, MSG_DONTWAIT);
    if (got > 0) {
      at += size_t(got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
      return {StatusCode::RankFailed, "rank 0 ended during start; its message says why"};
    pollfd wait{link, POLLIN, 0};
    if (poll(&wait, 1, 20) > 0)
      continue;
    if (host.aborted(host.context))
      return World::stopped();
    // Later than rank 0, whose message tells who is missing. Not `checkWait`: to it the table,
    // come meanwhile, would be the word of a process that ends.
    WEFT_TRY(checkPatience(waited.seconds() - 0.3, {0}));
  }
  for (size_t rank = 0; rank < size_t(job.processes); ++rank) {
    table[rank * 24 + 15] = 0;
    addresses[rank] = &table[rank * 24];
    std::memcpy(&ports[rank], &table[rank * 24 + 16], sizeof ports[rank]);
    // Rank 0 sees the processes of its own machine on the loopback address.
    if (rank == 0 || isLoopback(addresses[rank]))
      addresses[rank] = address;
  }
  return {};
}

Status TcpLinks::greet(int descriptor, const Greeting &greeting, const char *whom) {
  if (sendAll(descriptor, &greeting, sizeof greeting))
    return {};
  return {StatusCode::RankFailed, std::string(whom) + " is lost: " + why()};
}

Status TcpLinks::connectTo(const std::string &address, uint16_t wanted, int64_t peer,
                           int &descriptor) {
  sockaddr_in name = ipv4(0, wanted);
  inet_pton(AF_INET, address.c_str(), &name.sin_addr);
  Clock::time_point start = Clock::now();
  while (true) {
    descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
      return Status::user("socket: " + why());
    int code = connectWithin(descriptor, name, 3000);
    if (code == 0 && isToItself(descriptor))
      code = ECONNREFUSED;
    if (code == 0) {
      Door::keepAlive(descriptor);
      return {};
    }
    close(descriptor);
    descriptor = -1;
    // The other process, or a network that was just made, may not be there yet.
    bool patient = code == ECONNREFUSED || code == ETIMEDOUT || code == EAGAIN ||
                   code == EHOSTUNREACH || code == ENETUNREACH;
    if (!patient)
      return Status::user("rank " + std::to_string(peer) + " at " + address + ":" +
                          std::to_string(wanted) + " cannot be reached: " + std::strerror(code));
    // Not as `Waited` has it, to which a long attempt to connect would be a time of being stopped.
    Status waited = checkWait(secondsSince(start), {peer});
    if (!waited.ok())
      return waited.prefix("connecting to " + address + ":" + std::to_string(wanted));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status TcpLinks::connectGroup(uint32_t id, const std::vector<int64_t> &ranks, int64_t me,
                              std::vector<int> &links) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = std::to_string(id);
  for (int64_t rank : ranks)
    text += "," + std::to_string(rank);
  uint64_t members = std::hash<std::string_view>()(text);
  text += "#" + std::to_string(made[members]++);
  uint64_t key = std::hash<std::string_view>()(text) | 1; // never 0
  links.assign(ranks.size(), -1);
  // A connection is made by the higher of two ranks; the lower one's system
  // takes it before the process asks for it, so nobody waits in a circle.
  std::vector<int64_t> missing;
  for (size_t m = 0; m < ranks.size(); ++m) {
    int64_t peer = ranks[m];
    if (int64_t(m) == me)
      continue;
    if (peer > job.rank) {
      missing.push_back(peer);
      continue;
    }
    WEFT_TRY(connectTo(addresses[size_t(peer)], peer == 0 ? job.port : ports[size_t(peer)], peer,
                       links[m]));
    WEFT_TRY(greet(links[m],
                   {Greeting::kMagic, job.token, key, job.processes, job.rank, door.port()},
                   ("rank " + std::to_string(peer)).c_str()));
  }
  Waited waited;
  while (true) {
    // All that have come, not only the next: who waits names those that are missing.
    for (auto peer = missing.begin(); peer != missing.end();) {
      auto found = early.find({key, *peer});
      if (found == early.end()) {
        ++peer;
        continue;
      }
      auto at = std::find(ranks.begin(), ranks.end(), *peer);
      links[size_t(at - ranks.begin())] = found->second;
      early.erase(found);
      peer = missing.erase(peer);
    }
    if (missing.empty())
      break;
    Greeting greeting;
    int descriptor = -1;
    WEFT_TRY(door.take(job.token, greeting, descriptor));
    if (descriptor < 0)
      WEFT_TRY(checkWait(waited.seconds(), missing));
    else if (!early.try_emplace({greeting.group, greeting.rank}, descriptor).second)
      close(descriptor);
  }
  int on = 1;
  for (int link : links)
    if (link >= 0)
      setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {};
}

Status TcpLinks::checkWait(double waited, const std::vector<int64_t> &missing) {
  if (host.aborted(host.context))
    return World::stopped();
  for (size_t rank = 0; rank < control.size(); ++rank) {
    if (control[rank] < 0)
      continue;
    // Looked at, not taken: other streams look too.
    char word;
    ssize_t got = recv(control[rank], &word, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (got == 1 && word == kGoodbye)
      continue;
    // Rank 0 tells of others' failures too.
    std::string who = "rank " + std::to_string(rank);
    return {StatusCode::RankFailed,
            got == 1 && word == kAborted
                ? "stopped because " + (rank == 0 ? std::string("another rank") : who) + " failed"
                : who + " ended without a word"};
  }
  return checkPatience(waited, missing);
}

Status TcpLinks::checkPatience(double waited, const std::vector<int64_t> &missing) {
  const double limit = host.timeout_seconds(host.context);
  if (waited <= limit)
    return {};
  char patience[32];
  std::snprintf(patience, sizeof patience, "%g", limit);
  return {StatusCode::Hang,
          std::string("no progress for ") + patience + " s; missing: " + rankList(missing)};
}

void TcpLinks::abort(int32_t) {
  for (int descriptor : control)
    if (descriptor >= 0)
      (void)sendAll(descriptor, &kAborted, 1);
}
