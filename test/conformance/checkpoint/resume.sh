#!/usr/bin/env bash
# A resumed run equals the straight one bit for bit, at every step, on several layouts; what was
# trained goes back into the model file.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
translate=$1 compile=$2 run=$3
text=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0 checks=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
must() { # COMMAND...
  "$@" >log 2>&1 || {
    fail "$*"
    grep -m 3 error log | cut -c 1-300
    return 1
  }
}
curve() { grep -hoE '"step":[0-9]+,"loss":[^,]*,"grad_norm":[^,]*,"lr":[^,]*' "$1"; }

must "$translate" --build gpt2:layers=1,hidden=24,heads=4,vocab=64,seq=16,seed=3 -o m.onnx || exit 1
# Tokens below 64, as bytes: the letters of this script, often enough for 21 steps of 12 samples.
cat "$text" "$text" | tr -c 'a-z' '\0' | tr 'a-z' '\1-\32' >tokens
points=$(seq 20)
[ -n "${WEFT_TEST_FULL:-}" ] || points="1 8 20"
layouts=("dp=1" "dp=2" "dp=3 --zero 1" "tp=2" "dp=2,tp=2 --zero 3" "dp=4 --zero 2 --precision bf16"
  "pp=2 --microbatches 4 --schedule 1f1b" "pp=4 --microbatches 2 --schedule gpipe" "pp=2,dp=2 --zero 1 --microbatches 3 --schedule zb-v"
  "pp=2,tp=2 --microbatches 4 --schedule interleaved:2")
for i in "${!layouts[@]}"; do
  read -r mesh flags <<<"${layouts[$i]}"
  out=m$i
  # shellcheck disable=SC2086 # several flags
  must "$compile" m.onnx --bind batch=12,seq=16 --mesh "$mesh" $flags --train \
    --loss softmax_cross_entropy:logits,labels \
    --optimizer adamw:lr=0.01,clip=0.5,schedule=cosine,warmup=4,total=30 -O 1 -o $out || continue
  train=("$run" $out --data-tokens tokens:byte --shuffle 5)
  must "${train[@]}" --steps 20 --save straight$i --log straight$i.jsonl || continue
  for k in $points; do
    rm -rf parts part.jsonl
    must "${train[@]}" --steps "$k" --save parts --log part.jsonl || continue
    [ "$k" = 20 ] || must "${train[@]}" --steps 20 --resume parts --save parts --log part.jsonl || continue
    checks=$((checks + 1))
    for file in straight$i/step-00000020/*.safetensors; do
      cmp "$file" "parts/step-00000020/${file##*/}" || fail "$mesh $flags: state after resuming at $k"
    done
    [ "$(curve straight$i.jsonl)" = "$(curve part.jsonl)" ] || fail "$mesh $flags: losses after resuming at $k"
  done
done
# Every layout goes on from every other one's checkpoint; fp32 losses of the next steps agree.
# By number, FROM:TO; 6 to 9 are pipelines.
for pair in 0:1 0:3 0:4 2:1 2:3 2:4 4:1 4:3 4:4 6:7 6:8 6:1 7:6 7:8 8:6 8:7 0:6 1:7 9:0 9:7 9:8 3:9 4:9 6:9; do
  from=${pair%:*} to=${pair#*:}
  [ -d straight$from ] && [ -x m$to ] || continue
  rm -rf other other.jsonl
  must "$run" m$to --data-tokens tokens:byte --resume straight$from --steps 23 --save other --log other.jsonl || continue
  checks=$((checks + 1))
  curve other.jsonl | cut -d: -f3 | cut -d, -f1 >losses$to
  [ -s first$from ] || cp losses$to first$from
  paste losses$to first$from | awk '{d = $1 - $2; if (d < 0) d = -d; if (d > 1e-5) exit 1; n++} END {exit n != 3}' ||
    fail "losses of layout $to resumed from layout $from: $(paste -sd' ' losses$to), $(paste -sd' ' first$from)"
done
# The trained model as a file: its first loss is that of the step after the checkpoint, whose
# batch starts at sample 240.
if [ -d straight0 ]; then
  checks=$((checks + 1))
  tail -c +$((240 * 16 + 1)) tokens >later
  must "$translate" --export-onnx m.onnx --weights straight0 -o trained.onnx &&
    must "$compile" trained.onnx --bind batch=12,seq=16 --train --loss softmax_cross_entropy:logits,labels \
      --optimizer sgd:lr=0.001 -O 1 -o trained &&
    must "$run" trained --data-tokens later:byte --steps 1 --log trained.jsonl &&
    must "$run" m0 --data-tokens tokens:byte --shuffle none --resume straight0 --steps 21 --log resumed.jsonl
  first=$(grep -o '"loss":[^,]*' trained.jsonl)
  [ -n "$first" ] && [ "$first" = "$(grep -o '"loss":[^,]*' resumed.jsonl)" ] ||
    fail "the exported model's loss: $first, not $(grep -o '"loss":[^,]*' resumed.jsonl)"
fi
echo "$checks checks, $failures failures"
[ $checks -ge 54 ] || fail "too few checks"
[ $failures -eq 0 ]
