#!/usr/bin/env bash
# Installs, builds and runs every test: `test/run.sh`, or `test/run.sh --full` for all volumes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
usage="usage: test/run.sh [--full] [-R REGEX]
  --full    the volumes of the acceptance criteria (hours) instead of the reduced ones (minutes)
  -R REGEX  only the ctests whose name matches"
filter=()
while [ $# -gt 0 ]; do
  case "$1" in
    --full) export WEFT_TEST_FULL=1 ;;
    -R) filter=(-R "${2:?$usage}"); shift ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done

step() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

step "packages"
bash tools/install-deps.sh || exit 1
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
ctest --test-dir build/release --output-on-failure --timeout 5400 "${filter[@]}" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ -n "${WEFT_TEST_FULL:-}" ] && [ ${#filter[@]} -eq 0 ]; then
  step "whole models beside PyTorch"
  test/numerics/peers/run.sh build/release/bin
  peers=$?
  # 77: there is no PyTorch, as was said.
  [ "$peers" -eq 0 ] || [ "$peers" -eq 77 ] || status=1
fi
total=$(sed -nE 's/.* tests? failed out of ([0-9]+).*/\1/p' "$log" | tail -1)
failed=$(sed -nE 's/.*, ([0-9]+) tests? failed out of .*/\1/p' "$log" | tail -1)
if [ -z "$total" ] || [ "$total" -eq 0 ]; then
  echo "no test ran"
  exit 1
fi
echo "took $SECONDS s in all"
echo "$((total - failed)) passed, $failed failed"
exit "$status"
