#!/usr/bin/env bash
# Bubbles of a pipeline of four ranks whose actions sleep (weft-run --pretend), beside those that weft-schedule predicts.
# Fails where a bubble of the wall is not within 15 % of the predicted one, or schedules are in another order.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: bubbles.sh [FOLDER-OF-TOOLS]
set -eu
bin=$(realpath "${1:-build/release/bin}")
text=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ranks=4 microbatches=8 steps=7 failures=0

# The share of a step, from the first start of an action to the last end, in which ranks idle: the median over steps but the first.
measured() { # WORK
  grep -o '"cat":"action".*"program":"step"' trace | tr ',:{}' '    ' | awk -v work="$1" '
    { for (i = 1; i < NF; ++i) v[$i] = $(i + 1)
      run = v["\"run\""]; begin = v["\"ts\""] / 1e6; end = begin + v["\"dur\""] / 1e6
      if (!(run in first) || begin < first[run]) first[run] = begin
      if (end > last[run]) last[run] = end }
    END { for (run in first) if (run > 0) print 1 - work / (last[run] - first[run]) }' | sort -g |
    awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'
}

"$bin/weft-translate" --build gpt2:layers=4,hidden=32,heads=4,vocab=256,seq=16,std=0.1 -o gpt.onnx 2>log
for schedule in gpipe 1f1b zb-h1 zb-h2; do
  "$bin/weft-compile" -q gpt.onnx --bind batch=16,seq=16 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=1e-2 \
    --mesh pp=$ranks --microbatches $microbatches --schedule $schedule -o $schedule
done
comms=(inproc tcp)
if "$bin/weft-run" --comm mpi gpipe --steps 1 --data-tokens "$text:byte" -q >log 2>&1; then comms+=(mpi); else echo "SKIPPED: mpi"; fi
printf '%-28s %-8s %10s' "seconds of F, B, W" schedule predicted
printf ' %10s' "${comms[@]}"
echo
for times in "0.04 0.04 0.04" "0.04 0.06 0.04"; do
  read -r f b w <<<"$times"
  printf 'weft costs 1\nall F=%s B=%s W=%s\n' "$f" "$b" "$w" >costs
  busy=$(awk "BEGIN { print $microbatches * ($f + $b + $w) }")
  rm -f bubbles.*
  for schedule in gpipe 1f1b zb-h1 zb-h2; do
    predicted=$("$bin/weft-schedule" $schedule --ranks $ranks --microbatches $microbatches --costs costs --json |
      grep -o '"bubble_wall": *[^,}]*' | cut -d: -f2)
    printf '%-28s %-8s %9.2f%%' "$times" $schedule "$(awk "BEGIN { print 100 * $predicted }")"
    for comm in "${comms[@]}"; do
      "$bin/weft-run" --comm $comm $schedule --steps $steps --data-tokens "$text:byte" --pretend costs --trace trace -q >log 2>&1 || cat log
      bubble=$(measured "$busy")
      echo "$predicted $bubble" >>bubbles.$comm
      word=$(awk "BEGIN { d = $bubble - $predicted; print d * d <= (0.15 * $predicted) ^ 2 ? \"\" : \" FAILED\" }")
      [ -z "$word" ] || failures=$((failures + 1))
      printf ' %9.2f%%%s' "$(awk "BEGIN { print 100 * $bubble }")" "$word"
    done
    echo
  done
  # What is predicted to be at least a tenth shorter is.
  for comm in "${comms[@]}"; do
    awk '{ p[NR] = $1; m[NR] = $2 } END { for (i in p) for (j in p) if (p[i] < 0.9 * p[j] && m[i] >= m[j]) exit 1 }' bubbles.$comm || {
      failures=$((failures + 1))
      echo "FAILED: another order of schedules over $comm"
    }
  done
done
echo "$failures failures"
[ $failures -eq 0 ]
