// Reads the variables that launchers set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Launch.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

using namespace weft::runtime;

namespace {

const char *variable(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

Status number(const char *name, int64_t least, int64_t most, int64_t &result) {
  const char *text = variable(name);
  char *end = nullptr;
  long long value = text ? std::strtoll(text, &end, 10) : 0;
  if (text && !*end && value >= least && value <= most) {
    result = value;
    return {};
  }
  return {StatusCode::Usage, std::string("the launcher's variable ") + name +
                                 (text ? std::string(" is '") + text + "'" : " is not set") +
                                 ", wanted is a number from " + std::to_string(least) + " to " +
                                 std::to_string(most)};
}

Status rankAndSize(const char *rank, const char *size, JobAddress &job) {
  Status status = number(size, 1, 1 << 20, job.processes);
  return status.ok() ? number(rank, 0, job.processes - 1, job.rank) : status;
}

/// Whether all of the job is on one machine, as far as torchrun says. A Slurm step may be one of
/// several, each with a torchrun for its node.
bool isOneMachineOfTorchrun() {
  const char *local = variable("LOCAL_WORLD_SIZE"), *all = variable("WORLD_SIZE");
  return local && all && std::string(local) == all;
}

/// The same of a Slurm step that is all of the job.
bool isOneMachineOfSlurm() {
  const char *nodes = variable("SLURM_STEP_NUM_NODES");
  return nodes && std::string(nodes) == "1";
}

Status meetingPoint(bool isOneMachine, JobAddress &job) {
  const char *host = variable("MASTER_ADDR");
  if (!host)
    return {StatusCode::Usage, "RANK and WORLD_SIZE are set, but not MASTER_ADDR: the host of "
                               "rank 0, where the processes meet; torchrun sets it"};
  job.host = isOneMachine ? "127.0.0.1" : host;
  int64_t port = 0;
  Status status = number("MASTER_PORT", 1, 65534, port);
  // torchrun's own store listens there.
  if (variable("TORCHELASTIC_RUN_ID"))
    ++port;
  job.port = uint16_t(port);
  return status;
}

/// What a launcher's variables say of the job keeps jobs apart, and nobody out.
Status makeToken(std::initializer_list<const char *> names, JobAddress &job) {
  std::string text;
  for (const char *name : names)
    if (const char *value = variable(name))
      text += std::string(value) + "/";
  job.token = {std::hash<std::string>()(text), std::hash<std::string>()("weft/" + text)};
  const char *secret = variable("WEFT_JOB_SECRET");
  if (!secret)
    return {};
  std::string digits = secret;
  if (digits.size() != 32 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return {StatusCode::Usage, "WEFT_JOB_SECRET must be 32 hexadecimal digits, the same at all "
                               "ranks"};
  for (size_t i = 0; i < 2; ++i)
    job.token[i] = std::strtoull(digits.substr(i * 16, 16).c_str(), nullptr, 16);
  return {};
}

} // namespace

std::string weft::runtime::firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of("-,]", bracket);
  size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos)
    return "";
  // What follows the bracket belongs to the name too.
  size_t next = list.find(',', close);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, next == std::string::npos ? next : next - close - 1);
}

const char *weft::runtime::transportOf(const Launcher &launch) {
  return launch.kind == Launcher::Kind::Mpi   ? "mpi"
         : launch.kind == Launcher::Kind::Tcp ? "tcp"
                                              : "inproc";
}

Status weft::runtime::detectLauncher(Launcher &launch) {
  launch = {};
  const std::pair<const char *, const char *> mpi[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMIX_RANK", "PMIX_SIZE"},
      {"PMI_RANK", "PMI_SIZE"}};
  for (auto [rank, size] : mpi)
    if (variable(rank)) {
      launch.kind = Launcher::Kind::Mpi;
      launch.job.rank = std::max(0ll, std::atoll(variable(rank)));
      launch.job.processes = variable(size) ? std::atoll(variable(size)) : 0;
      return {};
    }
  JobAddress &job = launch.job;
  if (variable("RANK") && variable("WORLD_SIZE")) {
    Status status = rankAndSize("RANK", "WORLD_SIZE", job);
    if (!status.ok() || job.processes == 1)
      return status;
    launch.kind = Launcher::Kind::Tcp;
    if (const char *listener = variable("WEFT_JOB_LISTENER"))
      job.listener = job.rank == 0 ? std::atoi(listener) : -1;
    WEFT_TRY(makeToken({"WORLD_SIZE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}, job));
    return meetingPoint(isOneMachineOfTorchrun(), job);
  }
  // A shell within an allocation has a process id, but no step of many tasks.
  if (!variable("SLURM_STEP_NUM_TASKS") || !variable("SLURM_PROCID"))
    return {};
  Status status = rankAndSize("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", job);
  if (!status.ok() || job.processes == 1)
    return status;
  launch.kind = Launcher::Kind::Tcp;
  // A secret must not move the port.
  unsigned long hash = std::hash<std::string>()(
      std::string(variable("SLURM_JOB_ID") ? variable("SLURM_JOB_ID") : "") + "/" +
      (variable("SLURM_STEP_ID") ? variable("SLURM_STEP_ID") : ""));
  WEFT_TRY(makeToken({"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"}, job));
  if (variable("MASTER_ADDR") && variable("MASTER_PORT"))
    return meetingPoint(isOneMachineOfSlurm(), job);
  const char *nodes = variable("SLURM_STEP_NODELIST");
  job.host = nodes ? firstHost(nodes) : "";
  if (job.host.empty())
    return {StatusCode::Usage, "SLURM_STEP_NODELIST does not name the first "
                               "host; set MASTER_ADDR and MASTER_PORT"};
  if (isOneMachineOfSlurm())
    job.host = "127.0.0.1";
  // Jobs that share a machine rarely meet; steps of one job never. Below the ports that systems
  // give to connections of their own (Linux: from 32768).
  job.port = uint16_t(20000 + hash % 12000);
  return {};
}
