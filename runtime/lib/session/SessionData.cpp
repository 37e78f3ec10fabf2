// The C interface: inputs, outputs, state.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/InputFile.h"
#include "session/AmongProcesses.h"
#include "session/Session.h"
#include "weft/runtime/OutputFile.h"

#include "weft/runtime/Npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

std::string names(const ProgramView &p, Range ports) {
  std::string text;
  for (const Port &port : p.Ports().slice(ports))
    text += (text.empty() ? "'" : ", '") + std::string(p.string(port.name)) + "'";
  return text.empty() ? "none" : text;
}

Status findPort(const ProgramView &p, const char *program, const char *name, bool input,
                const Port *&result) {
  uint32_t index = 0;
  WEFT_TRY(findProgram(p, program, index));
  Range range = input ? p.Programs()[index].inputs : p.Programs()[index].outputs;
  for (const Port &port : p.Ports().slice(range))
    if (p.string(port.name) == name) {
      result = &port;
      return {};
    }
  return Status::user(std::string("program '") + program + "' has no " +
                      (input ? "input" : "output") + " '" + name + "'; it has " + names(p, range));
}

uint64_t globalBytes(const ProgramView &p, DType dtype, Range shape) {
  uint64_t bytes = dtypeBytes(dtype);
  for (int64_t size : p.ints(shape))
    bytes *= uint64_t(size);
  return bytes;
}

Status checkBytes(const char *name, uint64_t expected, uint64_t found) {
  if (expected == found)
    return {};
  return Status::user(std::string("'") + name + "' has " + std::to_string(expected) +
                      " bytes, the caller's buffer " + std::to_string(found));
}

/// Copies between global memory and the local ranks' shards.
Status scatter(weft_session &session, const Port &port, const void *data) {
  uint64_t bytes = dtypeBytes(port.dtype);
  for (std::unique_ptr<RankContext> &rank : session.ranks) {
    if (!rank->holds(port))
      continue;
    const ShardMap &map = rank->map(port.placement);
    HostCopy shard = rank->shard(port);
    char *to = shard.data();
    if (map.numValid() != map.numLocal())
      std::memset(to, 0, size_t(map.numLocal()) * bytes);
    map.forEachRun([&](const ShardMap::Run &run) {
      std::memcpy(to + run.local * bytes, static_cast<const char *>(data) + run.global * bytes,
                  size_t(run.count) * bytes);
    });
    WEFT_TRY(shard.upload());
  }
  return {};
}

/// Of a Port or a State.
template <typename Tensor> Status gather(weft_session &session, const Tensor &tensor, void *data) {
  uint64_t bytes = dtypeBytes(tensor.dtype);
  for (std::unique_ptr<RankContext> &rank : session.ranks) {
    if (!rank->writes(tensor))
      continue;
    HostCopy shard = rank->shard(tensor);
    WEFT_TRY(shard.download());
    const char *from = shard.data();
    rank->map(tensor.placement).forEachRun([&](const ShardMap::Run &run) {
      std::memcpy(static_cast<char *>(data) + run.global * bytes, from + run.local * bytes,
                  size_t(run.count) * bytes);
    });
  }
  return {};
}

Status setInputFile(weft_session &session, const char *program, const char *name,
                    const char *path) {
  const ProgramView &p = session.view();
  const Port *port = nullptr;
  WEFT_TRY(findPort(p, program, name, true, port));
  NpyFile file;
  WEFT_TRY(openInputFile(p, *port, path, file));
  return scatter(session, *port, file.data());
}

Status writeRuns(RankContext &rank, const Port &port, const char *path, size_t headerBytes) {
  HostCopy shard = rank.shard(port);
  WEFT_TRY(shard.download());
  int descriptor = ::open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status::user(std::string("'") + path + "' cannot be opened on " + hostOfProcess() +
                        ": " + std::strerror(errno) +
                        "; all hosts must share the folder, and its name be the same there");
  int64_t bytes = dtypeBytes(port.dtype);
  const char *from = shard.data();
  bool good = true;
  rank.map(port.placement).forEachRun([&](const ShardMap::Run &run) {
    int64_t done = 0, total = run.count * bytes;
    while (good && done < total) {
      ssize_t n = pwrite(descriptor, from + run.local * bytes + done, size_t(total - done),
                         off_t(int64_t(headerBytes) + run.global * bytes + done));
      if (n < 0 && errno == EINTR)
        continue;
      good = n > 0;
      done += n;
    }
  });
  // Over a network it is only now that a disk may turn out to be full.
  good = good && ::fsync(descriptor) == 0;
  int error = errno;
  if (::close(descriptor) != 0 && good) {
    good = false;
    error = errno;
  }
  if (!good)
    return Status::user(std::string("'") + path + "' cannot be written: " + std::strerror(error));
  return {};
}

