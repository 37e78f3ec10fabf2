#!/usr/bin/env bash
# How compile time grows with layers and microbatches: the judged cases of issue 11, printed as ratios.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: compile-growth.sh [TOOLS [DIR]]
#
# TOOLS is the folder of a build's tools (build/release/bin), DIR holds what is made (build/benchmark). Not a test: it
# asserts nothing. Run it on an idle machine. Each compile is done RUNS (3) times, from `import` to `executable`, on CORES
# (2) processors; what is printed are medians of seconds by the clock and of processor time. A compile that takes longer
# than LIMIT (600) seconds is printed as `-`, as are ratios with it.
set -euo pipefail
tools=${1:-build/release/bin} dir=${2:-build/benchmark}
runs=${RUNS:-3} limit=${LIMIT:-600} cores=${CORES:-2}
mkdir -p "$dir"
TIMEFORMAT='%R %U %S'
train="--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3,clip=1"

timed() { # COMMAND...: seconds by the clock, processor seconds; `- -` if it fails or takes too long
  local text
  text=$({ time timeout "$limit" taskset -c "0-$((cores - 1))" "$@" > /dev/null 2>&1 || echo failed; } 2>&1)
  case $text in *failed*) echo "- -" ;; *) awk '{ print $1, $2 + $3 }' <<< "$text" ;; esac
}
median() { # FILE COLUMN
  grep -q -- - "$1" && { echo -; return; }
  sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-" || a + 0 == 0) print "-"; else printf "%.2f", b / a }'; }
declare -A clock
compile() { # CASE MODEL FLAGS...: one line, and its clock time under the name of the case
  rm -f "$dir/growth.times"
  for ((run = 0; run < runs; ++run)); do
    timed "$tools/weft-compile" -q "$dir/$2.onnx" "${@:3}" -o "$dir/growth" >> "$dir/growth.times"
  done
  clock[$1]=$(median "$dir/growth.times" 1)
  printf '%-44s %10s %10s\n' "$1" "${clock[$1]}" "$(median "$dir/growth.times" 2)"
}
build() { # NAME SPEC
  "$tools/weft-translate" --build "$2" -o "$dir/$1.onnx" > /dev/null 2>&1
}

printf '%-44s %10s %10s\n' "compile, seconds" clock processor
for layers in 12 24 96; do
  build "growth-$layers" "gpt2:layers=$layers,hidden=64,heads=4,vocab=256,seq=64"
  for m in 1 64; do
    # shellcheck disable=SC2086
    compile "$layers layers, M=$m" "growth-$layers" --bind batch=128,seq=64 --microbatches $m $train
    # shellcheck disable=SC2086
    compile "$layers layers, M=$m, dp=2,tp=2, ZeRO-1" "growth-$layers" --bind batch=128,seq=64 --microbatches $m \
      --mesh dp=2,tp=2 --zero 1 $train
  done
done
build growth-small gpt2:preset=small
compile "GPT-2 small, dp=2,tp=2" growth-small --bind batch=4,seq=128 --mesh dp=2,tp=2

echo
printf '%-60s %6s  %s\n' "what" found goal
goal() { printf '%-60s %6s  %s\n' "$1" "$2" "$3"; } # WHAT FOUND GOAL
for more in "" ", dp=2,tp=2, ZeRO-1"; do
  for m in 1 64; do
    goal "96 layers by 12, M=$m$more" "$(ratio "${clock[12 layers, M=$m$more]}" "${clock[96 layers, M=$m$more]}")" "at most 2"
  done
  goal "M=64 by M=1, 24 layers$more" "$(ratio "${clock[24 layers, M=1$more]}" "${clock[24 layers, M=64$more]}")" "at most 1.2"
done
goal "96 layers, M=64, dp=2,tp=2, ZeRO-1, seconds" "${clock[96 layers, M=64, dp=2,tp=2, ZeRO-1]}" "under 60"
goal "GPT-2 small, dp=2,tp=2, seconds" "${clock[GPT-2 small, dp=2,tp=2]}" "under 10"
