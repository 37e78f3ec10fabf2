#!/usr/bin/env bash
# Builds the tests of what reads foreign bytes or runs threads with sanitizers, and runs them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: sanitizers.sh [asan|tsan]...   (default: both)
#
# asan: addresses and undefined behaviour, in the readers of models, ONNX text and weights, and in the runtime.
# tsan: data races in the runtime.
# Of the runtime: unit tests, checkpoints, collectives and transfers between threads, a training on 2 x 2 ranks, and one
# whose steps run ahead.
#
# LLVM and MLIR are the packaged libraries, which are not instrumented: LLVM's arena poisons what it frees only in code
# that is, so poisoning by hand is off (lib/Foundation/Support/SanitizerOptions.cpp), and what they leave to the end is no leak.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- asan tsan
failed=""
# Plain loops against the kernels of every instruction set are minutes of arithmetic on one thread.
unit=--gtest_filter=-KernelVariants.*
[ -z "${WEFT_TEST_FULL:-}" ] || unit=--gtest_filter=*
check() { # PRESET COMMAND...
  local preset=$1 start=$SECONDS log
  shift
  log=build/$preset/$(basename "$1").log
  (cd "build/$preset" && timeout 900 "bin/$1" "${@:2}") > "$log" 2>&1 || { failed+=" $preset:$1"; tail -60 "$log"; }
  echo "$preset: $* took $((SECONDS - start)) s"
}
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1

for preset; do
  start=$SECONDS
  cmake --preset "$preset" > "/tmp/weft-$preset.$$" 2>&1 && cmake --build --preset "$preset" -- --quiet ||
    { cat "/tmp/weft-$preset.$$"; failed+=" $preset:build"; continue; }
  rm -f "/tmp/weft-$preset.$$"
  echo "$preset: built in $((SECONDS - start)) s"
  check "$preset" weft_runtime_tests "$unit"
  check "$preset" weft_checkpoint_tests
  check "$preset" weft_collectives_test inproc 4
  check "$preset" weft_transfers_test inproc 3 exchange
  printf 'text to train on, long enough for a few batches of bytes\n%.0s' {1..200} > "build/$preset/text"
  for layout in 2x2 2x1x2; do
    check "$preset" weft_training_sample_$layout --data-tokens text:byte --steps 20
  done
  if [ "$preset" = asan ]; then
    # These hold time and memory to bounds, which are not those of instrumented code.
    check asan weft_import_tests --gtest_filter=-HostileWireTest.*StayWithinMemory
    check asan weft_onnx_text_tests
    check asan weft_weights_tests
  fi
done
echo "sanitizers took $SECONDS s"
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