Status writeOutput(weft_session &session, const char *program, const char *name, const char *path) {
  const ProgramView &p = session.view();
  const Port *port = nullptr;
  WEFT_TRY(findPort(p, program, name, false, port));
  std::vector<int64_t> shape = shapeOf(p, port->shape);
  // Which file it is, the first process decides: what lies beside the name from before, or where
  // the folder is another one, is not taken for it.
  std::string suffix = session.firstRank == 0 ? partialSuffix(path) : "";
  WEFT_TRY(broadcast(session, suffix));
  std::string partial = path + suffix;
  auto settled = [&](Status written) {
    return session.firstRank == 0 ? settlePartial(path, suffix, std::move(written)) : written;
  };
  // The others wait for the file, and learn whether it is there, and if not, why.
  Status made = workTogether(session, [&]() -> Status {
    if (session.firstRank != 0)
      return {};
    return createNpy(partial, port->dtype, shape);
  });
  if (!made.ok())
    return settled(made);
  size_t header = npyHeader(port->dtype, shape).size();
  // All of it is there, or nothing; and no process goes on before it is.
  Status whole = workTogether(session, [&]() -> Status {
    for (std::unique_ptr<RankContext> &rank : session.ranks)
      if (rank->writes(*port))
        WEFT_TRY(writeRuns(*rank, *port, partial.c_str(), header));
    return {};
  });
  if (!whole.ok())
    return settled(whole);
  return workTogether(session, [&] { return settled({}); });
}

} // namespace

int32_t weft_set_input(weft_session *session, const char *program, const char *name,
                       const void *data, uint64_t bytes, weft_status *status) {
  const Port *port = nullptr;
  Status result = findPort(session->view(), program, name, true, port);
  if (result.ok())
    result = checkBytes(name, globalBytes(session->view(), port->dtype, port->shape), bytes);
  if (result.ok())
    result = scatter(*session, *port, data);
  return report(result, status);
}

int32_t weft_set_input_file(weft_session *session, const char *program, const char *name,
                            const char *path, weft_status *status) {
  return report(setInputFile(*session, program, name, path), status);
}

int32_t weft_get_output(weft_session *session, const char *program, const char *name, void *data,
                        uint64_t bytes, weft_status *status) {
  const Port *port = nullptr;
  Status result = findPort(session->view(), program, name, false, port);
  if (result.ok())
    result = checkBytes(name, globalBytes(session->view(), port->dtype, port->shape), bytes);
  if (result.ok())
    result = gather(*session, *port, data);
  return report(result, status);
}

int32_t weft_gather_output(weft_session *session, const char *program, const char *name, void *data,
                           uint64_t bytes, weft_status *status) {
  const Port *port = nullptr;
  Status result = findPort(session->view(), program, name, false, port);
  if (result.ok() && (data || session->firstRank == 0))
    result = checkBytes(name, globalBytes(session->view(), port->dtype, port->shape), bytes);
  if (result.ok() && data)
    result = gather(*session, *port, data);
  if (result.ok())
    result = gatherOutput(*session, *port, static_cast<char *>(data));
  return report(result, status);
}

int32_t weft_get_state(weft_session *session, const char *name, void *data, uint64_t bytes,
                       weft_status *status) {
  const ProgramView &p = session->view();
  for (const State &state : p.States()) {
    if (p.string(state.name) != name)
      continue;
    Status result = checkBytes(name, globalBytes(p, state.dtype, state.shape), bytes);
    if (result.ok())
      result = gather(*session, state, data);
    return report(result, status);
  }
  return report(Status::user(std::string("the program has no state '") + name + "'"), status);
}

int32_t weft_write_output(weft_session *session, const char *program, const char *name,
                          const char *path, weft_status *status) {
  return report(writeOutput(*session, program, name, path), status);
}
