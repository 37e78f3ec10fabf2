#!/usr/bin/env bash
# Outputs are on the disk before they have their names: a crash of the machine leaves the old file or the whole new one.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: synced.sh FOLDER-OF-TOOLS RENAMES.so
set -u
bin=$1 preload=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
outputs=0 failures=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}
# writes FILES TOOL ARGUMENTS...: the tool makes each of the files, and no rename is of one that was not synced.
writes() {
  local file
  : > renames
  WEFT_RENAMES=$work/renames LD_PRELOAD=$preload "$bin/$2" "${@:3}" > out 2> log || fail "$*: $(grep -m 1 error log)"
  for file in $1; do
    outputs=$((outputs + 1))
    grep -qE "^synced (.*/)?$file\$" renames || fail "$2 ${*:3}: '$file' is not synced and renamed: $(cat renames)"
  done
  ! grep '^unsynced' renames || fail "$2 ${*:3}"
}
train=(--train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=0.1)
writes m.onnx weft-translate --build gpt2:layers=1,hidden=8,heads=2,vocab=256,seq=8 -o m.onnx
writes ids.npy weft-data npy --shape 2x8 --fill ids:256 -o ids.npy
writes tokens weft-data tokens "$(realpath "$0")" -o tokens
writes "m r.html" weft-compile m.onnx --bind batch=2,seq=8 --report r.html -o m
writes s.mlir weft-compile m.onnx --bind batch=2,seq=8 --compile-to step -o s.mlir
writes t.mlir weft-opt s.mlir -o t.mlir
writes "f f.svg" weft-schedule 1f1b --ranks 2 --microbatches 4 --times F=1,B=1,W=1 -o f --plot f.svg
writes "t.json logits.npy" weft-run m --input input_ids=ids.npy --output-dir . --trace t.json
writes t weft-compile m.onnx --bind batch=2,seq=8 "${train[@]}" -o t
writes latest weft-run t --data-tokens tokens:u16 --steps 1 --save ck --log log.jsonl
writes log.svg weft-data plot log.jsonl -o log.svg
writes "x.onnx x.onnx.data" weft-translate --export-onnx m.onnx --weights ck --external-data -o x.onnx
echo "$outputs outputs, $failures failures"
[ $failures -eq 0 ] && [ $outputs -ge 16 ]
