// The main program of every executable that weft-compile makes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Application.h"

#include "device/Devices.h"
#include "weft/runtime/ExecutableFile.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/Launch.h"
#include "weft/runtime/LostFiles.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>

using namespace weft::runtime;

namespace {

/// Whether this process tells what may be wrong on its machine alone: one of
/// each machine, as far as the launcher says who that is.
bool speaksForMachine(const Launcher &launch) {
  bool known = std::getenv(kBoardVariable) || launch.job.rank == 0;
  for (const char *name : {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"})
    if (const char *local = std::getenv(name)) {
      known = true;
      if (std::strcmp(local, "0") == 0)
        return true;
    }
  return launch.job.rank == 0 || !known;
}

} // namespace

int main(int argc, char **argv) {
  surviveFailedWrites();
  tellLostFiles();
  // Started by a descriptor, the system would name the process after that.
  if (const char *slash = std::strrchr(argv[0], '/'))
    prctl(PR_SET_NAME, slash + 1);
  CommandLine options;
  Launcher launch;
  Status launched = detectLauncher(launch);
  bool speaks = launch.job.rank == 0, tells = speaksForMachine(launch);
  Status status = parseCommandLine(argv[0], {argv + 1, argv + argc}, false, options);
  if (!status.ok())
    return finish(status, speaks);
  if (!options.answer.empty()) {
    std::fputs(options.answer.c_str(), stdout);
    return finish(flushStandardOutput(), true);
  }
  ProgramView program;
  status = ExecutableFile::checkOwn();
  if (status.ok())
    status = ProgramView::open(weft_program_blob, weft_program_blob_size, program);
  if (!status.ok())
    return finish(status, tells);
  if (options.info || options.dump || options.countRanks) {
    std::string text = options.info   ? infoText(program, modelDirectory(options, program))
                       : options.dump ? dump(program)
                                      : std::to_string(program.numRanks()) + "\n";
    std::fputs(text.c_str(), stdout);
    return finish(flushStandardOutput(), true);
  }
  if (!options.showPlacement.empty()) {
    std::string text;
    status = placementText(program, options.showPlacement, text);
    std::fputs(text.c_str(), stdout);
    return finish(status.ok() ? flushStandardOutput() : status, speaks);
  }
  status = checkProcessor(program);
  if (!status.ok())
    return finish(status, tells);
  if (options.comm.empty() && !launched.ok())
    return finish(launched, speaks);
  if (options.comm.empty())
    options.comm = program.numRanks() > 1 ? commOf(deviceOf(program)) : "";
  if (options.comm.empty())
    options.comm = transportOf(launch);
  if (options.comm == "mpi" && launch.kind != Launcher::Kind::Mpi && program.numRanks() != 1)
    return finish({StatusCode::Usage, "MPI ranks are started by mpirun: mpirun -n " +
                                          std::to_string(program.numRanks()) + " " + argv[0] +
                                          " ..., or weft-run --comm mpi " + argv[0] + " ..."},
                  speaks);
  // A job of one process needs nobody to meet; several find out that they are too many.
  if (options.comm == "tcp" && program.numRanks() == 1 && launch.kind != Launcher::Kind::Tcp)
    options.comm = "inproc";
  return execute(options, program, speaks, tells);
}
