#!/usr/bin/env bash
# A trained transformer as a real exporter wrote it: rxnmap.sh DIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes DIR/rxnmap.onnx (chython-rxnmap, LGPL-3+, torch 2.7 export, opset 17), the encoding of one Diels-Alder
# reaction as DIR/{atoms,neighbors,distances,roles}.npy (int64, seq_len=26), and what ONNX Runtime computed for it,
# DIR/expected/attention.npy (float32; see reference.py). Exit code 3: the model cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
mkdir -p "$dir/expected"
"$here/fetch-wheel.sh" chython-rxnmap 2.0 \
  c330c6b2250bd024807abffc45f51d2953489fa52a9caa20e82572e4463d5de6 "$dir/wheel"
cp "$dir/wheel/chython_rxnmap/rxnmap.onnx" "$dir/rxnmap.onnx"
cp "$here"/data/rxnmap/{atoms,neighbors,distances,roles}.npy "$dir/"
cp "$here/data/rxnmap/attention.npy" "$dir/expected/"
