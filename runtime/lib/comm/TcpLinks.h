// Sockets between the processes of a job that no MPI started.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_TCPLINKS_H
#define WEFT_RUNTIME_LIB_COMM_TCPLINKS_H

#include "comm/Door.h"

#include "weft/runtime/Communicator.h"
#include "weft/runtime/Launch.h"

#include <map>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <vector>

namespace weft::runtime {

/// Every process listens; rank 0 learns where all the others do and tells them.
/// The connections of this rendezvous stay open: a process that ends without a
/// word has failed.
class TcpLinks {
public:
  TcpLinks(const JobAddress &job, const weft_comm_host &host) : job(job), host(host) {}
  ~TcpLinks();
  TcpLinks(const TcpLinks &) = delete;

  Status open();

  int64_t rank() const { return job.rank; }
  int64_t processes() const { return job.processes; }

  /// Connections to the other members of a group, by member (-1 for `me`). All
  /// members call it in the same order for the same groups.
  Status connectGroup(uint32_t id, const std::vector<int64_t> &ranks, int64_t me,
                      std::vector<int> &links);

  /// Fails if a process has ended before its time or said that it failed, if a
  /// local rank failed, or if the host's patience since `start` is at its end.
  /// `missing` are the process ranks that are waited for.
  Status checkWait(double waited, const std::vector<int64_t> &missing);

  /// Tells the others that the job is over, with an exit code.
  void abort(int32_t code);

private:
  /// The last of `checkWait`'s reasons alone.
  Status checkPatience(double waited, const std::vector<int64_t> &missing);
  /// Where rank 0 is.
  Status resolve(sockaddr_in &result);
  Status listenOn(const std::string &address, uint16_t wanted, int adopted);
  Status gather();
  Status join();
  Status greet(int descriptor, const Greeting &greeting, const char *whom);
  Status connectTo(const std::string &address, uint16_t wanted, int64_t peer, int &descriptor);

  JobAddress job;
  weft_comm_host host;
  Door door;
  /// Where each process listens.
  std::vector<std::string> addresses;
  std::vector<uint16_t> ports;
  /// To rank 0, or from rank 0 to each other; -1 where there is none.
  std::vector<int> control;
  std::mutex mutex;
  /// Connections that came before they were asked for, by group and rank.
  std::map<std::pair<uint64_t, int64_t>, int> early;
  std::map<uint64_t, uint32_t> made; // groups of the same members, so far
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_TCPLINKS_H
