#!/usr/bin/env bash
# Memory of programs whose routines are called, against the same written out: exits with 1 when a goal is missed.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: arenas.sh [TOOLS [DIR [REGEX]]]
#
# TOOLS is the folder of a build's tools (build/release/bin), DIR holds what is made (build/benchmark). Each program is taken
# to `scheduled` twice; its arena, called, is to be at most MOST (1.02) times that written out. REGEX chooses programs.
set -euo pipefail
tools=${1:-build/release/bin} dir=${2:-build/benchmark} regex=${3:-.}
most=${MOST:-1.02}
mkdir -p "$dir"
missed=0

arenas() { # FLAGS...: of each program, its name and bytes
  "$tools/weft-compile" -q "$@" --compile-to scheduled -o - | sed -nE "s/^ *rt\.program @([^ ]+) streams .* arena ([0-9]+) .*/\1 \2/p" | sort -k1,1 -k2,2nr | sort -su -k1,1
}
judge() { # MODEL FLAGS...
  local name="$*" called unrolled
  [[ $name =~ $regex ]] || return 0
  unrolled=$(arenas "$dir/arena-$1.onnx" "${@:2}" --routines unrolled)
  called=$(arenas "$dir/arena-$1.onnx" "${@:2}" --routines called)
  join <(echo "$unrolled") <(echo "$called") | awk -v name="$name" -v most="$most" '
    { if ($2 > unrolled) unrolled = $2; if ($3 > called) called = $3
      each = each sprintf("  %s %.3f", $1, $3 / $2) }
    END { bad = called > most * unrolled || unrolled == 0
          printf "%.3f %s %10d %10d  %s  (%s )\n", unrolled ? called / unrolled : 0, bad ? "MISSED" : "ok    ", unrolled, called, name, each
          exit bad }' || missed=$((missed + 1))
}

for spec in gpt2:preset=tiny llama:preset=tiny bert:preset=tiny,head=mlm vit:preset=tiny moe:preset=tiny resnet:preset=tiny \
  mlp:layers=6,inputs=64,hidden=256,classes=16; do
  "$tools/weft-translate" --build "$spec" -o "$dir/arena-${spec%%:*}.onnx" > /dev/null 2>&1
done
"$tools/weft-translate" --build gpt2:layers=12,hidden=64,heads=4,vocab=256,seq=64 -o "$dir/arena-deep.onnx" > /dev/null 2>&1

words="--train --optimizer adamw:lr=1e-3,clip=1 --loss softmax_cross_entropy:logits,labels"
printf 'called by written out, and bytes written out and called\n'
# shellcheck disable=SC2086
for model in gpt2 llama bert moe deep; do
  size="--bind batch=16,seq=64"
  judge $model $size
  judge $model $size $words
  judge $model $size $words --microbatches 4
  judge $model $size $words --microbatches 4 --mesh dp=2,tp=2 --zero 1
  judge $model $size $words --microbatches 4 --mesh dp=2 --zero 2
  judge $model $size $words --microbatches 4 --mesh dp=2 --zero 3
done
# shellcheck disable=SC2086
for schedule in 1f1b zb-h1 interleaved:2 zb-v; do
  judge deep --bind batch=16,seq=64 $words --microbatches 8 --mesh pp=2 --schedule $schedule
done
# shellcheck disable=SC2086
for model in vit resnet mlp; do
  judge $model --bind batch=16
  judge $model --bind batch=16 $words
  judge $model --bind batch=16 $words --microbatches 4 $([ $model = resnet ] && echo --batch-stats per-microbatch)
  judge $model --bind batch=16 $words --microbatches 4 --mesh dp=2 --zero 2 $([ $model = resnet ] && echo --batch-stats per-microbatch)
done
echo "$missed goals are missed"
[ $missed -eq 0 ]
