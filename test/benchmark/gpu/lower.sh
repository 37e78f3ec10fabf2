#!/usr/bin/env bash
# Lowers a gpu.module to PTX with mlir-opt: lower.sh CHIP FILE.mlir > FILE.ptx
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
chip=${1:?usage: lower.sh CHIP FILE.mlir}
file=${2:?usage: lower.sh CHIP FILE.mlir}
mlir_opt=
for candidate in "${MLIR_OPT:-}" mlir-opt-22 /usr/lib/llvm-22/bin/mlir-opt; do
  [ -n "$candidate" ] && command -v "$candidate" > /dev/null && mlir_opt=$candidate && break
done
[ -n "$mlir_opt" ] || { echo "lower.sh: no mlir-opt-22" >&2; exit 77; }
# Of PTX the first version with the tensor map's fence. No math is called, so that no libdevice is needed.
device="convert-scf-to-cf,expand-strided-metadata,lower-affine"
device+=",convert-gpu-to-nvvm{index-bitwidth=64 use-bare-ptr-memref-call-conv=1}"
device+=",convert-vector-to-llvm,convert-nvvm-to-llvm,canonicalize,cse,reconcile-unrealized-casts"
binary=$("$mlir_opt" "$file" --pass-pipeline="builtin.module(convert-nvgpu-to-nvvm,\
nvvm-attach-target{chip=$chip features=+ptx83 O=3},gpu.module($device),gpu-module-to-binary{format=isa})")
# The object is one string, in which MLIR escapes bytes as \XX.
text=$(sed -n 's/.*assembly = "\(.*\)">.*/\1/p' <<< "$binary" | sed 's/\\\([0-9A-F][0-9A-F]\)/\\x\1/g')
[ -n "$text" ] || { echo "lower.sh: no assembly in mlir-opt's output" >&2; exit 1; }
printf '%b\n' "$text"
