#!/usr/bin/env bash
# Step time and inference time of programs whose routines are called, against the same written out.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: calls.sh [TOOLS [DIR]]
#
# TOOLS is the folder of a build's tools (build/release/bin), DIR holds what is made (build/benchmark). On one thread, ROUNDS
# (9) times in turn; printed are medians of milliseconds of a step or a run, by the clock and of processor time, and of the
# quotients of each round. Processor time says what calls cost on a machine that others use, too; the clock needs an idle one.
# Exits with 1 where the median quotient of BY (processor; or clock) is above MOST (1.01).
set -euo pipefail
tools=${1:-build/release/bin} dir=${2:-build/benchmark}
rounds=${ROUNDS:-9} most=${MOST:-1.01} by=${BY:-processor}
mkdir -p "$dir"
head -c 1000000 /dev/urandom > "$dir/calls.bin"
TIMEFORMAT='%U %S'
missed=0

run() { # EXECUTABLE training|inference
  if [ "$2" = training ]; then
    "$tools/weft-run" -q "$1" --data-tokens "$dir/calls.bin:byte" --steps "$steps" --log "$1.jsonl" --threads-per-rank 1
  else
    "$tools/weft-run" -q "$1" --bench=json --threads-per-rank 1
  fi > "$1.out" 2> /dev/null
}
once() { # EXECUTABLE KIND: milliseconds of processor time and by the clock, of a step or run; starting is a part of both
  local all
  rm -f "$1.jsonl"
  all=$({ time run "$@"; } 2>&1 | tail -n 1 | awk '{ print 1000 * ($1 + $2) }')
  if [ "$2" = training ]; then
    sed -E 's/.*"step_ms":([0-9.]+).*/\1/' "$1.jsonl" | sort -g | awk -v all="$all" '{ v[NR] = $1 } END { print all / NR, v[int((NR + 1) / 2)] }'
  else # with three runs for warm-up
    sed -nE 's/.*"runs":([0-9]+).*"p50_ms":([0-9.]+).*/\1 \2/p' "$1.out" | awk -v all="$all" '{ print all / ($1 + 3), $2 }'
  fi
}
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.4f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
judge() { # NAME KIND MODEL FLAGS...
  local name=$1 kind=$2 model=$3 log="$dir/calls.times" quotient
  for routines in unrolled called; do
    "$tools/weft-compile" -q "$dir/calls-$model.onnx" "${@:4}" --routines $routines -o "$dir/calls-$routines" > /dev/null 2>&1
  done
  rm -f "$log"
  for ((round = 0; round < rounds; ++round)); do
    echo "$(once "$dir/calls-unrolled" "$kind") $(once "$dir/calls-called" "$kind")" >> "$log"
  done
  column() { awk "{ print $1 }" "$log" | median; }
  quotient=$(column "$([ "$by" = processor ] && echo '$3 / $1' || echo '$4 / $2')")
  printf '%-40s %9.3f %9.3f %7.4f %9.3f %9.3f %7.4f\n' "$name" "$(column '$1')" "$(column '$3')" "$(column '$3 / $1')" \
    "$(column '$2')" "$(column '$4')" "$(column '$4 / $2')"
  awk -v q="$quotient" -v m="$most" 'BEGIN { exit q > m }' || missed=$((missed + 1))
}

steps=${STEPS:-40}
"$tools/weft-translate" --build gpt2:layers=4,hidden=128,heads=4,vocab=512,seq=64 -o "$dir/calls-gpt2.onnx" > /dev/null 2>&1
"$tools/weft-translate" --build llama:layers=4,hidden=128,heads=4,kv_heads=2,ffn=344,vocab=512,seq=64 -o "$dir/calls-llama.onnx" > /dev/null 2>&1
train="--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3,clip=1"
printf '%-40s %29s %27s\n%-40s %9s %9s %7s %9s %9s %7s\n' "" "processor ms" "clock ms" "" "written" "called" "by" "written" "called" "by"
# shellcheck disable=SC2086
for model in gpt2 llama; do
  judge "$model, training" training $model --bind batch=8,seq=64 $train
  judge "$model, training, 4 microbatches" training $model --bind batch=8,seq=64 --microbatches 4 $train
  judge "$model, inference" inference $model --bind batch=8,seq=64
  judge "$model, inference of one" inference $model --bind batch=1,seq=16
done
echo "$missed quotients are above $most"
[ $missed -eq 0 ]
