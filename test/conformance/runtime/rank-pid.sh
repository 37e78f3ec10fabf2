# The processes of the jobs that a script starts, for scripts that source this after expect.sh.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
export WEFT_TRIAL=$work # tells them from those of others

# rank_pid EXECUTABLE COMM RANK: of inproc the one of all ranks; nothing if it is not there yet.
rank_pid() {
  local executable name=RANK
  executable=$(realpath "$1")
  [ "$2" = mpi ] && name=OMPI_COMM_WORLD_RANK
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe")" = "$executable" ] || continue
    tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qx "WEFT_TRIAL=$work" || continue
    [ "$2" = inproc ] || tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qx "$name=$3" || continue
    echo "${process#/proc/}"
  done
}

# launcher_pid: of mpirun, which a script started itself or by weft-run.
launcher_pid() {
  local launcher
  launcher=$(realpath "$(command -v mpirun)")
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe")" = "$launcher" ] || continue
    tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qx "WEFT_TRIAL=$work" && echo "${process#/proc/}"
  done
}
