#!/bin/bash
# The kernel cases as whole programs on the emulated GPU; with WEFT_TEST_FULL=1 all, else each so many.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: emulated.sh BIN EMULATED EVERY
set -euo pipefail
bin=$1 emulated=$2 every=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "${WEFT_TEST_FULL:-0}" != 1 ] || every=1
"$bin/weft-record-kernels" "$work/kernels.cases" cuda:host "$every"
WEFT_DEVICE=cuda WEFT_CUDA_PATH=$emulated "$bin/onnx-replay" "$work/kernels.cases" --limit 300 --jobs 2
