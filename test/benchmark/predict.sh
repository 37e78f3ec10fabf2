#!/usr/bin/env bash
# Predicted against measured time of training steps on this machine, after `weft-plan --calibrate`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: predict.sh [FOLDER]; models x layouts of at most as many ranks as the machine has cores, one thread each. What
# is judged is processor time: of the whole process while it does nothing but steps, by ranks; it says what a step
# takes even if others use the machine. A rank that waits takes none, so the predicted bubble is left out. Wall time is
# printed beside it, and means something on an idle machine only. Fails if more than a fifth of the layouts are further
# off than the goal of 15 %, or any than 25 %: neighbours on a busy machine cost caches.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${WEFT_BIN:-build/release/bin}
dir=${1:-build/benchmark}
cluster=${WEFT_CLUSTER:-$dir/machine.textproto}
mkdir -p "$dir"
[ -n "${WEFT_CLUSTER:-}" ] || "$bin/weft-plan" --calibrate "$cluster"

declare -A model=(
  [gpt2]="gpt2:layers=4,hidden=128,heads=4,vocab=1024,seq=128 batch=8,seq=128 logits"
  [llama]="llama:layers=3,hidden=192,heads=6,kv_heads=2,ffn=512,vocab=2000,seq=128 batch=8,seq=128 logits"
  [mlp]="mlp:layers=4,inputs=512,hidden=768,classes=64 batch=256 logits"
  [vit]="vit:layers=3,hidden=128,heads=4,image=32,patch=4,classes=100 batch=16 logits"
)
layouts=("none" "dp=2" "tp=2" "dp=2 --zero 3" "dp=2 --microbatches 2 --zero 1" "tp=2 --sequence-parallel on")

field() { # KEY < JSON
  sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\1/p" | head -n 1
}
printf '%-7s %-32s %10s %10s %7s %10s %10s %7s\n' model layout processor predicted error wall predicted error
for name in gpt2 llama mlp vit; do
  read -r builder bind loss <<< "${model[$name]}"
  "$bin/weft-translate" --build "$builder" -o "$dir/$name.onnx" > /dev/null 2>&1
  for layout in "${layouts[@]}"; do
    train=(--bind "$bind" --train --loss "softmax_cross_entropy:$loss,labels" --optimizer adamw:lr=1e-3,clip=1)
    read -ra words <<< "$layout"
    plan=$("$bin/weft-plan" "$dir/$name.onnx" "${train[@]}" --cluster "$cluster" --evaluate "${words[@]}" --json)
    mesh=(); [ "$layout" = none ] || mesh=(--mesh "${words[@]}")
    "$bin/weft-compile" -q "$dir/$name.onnx" "${train[@]}" --cluster "$cluster" "${mesh[@]}" --threads-per-rank 1 -o "$dir/$name"
    (TIMEFORMAT='%U %S'; time "$bin/weft-run" "$dir/$name" -q --program step --bench=json 2> /dev/null > "$dir/bench.json") 2>&1 | tail -n 1 > "$dir/times"
    step=$(field step_seconds <<< "$plan") bubble=$(field bubble <<< "$plan")
    awk -v name="$name" -v layout="$layout" -v step="$step" -v bubble="$bubble" -v runs="$(field runs < "$dir/bench.json")" \
      -v ranks="$(field ranks < "$dir/bench.json")" -v wall="$(field p50_ms < "$dir/bench.json")" '
      { took = 1000 * ($1 + $2) / (runs + 3) / ranks; due = 1000 * (step - bubble)
        printf "%-7s %-32s %10.2f %10.2f %6.1f%% %10.2f %10.2f %6.1f%%\n", name, layout, took, due, 100 * (due / took - 1),
               wall, 1000 * step, 100 * (1000 * step / wall - 1) }' "$dir/times"
  done
done | tee "$dir/predict.txt"
awk '{ error = $(NF - 3) + 0; error = error < 0 ? -error : error; sum += error; n++ # a number: texts compare by letters
       if (error > 15) off++; if (error > 25) far++ }
  END { printf "%d layouts: mean %.1f %%, %d further off than 15 %%, %d than 25 %%\n", n, sum / n, off, far
        exit off * 5 > n || far > 0 }' "$dir/predict.txt"
