#!/bin/bash
# All kernels of models that are trained assemble for the GPUs: no spills, no stack, no function that is not there.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: models.sh BIN       prints a line a program and chip, and the hot kernels of a model of usual size
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! PATH=$PATH:/usr/local/cuda/bin command -v ptxas > /dev/null; then
  echo "SKIPPED: no ptxas in PATH or /usr/local/cuda/bin"
  exit 77
fi
# What moves the most memory in training, and is expected in accesses of 16 bytes.
hot='(LayerNormalization|_act_Mul_3|_adamw_of.*c_.*weight|k_loss|c_proj_Gemm|c_fc_Gemm|c_attn_Gemm)$'
training="--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.1,clip=1"
failed=0
# NAME BUILD BIND FLAGS CHIPS.., and what weft-cuda-kernels is asked for
program() {
  local name=$1 build=$2 bind=$3
  shift 3
  "$bin/weft-translate" --no-weights --build "$build" -o "$work/$name.onnx" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  # shellcheck disable=SC2086 # several flags
  "$bin/weft-compile" "$work/$name.onnx" -q --target cuda --bind "$bind" --precision bf16 --attention decomposed $training \
    --compile-to scheduled > "$work/$name.mlir"
  "$bin/weft-cuda-kernels" "$work/$name.mlir" "$@" > "$work/table" 2>&1 || failed=1
  sed -n "/WRONG\| hot\|kernels for\|error/s/^/$name /p" "$work/table"
}
program gpt2 gpt2:layers=1,hidden=256,heads=4,vocab=1024,seq=128 batch=4,seq=128 cuda:sm_80 cuda:sm_90 cuda:sm_100 --quiet
program llama llama:layers=1,hidden=256,heads=4,kv_heads=2,ffn=512,vocab=1024,seq=128 batch=4,seq=128 \
  cuda:sm_80 cuda:sm_90 cuda:sm_100 --quiet
program gpt2-usual gpt2:layers=1,hidden=768,heads=12,vocab=50304,seq=1024 batch=8,seq=1024 cuda --hot "$hot"
training="--train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=0.1,momentum=0.9"
program vit vit:layers=1,hidden=256,heads=4,image=64,patch=16,classes=16 batch=4 cuda --quiet
program resnet resnet:layers=18,hidden=16,image=64,classes=16 batch=4 cuda --quiet
exit $failed
