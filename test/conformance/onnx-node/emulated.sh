#!/bin/bash
# The cases of a suite as kernels of CUDA's form, on the emulated GPU; with WEFT_TEST_FULL=1 all, else each whose name ends so.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: emulated.sh BIN EMULATED FOLDER ALLOW-LIST MINIMUM LEAST END    the least of all, and of those that end so
set -euo pipefail
bin=$1 emulated=$2 folder=$3 list=$4 minimum=$5 least=$6 end=$7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pattern=.
[ "${WEFT_TEST_FULL:-0}" = 1 ] || { pattern="$end\$"; minimum=$least; }
"$bin/onnx-node" "$folder" "$list" "$minimum" "$pattern" --target=cuda:host --record="$work/recorded.cases"
WEFT_DEVICE=cuda WEFT_CUDA_PATH=$emulated "$bin/onnx-replay" "$work/recorded.cases" --limit 300 --jobs 2
