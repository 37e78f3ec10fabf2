#!/usr/bin/env bash
# Ranks of a pipeline are killed, stopped and stall in a step: the right one is named, and what is resumed is the straight run.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: stages.sh FOLDER-OF-TOOLS WEFT_RANK_FAULTS TEXT mpi|no-mpi
set -eu
bin=$1 faults=$2 text=$3 mpi=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/weft-translate" --build gpt2:layers=2,hidden=32,heads=4,vocab=256,seq=16,std=0.1 -o "$work/gpt2.onnx"
"$bin/weft-compile" -q "$work/gpt2.onnx" --bind batch=8,seq=16 --train --loss softmax_cross_entropy:logits,labels \
  --optimizer adamw:lr=1e-2 --mesh pp=2,dp=2 --microbatches 2 -o "$work/train"
"$faults" "$bin/weft-run" "$work/train" "$text" "$mpi" 1 3 "a rank in a step"
