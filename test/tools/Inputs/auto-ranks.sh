#!/usr/bin/env bash
# auto-ranks.sh FOLDER-OF-TEST FOLDER TEXT: a model on eight ranks as --auto splits it, on three clusters, beside one rank.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -eu
here=$1 text=$3
cd "$2"
weft-translate --build llama:layers=9,hidden=64,heads=8,ffn=256,vocab=1024,seq=4,std=0.02 -o model.onnx 2>made.txt
model=(model.onnx --bind batch=8,seq=4 --train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.01,clip=1 -O 1)
weft-compile "${model[@]}" -q -o one
./one -q --steps 3 --data-tokens "$text:byte" --log one.jsonl
# Operations a second; bytes a second over links, and their latency.
while read -r axis flops links latency; do
  made='origin: "made up"'
  echo "name: \"$axis\" device { memory { bytes: 1e12 bandwidth: 1e15 $made } rate { type: \"f32\" flops: $flops $made } }
    link { name: \"bus\" bandwidth: $links latency: $latency $made }" >"$axis.textproto"
  weft-compile "${model[@]}" --auto --cluster "$axis.textproto" --devices 8 --forbid recompute,sp -o many 2>told.txt
  grep '^plan:' told.txt
  ./many -q --steps 3 --data-tokens "$text:byte" --log many.jsonl
  sh "$here/Inputs/curves.sh" one.jsonl many.jsonl 3 1e-3
done <<'END'
dp 1e9 1e13 1e-4
tp 1e9 6e8 0
pp 1e10 1e6 0
END
