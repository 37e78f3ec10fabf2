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
tokens="--loss softmax_cross_entropy:logits,labels"
failed=0 programs=0
# program NAME BUILD BIND PRECISION TRAINING ASKED..: its kernels, as weft-cuda-kernels is ASKED for; forward where TRAINING is empty
program() {
  local name=$1 build=$2 bind=$3 precision=$4 training=$5
  shift 5
  "$bin/weft-translate" --no-weights --build "$build" -o "$work/$name.onnx" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  # shellcheck disable=SC2086 # several flags
  "$bin/weft-compile" "$work/$name.onnx" -q --target cuda --bind "$bind" --precision "$precision" --attention decomposed $training \
    --compile-to scheduled > "$work/$name.mlir"
  "$bin/weft-cuda-kernels" "$work/$name.mlir" "$@" > "$work/table" 2>&1 || failed=1
  programs=$((programs + 1))
  sed -n "/WRONG\| hot\|kernels for\|error/s/^/$name $precision ${training:+train }/p" "$work/table"
}
# All models, trained and forward, in both precisions, for three chips (WEFT_TEST_FULL=1); else a part of that, in which each
# model, precision and chip has its turn.
all=(cuda:sm_80 cuda:sm_90 cuda:sm_100)
adamw="--train $tokens --optimizer adamw:lr=0.1,clip=1" sgd="--train $tokens --optimizer sgd:lr=0.1,momentum=0.9"
model() {
  local name=$1 build=$2 bind=$3 training=$4 turn=$5 precision mode
  if [ -z "${WEFT_TEST_FULL:-}" ]; then
    program "$name" "$build" "$bind" bf16 "$training" "${all[$((turn % 3))]}" --quiet
    program "$name" "$build" "$bind" fp32 "$([ $((turn % 2)) = 0 ] || echo "$training")" "${all[$(((turn + 1) % 3))]}" --quiet
    return
  fi
  for precision in bf16 fp32; do
    for mode in "$training" ""; do
      program "$name" "$build" "$bind" "$precision" "$mode" "${all[@]}" --quiet
    done
  done
}
model gpt2 gpt2:layers=1,hidden=256,heads=4,vocab=1024,seq=128 batch=4,seq=128 "$adamw" 0
model llama llama:layers=1,hidden=256,heads=4,kv_heads=2,ffn=512,vocab=1024,seq=128 batch=4,seq=128 "$adamw" 1
model bert bert:layers=1,hidden=256,heads=4,ffn=512,vocab=1024,seq=128,head=mlm batch=4,seq=128 "$adamw" 2
model vit vit:layers=1,hidden=768,heads=12,image=224,patch=16,classes=1000 batch=4 "$sgd" 1
program small-vit vit:layers=1,hidden=256,heads=4,image=64,patch=16,classes=10 batch=4 fp32 "$sgd" cuda:sm_90 --quiet
model resnet resnet:layers=18,hidden=16,image=64,classes=16 batch=4 "$sgd" 2
program gpt2-usual gpt2:layers=1,hidden=768,heads=12,vocab=50304,seq=1024 batch=8,seq=1024 bf16 "$adamw" cuda --hot "$hot" --most 3.5
echo "$programs programs"
exit $failed
