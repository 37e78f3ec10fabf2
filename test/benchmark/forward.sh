#!/usr/bin/env bash
# Speed of forward passes on one rank, printed as a table: ours beside ONNX Runtime and PyTorch, eager and compiled.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: forward.sh [FOLDER] [ROW...]      a row: NETWORK:SHAPE, as in `rows` below; default all of them
# Not a test: it asserts nothing. Run it on an idle machine. Each way runs in turn, in ROUNDS (3) rounds; a figure is the
# median of the rounds' medians in milliseconds. $WEFT_PEER_PYTHON (default: python3) must import torch, torchvision,
# transformers, onnx and onnxruntime; a way it has not is told as "-". WAYS: those that are measured, ours first (all).
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${WEFT_BIN:-build/release/bin}
dir=${1:-build/benchmark}
python=${WEFT_PEER_PYTHON:-python3}
threads=${WEFT_THREADS:-$(nproc)}
rounds=${ROUNDS:-3}
peer=test/benchmark/forward_peer.py
rows=(gpt2:1x128 gpt2:4x128 minilm:8x32 minilm:8x128 resnet18:1x3x224x224 resnet18:8x3x224x224 resnet50:1x3x224x224
  resnet50:8x3x224x224 mobilenet_v2:1x3x224x224 mobilenet_v2:8x3x224x224 mobilenet_v3_large:1x3x224x224
  vit_b_16:1x3x224x224 ssdlite:1x3x320x320)
[ $# -lt 2 ] || rows=("${@:2}")
mkdir -p "$dir"

model() { # NETWORK SHAPE FILE
  case $1 in
  gpt2) "$bin/weft-translate" --build gpt2:preset=small -o "$3" > /dev/null 2>&1 ;;
  minilm) "$bin/weft-translate" --build bert:preset=minilm -o "$3" > /dev/null 2>&1 ;;
  *) "$python" "$peer" export "$1" "$2" "$3" > /dev/null 2>&1 ;;
  esac
}
bindings() { # SHAPE: of tokens
  case $1 in
  *x*x*) ;;
  *) echo "--bind batch=${1%x*},seq=${1#*x}" ;;
  esac
}
once() { # WAY NETWORK SHAPE: milliseconds
  local file=$dir/$2-$3
  case $1 in
  weft) "$bin/weft-run" "$file" --threads-per-rank "$threads" --bench=json | sed -E 's/.*"p50_ms":([0-9.]+).*/\1/' ;;
  onnxruntime) "$python" "$peer" onnxruntime "$file.onnx" "$threads" "$3" ;;
  *) "$python" "$peer" "$1" "$2" "$threads" "$3" ;;
  esac 2> /dev/null || echo -
}
median() { sort -g | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'; }

echo "== forward, fp32, one rank, $threads threads: ms (ratio: the fastest peer's by ours; > 1: weft is faster)"
printf '%-32s %9s %12s %9s %9s %7s\n' network weft onnxruntime eager compiled ratio
read -ra ways <<< "${WAYS:-weft onnxruntime eager compiled}"
for row in "${rows[@]}"; do
  network=${row%%:*} shape=${row#*:}
  model "$network" "$shape" "$dir/$network-$shape.onnx"
  # shellcheck disable=SC2046
  "$bin/weft-compile" -q "$dir/$network-$shape.onnx" $(bindings "$shape") -o "$dir/$network-$shape"
  for way in weft onnxruntime eager compiled; do : > "$dir/$way.times"; done
  for ((round = 0; round < rounds; ++round)); do
    for way in "${ways[@]}"; do once "$way" "$network" "$shape" >> "$dir/$way.times"; done
  done
  for way in weft onnxruntime eager compiled; do median < "$dir/$way.times"; done | paste -sd ' ' | awk -v name="$network $shape" '{
    for (i = 2; i <= 4; ++i) if ($i != "-" && (!best || $i < best)) best = $i
    printf "%-32s %9s %12s %9s %9s %7s\n", name, $1, $2, $3, $4, best ? sprintf("%.2f", best / $1) : "-" }'
done
