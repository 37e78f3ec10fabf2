// Reads the variables that launchers set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Launch.h"

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
  return {StatusCode::Usage,
          std::string("the launcher's variable ") + name +
              (text ? std::string(" is '") + text + "'" : " is not set") +
              ", wanted is a number from " + std::to_string(least) + " to " +
              std::to_string(most)};
}

Status rankAndSize(const char *rank, const char *size, JobAddress &job) {
  Status status = number(size, 1, 1 << 20, job.processes);
  return status.ok() ? number(rank, 0, job.processes - 1, job.rank) : status;
}

Status meetingPoint(JobAddress &job) {
  const char *host = variable("MASTER_ADDR");
  if (!host)
    return {StatusCode::Usage,
            "RANK and WORLD_SIZE are set, but not MASTER_ADDR: the host of "
            "rank 0, where the processes meet; torchrun sets it"};
  job.host = host;
  int64_t port = 0;
  Status status = number("MASTER_PORT", 1, 65534, port);
  // torchrun's own store listens there.
  if (variable("TORCHELASTIC_RUN_ID"))
    ++port;
  job.port = uint16_t(port);
  return status;
}

uint64_t tokenOf(std::initializer_list<const char *> names) {
  std::string text;
  for (const char *name : names)
    if (const char *value = variable(name))
      text += std::string(value) + "/";
  return std::hash<std::string>()(text);
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
         list.substr(close + 1,
                     next == std::string::npos ? next : next - close - 1);
}

Status weft::runtime::detectLauncher(Launcher &launch) {
  launch = {};
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (variable(name)) {
      launch.kind = Launcher::Kind::Mpi;
      launch.job.rank = std::atoll(variable(name));
      return {};
    }
  JobAddress &job = launch.job;
  if (variable("RANK") && variable("WORLD_SIZE")) {
    Status status = rankAndSize("RANK", "WORLD_SIZE", job);
    if (!status.ok() || job.processes == 1)
      return status;
    launch.kind = Launcher::Kind::Tcp;
    job.token = tokenOf(
        {"WORLD_SIZE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"});
    return meetingPoint(job);
  }
  // A shell within an allocation has a process id, but no step of many tasks.
  if (!variable("SLURM_STEP_NUM_TASKS") || !variable("SLURM_PROCID"))
    return {};
  Status status = rankAndSize("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", job);
  if (!status.ok() || job.processes == 1)
    return status;
  launch.kind = Launcher::Kind::Tcp;
  job.token =
      tokenOf({"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"});
  if (variable("MASTER_ADDR") && variable("MASTER_PORT"))
    return meetingPoint(job);
  const char *nodes = variable("SLURM_STEP_NODELIST");
  job.host = nodes ? firstHost(nodes) : "";
  if (job.host.empty())
    return {StatusCode::Usage, "SLURM_STEP_NODELIST does not name the first "
                               "host; set MASTER_ADDR and MASTER_PORT"};
  // Jobs that share a machine rarely meet; steps of one job never.
  job.port = uint16_t(20000 + job.token % 20000);
  return {};
}
