#!/usr/bin/env bash
# How commands and compile time grow with layers and microbatches, judged: exits with 1 when a goal is missed.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: compile-growth.sh [TOOLS [DIR]]
#
# TOOLS is the folder of a build's tools (build/release/bin), DIR holds what is made (build/benchmark). Run it on an idle
# machine. Each compile whose time is told is done RUNS (3) times, from `import` to `executable`, on CORES (2) processors;
# what is printed are medians of seconds by the clock and of processor time; goals of seconds are by the clock, or, with
# BY=processor, by the latter, which other work on the machine disturbs less. RUNS=0 counts commands alone. A compile that
# takes longer than LIMIT (600) seconds is printed as `-`, and misses its goals.
set -euo pipefail
tools=${1:-build/release/bin} dir=${2:-build/benchmark}
runs=${RUNS:-3} limit=${LIMIT:-600} cores=${CORES:-2} by=${BY:-clock}
mkdir -p "$dir"
TIMEFORMAT='%R %U %S'
train="--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3,clip=1"
split="--mesh dp=2,tp=2 --zero 1"
missed=0

build() { # NAME SPEC
  "$tools/weft-translate" --build "$2" -o "$dir/$1.onnx" > /dev/null 2>&1
}
compile() { # MODEL FLAGS...
  timeout "$limit" taskset -c "0-$((cores - 1))" "$tools/weft-compile" -q "$dir/$1.onnx" "${@:2}" --routines called -o "$dir/growth" > /dev/null 2>&1
}
timed() { # MODEL FLAGS...: seconds by the clock, processor seconds; `- -` if it fails or takes too long
  local text
  text=$({ time compile "$@" || echo failed; } 2>&1)
  case $text in *failed*) echo "- -" ;; *) awk '{ print $1, $2 + $3 }' <<< "$text" ;; esac
}
median() { # FILE COLUMN
  grep -q -- - "$1" && { echo -; return; }
  sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-" || a + 0 == 0) print "-"; else printf "%.3f", b / a }'; }
goal() { # WHAT FOUND MOST: one line, and whether it is met
  local verdict=ok
  awk -v f="$2" -v m="$3" 'BEGIN { exit !(f != "-" && f <= m) }' || { verdict=MISSED; missed=$((missed + 1)); }
  printf '%-60s %8s  at most %-5s %s\n' "$1" "$2" "$3" "$verdict"
}

declare -A commands
count() { # CASE MODEL FLAGS...: commands of routines and programs, and calls
  local counts=(- -)
  if compile "${@:2}"; then
    read -ra counts < <("$tools/weft-run" --dump "$dir/growth" | awk '
      /^routine / { inside = 1 } /^program / { inside = 0 }
      inside ? /^  / : /^    / { if ($1 == "invoke") ++calls; else ++commands } END { print commands, calls + 0 }')
  fi
  commands[$1]=${counts[0]}
  printf '%-44s %10s %10s\n' "$1" "${counts[@]}"
}
declare -A seconds
time_of() { # CASE MODEL FLAGS...
  local clock processor
  rm -f "$dir/growth.times"
  for ((run = 0; run < runs; ++run)); do timed "${@:2}" >> "$dir/growth.times"; done
  clock=$(median "$dir/growth.times" 1) processor=$(median "$dir/growth.times" 2)
  seconds[$1]=$clock
  [ "$by" = clock ] || seconds[$1]=$processor
  printf '%-44s %10s %10s\n' "$1" "$clock" "$processor"
}

for layers in 12 24 48 96; do build "growth-$layers" "gpt2:layers=$layers,hidden=64,heads=4,vocab=256,seq=64"; done
build growth-small gpt2:preset=small

# shellcheck disable=SC2086
count_all() { # SUFFIX FLAGS...
  for m in 1 4 16 64 256; do count "24 layers, M=$m$1" growth-24 --bind batch=512,seq=64 --microbatches $m $train "${@:2}"; done
  for layers in 12 48 96; do count "$layers layers, M=64$1" "growth-$layers" --bind batch=512,seq=64 --microbatches 64 $train "${@:2}"; done
}
printf '%-44s %10s %10s\n' "in the executable" commands calls
count_all ""
# shellcheck disable=SC2086
count_all ", dp=2,tp=2, ZeRO-1" $split
if [ "$runs" -gt 0 ]; then
  printf '\n%-44s %10s %10s\n' "compile, seconds" clock processor
  # shellcheck disable=SC2086
  for layers in 12 24 96; do
    for m in 1 64; do
      time_of "$layers layers, M=$m" "growth-$layers" --bind batch=128,seq=64 --microbatches $m $train
      time_of "$layers layers, M=$m, dp=2,tp=2, ZeRO-1" "growth-$layers" --bind batch=128,seq=64 --microbatches $m $split $train
    done
  done
  # shellcheck disable=SC2086
  time_of "96 layers, M=64, pp=8" growth-96 --bind batch=128,seq=64 --microbatches 64 --mesh pp=8 $train
  time_of "GPT-2 small, dp=2,tp=2" growth-small --bind batch=4,seq=128 --mesh dp=2,tp=2
fi

printf '\n%-60s %8s  %s\n' "what" found goal
for more in "" ", dp=2,tp=2, ZeRO-1"; do
  for m in 4 16 64 256; do
    goal "commands, M=$m by M=1, 24 layers$more" "$(ratio "${commands[24 layers, M=1$more]}" "${commands[24 layers, M=$m$more]}")" 1
  done
  for layers in 24 48 96; do
    goal "commands, $layers layers by 12, M=64$more" \
      "$(ratio "${commands[12 layers, M=64$more]}" "${commands[$layers layers, M=64$more]}")" 1.1
  done
  [ "$runs" -gt 0 ] || continue
  for m in 1 64; do
    goal "seconds, 96 layers by 12, M=$m$more" "$(ratio "${seconds[12 layers, M=$m$more]}" "${seconds[96 layers, M=$m$more]}")" 2
  done
  goal "seconds, M=64 by M=1, 24 layers$more" "$(ratio "${seconds[24 layers, M=1$more]}" "${seconds[24 layers, M=64$more]}")" 1.2
done
if [ "$runs" -gt 0 ]; then
  goal "seconds, pp=8 by one stage, 96 layers, M=64" "$(ratio "${seconds[96 layers, M=64]}" "${seconds[96 layers, M=64, pp=8]}")" 1.5
  goal "seconds, 96 layers, M=64, dp=2,tp=2, ZeRO-1" "${seconds[96 layers, M=64, dp=2,tp=2, ZeRO-1]}" 60
  goal "seconds, GPT-2 small, dp=2,tp=2" "${seconds[GPT-2 small, dp=2,tp=2]}" 10
fi
echo "$missed goals are missed"
[ $missed -eq 0 ]
