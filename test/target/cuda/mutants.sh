#!/bin/bash
# Lists of commands for GPUs that were changed are rejected, unless they mean the same.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: mutants.sh BIN
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=600
[ -z "${WEFT_TEST_FULL:-}" ] || count=6000
"$bin/weft-translate" --build gpt2:layers=1,hidden=16,heads=2,vocab=32,seq=8 -o "$work/gpt.onnx" > "$work/log"
number=0
for layout in '' '--mesh dp=2 --zero 1' '--mesh dp=2 --zero 3' '--mesh tp=2' '--mesh dp=2,tp=2 --zero 2'; do
  number=$((number + 1))
  # shellcheck disable=SC2086 # several flags
  "$bin/weft-compile" -q "$work/gpt.onnx" --bind batch=4,seq=8 --precision bf16 --target cuda $layout --train \
    --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.003,clip=0.5 --compile-to scheduled > "$work/$number.mlir"
done
"$bin/weft-command-mutants" "$count" "$work"/*.mlir
