// Makes and removes the folder of a job under MPI.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MpiFolder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace weft::runtime;
namespace fs = std::filesystem;

Status MpiFolder::make() {
  remove();
  const char *chosen = std::getenv("TMPDIR");
  std::string place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : chosen ? chosen : "/tmp";
  std::string name = place + "/weft-mpi-" + std::to_string(getpid()) + "-XXXXXX";
  if (!mkdtemp(name.data()))
    return Status::user("a folder for what MPI shares cannot be made in '" + place +
                        "': " + std::strerror(errno));
  path = name;
  return {};
}

void MpiFolder::setVariables() const {
  // Of Open MPI 4 and 5: segments of shared memory, and what mpirun and ranks tell each other by.
  for (const char *variable :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory",
        "OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"})
    setenv(variable, path.c_str(), 0);
}

void MpiFolder::remove() {
  // A process that is being killed may still put something there.
  constexpr int kTrials = 100;
  constexpr useconds_t kPause = 5000;
  std::error_code ignored;
  for (int i = 0; i < kTrials && !path.empty() && fs::exists(path, ignored); ++i) {
    if (i > 0)
      usleep(kPause);
    fs::remove_all(path, ignored);
  }
  path.clear();
}
