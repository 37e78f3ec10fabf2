#!/usr/bin/env bash
# Installs, builds and runs every test: `test/run.sh`, or `test/run.sh --full` for all volumes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
usage="usage: test/run.sh [--full] [--continue] [-R REGEX]
  --full      the volumes of the acceptance criteria (hours) instead of the reduced ones (minutes), the sanitizers of
              addresses and of threads instead of each on every third day, whole models beside PyTorch, which is
              installed, clang-tidy on the compiler, and bugs planted in a copy of the sources, of which the tests must
              catch 95 in 100. By the day: half of the clusters whose plans are searched in whole, a sixth of the random
              trainings, of the layouts whose bytes are counted, and of the files that clang-tidy reads, an eighth of
              the mutated models that are compiled, a twentieth of the bugs
  --continue  goes on where an interrupted run of these sources was; its results count
  -R REGEX    only the ctests whose name matches"
filter=() full=() again=()
while [ $# -gt 0 ]; do
  case "$1" in
    --full) export WEFT_TEST_FULL=1; full=(--full) ;;
    --continue) again=(-F) ;;
    -R) filter=(-R "${2:?$usage}"); shift ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
log=build/release/test.log outputs=build/release/test.outputs
ctest_files=build/release/Testing/Temporary
# Which sources a run is of, in which volumes, and what came of its steps beside ctest, until it has ended.
state=build/release/test.state

step() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

run_of() { echo "$({ git rev-parse HEAD && git diff HEAD; } | sha256sum | cut -c1-16) ${full[*]:-reduced}"; }

# beside NAME COMMAND...: a step beside ctest, unless it was done before an interruption.
beside() {
  local name=$1 result
  shift
  result=$(sed -n "s/^$name: //p" "$state")
  if [ -z "$result" ]; then
    if "$@"; then result=passed; else result=failed; fi
    echo "$name: $result" >> "$state"
  fi
  [ "$result" = passed ] || failed+=" $name"
}

planted_bugs() { # PART
  local planted=test/faults/planted/planted.sh
  $planted copy build/planted1 && $planted copy build/planted2 && $planted run build/planted1 build/planted2 --part "$1"
}

if [ ${#again[@]} -gt 0 ] && ! { [ ${#filter[@]} -eq 0 ] && [ "$(head -1 "$state" 2>/dev/null)" = "$(run_of)" ]; }; then
  echo "no run of these sources and volumes was interrupted: leave out --continue" >&2
  exit 2
fi

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
if [ ${#again[@]} -eq 0 ]; then
  rm -f "$log" "$outputs" "$state" "$ctest_files"/{CTestCheckpoint.txt,LastTest.log.tmp}
  [ ${#filter[@]} -gt 0 ] || run_of > "$state"
fi
# What an interrupted ctest leaves of the tests' outputs.
[ ! -f "$ctest_files/LastTest.log.tmp" ] || cat "$ctest_files/LastTest.log.tmp" >> "$outputs"
ctest --test-dir build/release --output-on-failure --timeout 5400 --parallel "$(nproc)" "${again[@]}" "${filter[@]}" 2>&1 |
  tee -a "$log"
status=${PIPESTATUS[0]}
cat "$ctest_files/LastTest.log" >> "$outputs"
failed=
day=$(($(date +%s) / 86400))
if [ ${#filter[@]} -eq 0 ]; then
  sanitizers=(asan asan-readers tsan)
  [ ${#full[@]} -gt 0 ] || sanitizers=("${sanitizers[day % 3]}")
  step "sanitizers: ${sanitizers[*]}"
  beside sanitizers test/sanitizers.sh "${sanitizers[@]}"
fi
if [ ${#full[@]} -gt 0 ] && [ ${#filter[@]} -eq 0 ]; then
  step "clang-tidy on the compiler, part $((day % 6))/6"
  beside tidy-compiler test/tidy.sh --part $((day % 6))/6 --compiler
  step "whole models beside PyTorch"
  # PyTorch is among the packages of --full: that nothing was compared is a failure, too.
  beside peers test/numerics/peers/run.sh build/release/bin
  # Each takes tens of seconds.
  part=$((day % 20))/20
  step "bugs planted in a copy of the sources, part $part"
  beside planted-bugs planted_bugs "$part"
fi
echo "took $SECONDS s in all"
rm -f "$state"
test/summary.sh "$log" "$outputs" "$failed" || status=1
exit "$status"
