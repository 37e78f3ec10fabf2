#!/usr/bin/env bash
# Installs, builds and runs every test: `test/run.sh`, or `test/run.sh --full` for all volumes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
usage="usage: test/run.sh [--full] [-R REGEX]
  --full    the volumes of the acceptance criteria (hours) instead of the reduced ones (minutes), whole models beside
            PyTorch, which is installed, and bugs planted in a copy of the sources, of which the tests must catch 95 in 100:
            a third of the listed ones, by the day
  -R REGEX  only the ctests whose name matches"
filter=() full=()
while [ $# -gt 0 ]; do
  case "$1" in
    --full) export WEFT_TEST_FULL=1; full=(--full) ;;
    -R) filter=(-R "${2:?$usage}"); shift ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done

step() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

step "packages"
bash tools/install-deps.sh "${full[@]}" || exit 1
step "configure and build"
cmake --preset release > /dev/null || exit 1
start=$SECONDS
cmake --build --preset release -- --quiet || exit 1
echo "built in $((SECONDS - start)) s"
step "the runtime alone, without LLVM"
cmake --preset runtime -DWEFT_BUILD_TESTS=OFF > /dev/null && cmake --build --preset runtime -- --quiet || exit 1

step "tests"
# Open MPI refuses root and more ranks than cores unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
log=build/release/test.log
ctest --test-dir build/release --output-on-failure --timeout 5400 --parallel "$(nproc)" "${filter[@]}" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
beside=
if [ ${#filter[@]} -eq 0 ]; then
  step "sanitizers"
  # The compiler's readers are built with sanitizers only for all volumes: MLIR's headers take minutes.
  test/sanitizers.sh tsan ${full:+asan} || beside="sanitizers"
fi
if [ ${#full[@]} -gt 0 ] && [ ${#filter[@]} -eq 0 ]; then
  step "whole models beside PyTorch"
  # PyTorch is among the packages of --full: that nothing was compared is a failure, too.
  test/numerics/peers/run.sh build/release/bin || beside+=" peers"
  # A third of them a day, so that all have been planted after three: each takes tens of seconds.
  part=$(($(date +%s) / 86400 % 3))/3
  step "bugs planted in a copy of the sources, part $part"
  { test/faults/planted/planted.sh copy build/planted1 && test/faults/planted/planted.sh copy build/planted2 &&
      test/faults/planted/planted.sh run build/planted1 build/planted2 --part $part; } ||
    beside+=" planted-bugs"
fi
echo "took $SECONDS s in all"
test/summary.sh "$log" build/release/Testing/Temporary/LastTest.log "$beside" || status=1
exit "$status"
