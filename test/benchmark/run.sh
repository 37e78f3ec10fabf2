#!/usr/bin/env bash
# Speed and compile time, printed as tables: ranks from 1 to 4, layers from 2 to 96.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Not a test: it asserts nothing. Run it on an idle machine. Forward passes beside peers: forward.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${WEFT_BIN:-build/release/bin}
dir=${1:-build/benchmark}
mkdir -p "$dir"

p50() { # EXECUTABLE [flags]: milliseconds
  "$bin/weft-run" "$@" --bench=json 2> /dev/null | sed -E 's/.*"p50_ms":([0-9.]+).*/\1/'
}
share() { # EXECUTABLE: share of time in communication that was not hidden
  "$bin/weft-run" "$@" --bench=json 2> /dev/null | sed -E 's/.*"exposed_communication_share":([0-9.]+).*/\1/'
}
"$bin/weft-translate" --build gpt2:preset=small -o "$dir/gpt2.onnx" > /dev/null 2>&1
echo "== ranks on this machine, GPT-2 small 4x128: p50 in ms, exposed communication"
printf '%-12s %10s %10s\n' mesh ms comm
for mesh in tp=1 dp=2 tp=2 dp=2,tp=2; do
  "$bin/weft-compile" -q "$dir/gpt2.onnx" --bind batch=4,seq=128 --mesh "$mesh" -o "$dir/gpt2-ranks"
  printf '%-12s %10s %10s\n' "$mesh" "$(p50 "$dir/gpt2-ranks")" "$(share "$dir/gpt2-ranks")"
done

echo
echo "== compile time by layers, GPT-2 of width 128 with weights, dp=2,tp=2: seconds by phase"
for layers in 2 6 12 24 48 96; do
  "$bin/weft-translate" --build "gpt2:layers=$layers,hidden=128,heads=4,vocab=1000,seq=128" -o "$dir/layers.onnx" > /dev/null 2>&1
  /usr/bin/env time -f 'whole %e s, %M KiB' "$bin/weft-compile" "$dir/layers.onnx" --bind batch=4,seq=128 --mesh dp=2,tp=2 \
    -o "$dir/layers" 2>&1 | awk -v n="$layers" '/ s$/ && !/whole/ { line = line sprintf(" %s %s", $1, $2) } /whole/ { line = line "  " $0 } END { print n " layers:" line }'
done

echo
echo "== one compile of GPT-2 small for dp=2,tp=2 (goal: under 10 s), twice: are the bytes equal?"
for run in a b; do
  "$bin/weft-compile" -q "$dir/gpt2.onnx" --bind batch=4,seq=128 --mesh dp=2,tp=2 -o "$dir/same-$run"
done
cmp "$dir/same-a" "$dir/same-b" && echo "equal"

echo
echo "== search for schedules, one thread, transfers and a limit of 2p microbatches: ranks, microbatches (goals: 8 64 in 2 s, 32 256 in 60 s)"
for size in "8 24" "8 64" "32 256"; do
  read -r ranks microbatches <<< "$size"
  /usr/bin/env time -f "$size: %U s" "$bin/weft-schedule" search --ranks "$ranks" --microbatches "$microbatches" --threads 1 \
    --times F=18.546,B=18.097,W=9.321,comm=0.762 --memory-limit $((2 * ranks)) --objective span | sed -n 's/^span */  span /p'
done
