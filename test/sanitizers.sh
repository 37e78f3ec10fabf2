#!/usr/bin/env bash
# Builds the tests of what reads foreign bytes or runs threads with sanitizers, and runs them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: sanitizers.sh [asan|asan-readers|tsan]...   (default: all)
#
# asan: addresses and undefined behaviour in the runtime.
# asan-readers: the same in the readers of models, ONNX text and weights.
# tsan: data races in the runtime.
# Of the runtime: unit tests, checkpoints, collectives and transfers between threads, a training on 2 x 2 ranks, and one
# whose steps run ahead.
#
# LLVM and MLIR are the packaged libraries, which are not instrumented: LLVM's arena poisons what it frees only in code
# that is, so poisoning by hand is off (lib/Foundation/Support/SanitizerOptions.cpp), and what they leave to the end is no leak.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- asan asan-readers tsan
failed=""
# Plain loops against the kernels of every instruction set are minutes of arithmetic on one thread.
unit=--gtest_filter=-KernelVariants.*
[ -z "${WEFT_TEST_FULL:-}" ] || unit=--gtest_filter=*
check() { # COMMAND...
  local start=$SECONDS log=$folder/$1.log
  (cd "$folder" && timeout 900 "bin/$1" "${@:2}") > "$log" 2>&1 || { failed+=" $preset:$1"; tail -60 "$log"; }
  echo "$preset: $* took $((SECONDS - start)) s"
}
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1

for preset; do
  start=$SECONDS
  folder=build/${preset%-readers}
  cmake --preset "${preset%-readers}" > "/tmp/weft-$preset.$$" 2>&1 && cmake --build --preset "$preset" -- --quiet ||
    { cat "/tmp/weft-$preset.$$"; failed+=" $preset:build"; continue; }
  rm -f "/tmp/weft-$preset.$$"
  echo "$preset: built in $((SECONDS - start)) s"
  if [ "$preset" = asan-readers ]; then
    # These hold time and memory to bounds, which are not those of instrumented code.
    check weft_import_tests --gtest_filter=-HostileWireTest.*StayWithinMemory
    check weft_onnx_text_tests
    check weft_weights_tests
    continue
  fi
  check weft_runtime_tests "$unit"
  check weft_checkpoint_tests
  check weft_collectives_test inproc 4
  check weft_transfers_test inproc 3 exchange
  printf 'text to train on, long enough for a few batches of bytes\n%.0s' {1..200} > "$folder/text"
  for layout in 2x2 2x1x2; do
    check weft_training_sample_$layout --data-tokens text:byte --steps 20
  done
done
echo "sanitizers took $SECONDS s"
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
