#!/usr/bin/env bash
# Bubbles of a pipeline of four ranks whose actions sleep (weft-run --pretend), which share no weight, beside those that weft-schedule predicts: of the wall, with steps
# that end before the next one begins, and of the span, with steps that overlap. Fails where one is not within 15 % of the predicted one (a bubble
# that is predicted to be less than a tenth, within 1.5 % of the step), or schedules are in another order.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: bubbles.sh [FOLDER-OF-TOOLS]; COMMS="inproc tcp mpi" says over what, SCHEDULES which. About 12 minutes; on an idle machine.
set -eu
bin=$(realpath "${1:-build/release/bin}")
text=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ranks=4 microbatches=8 steps=6 failures=0
read -ra schedules <<<"${SCHEDULES:-gpipe 1f1b interleaved:2 zb-h1 zb-h2 zb-v dualpipev}"

# The share of a step in which ranks idle, in the median over steps. wall: from the first start of an action to the last end. span: from the end
# of a rank's last action to that in the next step, of the rank that takes longest.
measured() { # wall|span WORK
  grep -o '"cat":"action".*"program":"step"' trace | tr ',:{}' '    ' | awk -v kind="$1" -v work="$2" -v ranks=$ranks '
    { for (i = 1; i < NF; ++i) v[$i] = $(i + 1)
      run = v["\"run\""]; rank = v["\"tid\""]; begin = v["\"ts\""] / 1e6; end = begin + v["\"dur\""] / 1e6
      if (!(run in first) || begin < first[run]) first[run] = begin
      if (end > last[run]) last[run] = end
      if (end > own[run, rank]) own[run, rank] = end }
    END { for (run in first) if (run > 0) {
        time = last[run] - first[run]
        if (kind == "span") for (time = rank = 0; rank < ranks; ++rank)
          if (own[run, rank] - own[run - 1, rank] > time) time = own[run, rank] - own[run - 1, rank]
        print 1 - work / time } }' | sort -g |
    awk '{ all[NR] = $1 } END { print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2 }'
}

"$bin/weft-translate" --build llama:layers=8,hidden=32,heads=4,kv_heads=4,ffn=64,vocab=256,seq=16 -o llama.onnx 2>log
for schedule in "${schedules[@]}"; do
  "$bin/weft-compile" -q llama.onnx --bind batch=16,seq=16 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=1e-2 \
    --mesh pp=$ranks --microbatches $microbatches --schedule "$schedule" -o "$schedule"
done
read -ra comms <<<"${COMMS:-inproc tcp mpi}"
if [[ " ${comms[*]} " == *" mpi "* ]] && ! "$bin/weft-run" --comm mpi "${schedules[0]}" --steps 1 --data-tokens "$text:byte" -q >log 2>&1; then
  echo "SKIPPED: mpi"
  for i in "${!comms[@]}"; do [ "${comms[$i]}" != mpi ] || unset "comms[$i]"; done
fi
printf '%-22s %-5s %-14s %10s' "seconds of F, B, W" "" schedule predicted
printf ' %10s' "${comms[@]}"
echo
for times in "0.04 0.04 0.04" "0.04 0.06 0.04"; do
  read -r f b w <<<"$times"
  busy=$(awk "BEGIN { print $microbatches * ($f + $b + $w) }")
  for kind in wall span; do
    rm -f bubbles.*
    for schedule in "${schedules[@]}"; do
      # Of a rank's share of the model, in as many chunks as the schedule has on it.
      case $schedule in interleaved:*) chunks=${schedule#*:} ;; zb-v | dualpipev) chunks=2 ;; *) chunks=1 ;; esac
      awk "BEGIN { printf \"weft costs 1\\nall F=%g B=%g W=%g\\n\", $f / $chunks, $b / $chunks, $w / $chunks }" >costs
      predicted=$("$bin/weft-schedule" "$schedule" --ranks $ranks --microbatches $microbatches --costs costs --json |
        grep -o "\"bubble_$kind\": *[^,}]*" | cut -d: -f2)
      printf '%-22s %-5s %-14s %9.2f%%' "$times" $kind "$schedule" "$(awk "BEGIN { print 100 * $predicted }")"
      for comm in "${comms[@]}"; do
        ahead=$([ $kind = span ] && echo on || echo off)
        "$bin/weft-run" --comm "$comm" "$schedule" --steps $steps --data-tokens "$text:byte" --run-ahead "$ahead" --pretend costs --trace trace -q \
          >log 2>&1 || cat log
        bubble=$(measured $kind "$busy")
        echo "$predicted $bubble" >>"bubbles.$comm"
        word=$(awk "BEGIN { p = $predicted; d = $bubble - p; print (d < 0 ? -d : d) <= (p < 0.1 ? 0.015 : 0.15 * p) ? \"\" : \" FAILED\" }")
        [ -z "$word" ] || failures=$((failures + 1))
        printf ' %9.2f%%%s' "$(awk "BEGIN { print 100 * $bubble }")" "$word"
      done
      echo
    done
    # What is predicted to be shorter, by a tenth and by a hundredth of the step, is.
    for comm in "${comms[@]}"; do
      awk '{ p[NR] = $1; m[NR] = $2 } END { for (i in p) for (j in p) if (p[i] < 0.9 * p[j] && p[i] < p[j] - 0.01 && m[i] >= m[j]) exit 1 }' \
        "bubbles.$comm" || {
        failures=$((failures + 1))
        echo "FAILED: another order of schedules over $comm"
      }
    done
  done
done
echo "$failures failures"
[ $failures -eq 0 ]
