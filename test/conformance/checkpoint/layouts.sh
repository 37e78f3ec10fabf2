#!/usr/bin/env bash
# Runs the layouts test in a folder of its own: in one process, or with MPI too.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
mode=$1 test=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$mode" = pairs ]; then
  "$test" pairs "$work"
  exit
fi
"$test" save "$work"
# Layouts 3, 6 and 9 have 3, 4 and 6 ranks; 14 is a pipeline of 6.
for layout in 3:3 6:4 9:6 14:6; do
  mpirun --allow-run-as-root --oversubscribe -n "${layout#*:}" \
    "$test" mpi "$work" "${layout%:*}"
done
"$test" load "$work"
