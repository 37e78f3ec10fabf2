#!/usr/bin/env bash
# Two builds beside each other: the time that five models take to compile, or their steps; printed as ratios.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: compile-time.sh compile|step BEFORE AFTER [DIR]
#
# BEFORE and AFTER are the folders of two builds' tools (build/release/bin), DIR holds what is made (build/benchmark).
# Not a test: it asserts nothing. Run it on an idle machine. Both builds compile the same models, for training on
# dp=2,tp=2, in turn, RUNS (20) times each; what is compared are medians of processor time (of all threads) and of the
# clock. `step` times executables of either build, on RANKS=dp=2 or, with RANKS=dp=1, on one rank: --bench with zeros as
# inputs; its processor time is that of the whole run by the number of steps. A ratio above 1 says that AFTER is slower.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '5s/^# //p' "$0"; exit 2; }
mode=$1 before=$2 after=$3 dir=${4:-build/benchmark}
runs=${RUNS:-20}
case $mode in
compile) mesh=dp=2,tp=2 ;;
step) mesh=${RANKS:-dp=2} ;;
*) echo "compile-time.sh: '$mode' is neither compile nor step" >&2; exit 2 ;;
esac
mkdir -p "$dir"
TIMEFORMAT='%R %U %S'

models="gpt2:layers=4,hidden=128,heads=4,vocab=1000,seq=128 llama:preset=tiny,layers=4 bert:preset=tiny,layers=4,head=mlm
  vit:preset=tiny,layers=4 resnet:preset=tiny"
bind() { # NAME
  case $1 in vit | resnet) echo batch=8 ;; *) echo batch=8,seq=32 ;; esac
}
compile() { # TOOLS NAME OUT
  "$1/weft-compile" -q "$dir/$2.onnx" --bind "$(bind "$2")" --mesh "$mesh" --train \
    --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3,clip=1 -o "$3"
}
timed() { # COMMAND...: seconds by the clock, processor seconds
  { time "$@" > /dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }'
}
bench() { # TOOLS EXECUTABLE: seconds of a step by the clock, processor seconds of a step
  { time "$1/weft-run" "$2" --threads-per-rank 1 --bench=json 2> /dev/null; } 2>&1 | awk '
    match($0, /"runs":[0-9]+/) { steps = substr($0, RSTART + 7, RLENGTH - 7) + 3 }  # three warm it up
    match($0, /"p50_ms":[0-9.]+/) { clock = substr($0, RSTART + 9, RLENGTH - 9) / 1000; next }
    { print clock, ($2 + $3) / steps }'
}
sample() { # NAME SIDE TOOLS: one more line of measurements
  case $mode in
  compile) timed compile "$3" "$1" "$dir/$1.$2" ;;
  step) bench "$3" "$dir/$1.$2" ;;
  esac >> "$dir/$1.$2.times"
}
median() { # FILE COLUMN
  sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b / a }'; }

echo "== $mode, $mesh, medians of $runs: ms of processor time and by the clock (ratio > 1: after is slower)"
printf '%-8s %10s %10s %7s %12s %10s %7s\n' model before after ratio 'clock before' after ratio
for model in $models; do
  name=${model%%:*}
  "$before/weft-translate" --build "$model" -o "$dir/$name.onnx" > /dev/null 2>&1
  rm -f "$dir/$name".{before,after}.times
  # Once each to warm the file cache; a command line that one of them refuses ends here, with its message.
  compile "$before" "$name" "$dir/$name.before"
  compile "$after" "$name" "$dir/$name.after"
  for ((run = 0; run < runs; ++run)); do
    # Who goes first takes turns, too.
    if ((run % 2)); then sample "$name" after "$after"; sample "$name" before "$before"
    else sample "$name" before "$before"; sample "$name" after "$after"; fi
  done
  line=()
  for column in 2 1; do
    old=$(median "$dir/$name.before.times" "$column") new=$(median "$dir/$name.after.times" "$column")
    line+=("$(awk -v s="$old" 'BEGIN { printf "%.1f", s * 1000 }')" "$(awk -v s="$new" 'BEGIN { printf "%.1f", s * 1000 }')" "$(ratio "$old" "$new")")
  done
  printf '%-8s %10s %10s %7s %12s %10s %7s\n' "$name" "${line[@]}"
done
