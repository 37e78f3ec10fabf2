#!/usr/bin/env bash
# Memory of training is what was predicted: measured on processes under MPI; and steps take nothing from the heap.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: memory.sh FOLDER-OF-TOOLS COUNTER.so; WEFT_TEST_FULL=1 for more layouts.
set -u
bin=$1 counter=$2
text=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
failures=0 checks=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
for _ in 1 2 3 4 5 6 7 8; do cat "$text"; done >tokens
train=(--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3,clip=1)

# Several hundred MiB a rank, so that what is forgotten shows beside the 32 MiB that are allowed.
"$bin/weft-translate" --build gpt2:layers=6,hidden=512,heads=8,vocab=4096,seq=128 -o big.onnx 2>log || fail "$(cat log)"
# One weight of 200 MiB, which a rank reads half of, every row.
"$bin/weft-translate" --build gpt2:layers=1,hidden=1024,heads=8,vocab=50257,seq=32 -o wide.onnx 2>log || fail "$(cat log)"
layouts=("big --bind batch=8,seq=128 --mesh dp=2 --zero 1" "big --bind batch=8,seq=128 --mesh dp=2 --zero 3"
  "wide --bind batch=2,seq=32 --mesh tp=2")
if [ "${WEFT_TEST_FULL:-}" = 1 ]; then
  for flags in "--mesh dp=2" "--mesh tp=2" "--mesh dp=2 --zero 2 --microbatches 4 --recompute full" \
    "--mesh dp=2 --zero 1 --precision bf16 --microbatches 2"; do
    layouts+=("big --bind batch=8,seq=128 $flags")
  done
fi
for flags in "${layouts[@]}"; do
  # shellcheck disable=SC2086 # several flags
  "$bin/weft-compile" -q ${flags%% *}.onnx ${flags#* } "${train[@]}" --explain=json -o big >plan.json 2>log || {
    fail "$flags: $(grep -m 1 error log)"
    continue
  }
  planned=$(grep -o '"arena_bytes": *[0-9]*' plan.json | grep -o '[0-9]*$')
  rm -rf saved
  for how in "" "--save saved" "--resume saved --steps 4"; do
    # shellcheck disable=SC2086
    "$bin/weft-run" --comm mpi big --data-tokens tokens:byte --steps 2 $how --log log.jsonl >out 2>log || {
      fail "$flags $how: $(cat log)"
      continue
    }
    checks=$((checks + 1))
    grep -q "of which $planned bytes are the arena as compiled" log ||
      fail "$flags: $planned bytes were planned; $(grep 'of which' log)"
    tail -n 1 log.jsonl | sed -E 's/.*"mem_bytes":([0-9]+),"mem_predicted_bytes":([0-9]+).*/\1 \2/' |
      awk -v name="$flags $how" '{
        more = ($1 - $2) / 1048576
        printf "%-75s %6.1f MiB measured, %6.1f predicted: %.3f of it, %.1f MiB more\n", name, $1 / 1048576,
          $2 / 1048576, $1 / $2, more
        exit !(NF == 2 && $2 > 150 * 1048576 && $1 <= 1.05 * $2 + 32 * 1048576) }' || fail "$flags $how: beyond 1.05 x + 32 MiB"
  done
done

# Twelve steps take as much from the heap as four: nothing in the eight between, log lines included.
"$bin/weft-translate" --build gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=16 -o small.onnx 2>log || fail "$(cat log)"
for flags in "" "--mesh dp=2,tp=2 --zero 1" "--mesh dp=4 --zero 3 --microbatches 2"; do
  # shellcheck disable=SC2086
  "$bin/weft-compile" -q small.onnx --bind batch=8,seq=16 $flags "${train[@]}" -o small 2>log || {
    fail "$flags: $(grep -m 1 error log)"
    continue
  }
  counts=
  for steps in 4 12; do
    LD_PRELOAD=$counter ./small --data-tokens tokens:byte --shuffle 1 --steps $steps --log small.jsonl >/dev/null 2>log ||
      fail "$flags: $(cat log)"
    counts="$counts $(sed -n 's/^allocations //p' log | tail -n 1)"
  done
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  set -- $counts
  echo "allocations of training '$flags': $1 with 4 steps, $2 with 12"
  [ $# -eq 2 ] && [ "$1" = "$2" ] || fail "$flags: steps allocate"
done
echo "$checks checks, $failures failures"
[ $failures -eq 0 ] && [ $checks -ge $((3 * ${#layouts[@]} + 3)) ]
