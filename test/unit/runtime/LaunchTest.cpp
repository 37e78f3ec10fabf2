// What launchers' variables say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Launch.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

/// A clean environment with these variables, until the end of the test.
struct Environment {
  static constexpr const char *kKnown[] = {"OMPI_COMM_WORLD_RANK",
                                           "PMIX_RANK",
                                           "PMI_RANK",
                                           "RANK",
                                           "WORLD_SIZE",
                                           "LOCAL_WORLD_SIZE",
                                           "MASTER_ADDR",
                                           "MASTER_PORT",
                                           "SLURM_PROCID",
                                           "SLURM_STEP_NUM_TASKS",
                                           "SLURM_STEP_NODELIST",
                                           "SLURM_STEP_NUM_NODES",
                                           "SLURM_JOB_ID",
                                           "SLURM_STEP_ID",
                                           "TORCHELASTIC_RUN_ID",
                                           "TORCHELASTIC_RESTART_COUNT"};
  Environment(std::vector<std::pair<const char *, const char *>> values) {
    for (const char *name : kKnown)
      unsetenv(name);
    for (auto &[name, value] : values)
      setenv(name, value, 1);
  }
  ~Environment() {
    for (const char *name : kKnown)
      unsetenv(name);
  }
};

TEST(Launch, AloneByDefault) {
  Environment environment({{"RANK", "3"}, {"SLURM_PROCID", "0"}});
  Launcher launch;
  EXPECT_TRUE(detectLauncher(launch).ok());
  EXPECT_EQ(launch.kind, Launcher::Kind::None);
}

TEST(Launch, MpiComesFirst) {
  Environment environment({{"OMPI_COMM_WORLD_RANK", "2"}, {"RANK", "1"}, {"WORLD_SIZE", "4"}});
  Launcher launch;
  EXPECT_TRUE(detectLauncher(launch).ok());
  EXPECT_EQ(launch.kind, Launcher::Kind::Mpi);
  EXPECT_EQ(launch.job.rank, 2);
}

TEST(Launch, TorchrunListensOnItsPortItself) {
  Environment environment({{"RANK", "1"},
                           {"WORLD_SIZE", "4"},
                           {"MASTER_ADDR", "node1"},
                           {"MASTER_PORT", "29500"},
                           {"TORCHELASTIC_RUN_ID", "none"}});
  Launcher launch;
  EXPECT_TRUE(detectLauncher(launch).ok());
  EXPECT_EQ(launch.kind, Launcher::Kind::Tcp);
  EXPECT_EQ(launch.job.rank, 1);
  EXPECT_EQ(launch.job.processes, 4);
  EXPECT_EQ(launch.job.host, "node1");
  EXPECT_EQ(launch.job.port, 29501);
}

TEST(Launch, SlurmStepsMeetAtTheirFirstNode) {
  Environment environment({{"SLURM_PROCID", "5"},
                           {"SLURM_STEP_NUM_TASKS", "8"},
                           {"SLURM_JOB_ID", "77"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_STEP_NODELIST", "gpu[07-10,12]"}});
  Launcher launch;
  EXPECT_TRUE(detectLauncher(launch).ok());
  EXPECT_EQ(launch.kind, Launcher::Kind::Tcp);
  EXPECT_EQ(launch.job.rank, 5);
  EXPECT_EQ(launch.job.host, "gpu07");
  EXPECT_GE(launch.job.port, 20000);
  EXPECT_LT(launch.job.port, 32768); // from where on the system has its own
}

/// Where the ranks meet, if the launcher says of its machines what `name` and `value` do.
std::string meetingHost(std::vector<std::pair<const char *, const char *>> launcher,
                        const char *name, const char *value) {
  launcher.emplace_back(name, value);
  Environment environment(launcher);
  Launcher launch;
  EXPECT_TRUE(detectLauncher(launch).ok());
  EXPECT_EQ(launch.kind, Launcher::Kind::Tcp);
  return launch.job.host;
}

TEST(Launch, OnOneMachineRanksMeetWhereNobodyElseReaches) {
  const std::vector<std::pair<const char *, const char *>> torchrun = {
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(meetingHost(torchrun, "LOCAL_WORLD_SIZE", "4"), "127.0.0.1");
  EXPECT_EQ(meetingHost(torchrun, "LOCAL_WORLD_SIZE", "2"), "node1");
  EXPECT_EQ(meetingHost(torchrun, "LOCAL_WORLD_SIZE", ""), "node1");
  const std::vector<std::pair<const char *, const char *>> slurm = {
      {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_NODELIST", "node1"}};
  EXPECT_EQ(meetingHost(slurm, "SLURM_STEP_NUM_NODES", "1"), "127.0.0.1");
  EXPECT_EQ(meetingHost(slurm, "SLURM_STEP_NUM_NODES", "2"), "node1");
  EXPECT_EQ(meetingHost(slurm, "SLURM_STEP_NUM_NODES", ""), "node1");
  auto told = slurm;
  told.insert(told.end(), {{"MASTER_ADDR", "node2"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(meetingHost(told, "SLURM_STEP_NUM_NODES", "1"), "127.0.0.1");
  EXPECT_EQ(meetingHost(told, "SLURM_STEP_NUM_NODES", "2"), "node2");
  // A step for each node, and in each a torchrun of several.
  auto both = torchrun;
  both.emplace_back("LOCAL_WORLD_SIZE", "2");
  EXPECT_EQ(meetingHost(both, "SLURM_STEP_NUM_NODES", "1"), "node1");
}

TEST(Launch, WrongVariablesAreNamed) {
  for (auto &[rank, size, port, named] :
       {std::tuple("4", "4", "1", "RANK"), std::tuple("x", "4", "1", "RANK"),
        std::tuple("0", "0", "1", "WORLD_SIZE"), std::tuple("0", "2", "99999", "MASTER_PORT")}) {
    Environment environment(
        {{"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", port}});
    Launcher launch;
    Status status = detectLauncher(launch);
    EXPECT_EQ(status.code(), StatusCode::Usage);
    EXPECT_NE(status.text().find(named), std::string::npos) << status.text();
  }
}

TEST(Launch, FirstHosts) {
  EXPECT_EQ(firstHost("node1"), "node1");
  EXPECT_EQ(firstHost("node1,node2"), "node1");
  EXPECT_EQ(firstHost("node[007-012,20],login"), "node007");
  EXPECT_EQ(firstHost("r[3]n.x,r4"), "r3n.x");
  EXPECT_EQ(firstHost("a,b[1-2]"), "a");
  EXPECT_EQ(firstHost("node[1-"), "");
}

} // namespace
