#!/usr/bin/env bash
# Part i: ONNX's node cases, compiled for the GPU when the kit was made, run on it: every op and element type that they have.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: nodes.sh [--folder DIR] [--json FILE]
#   DIR (default: nodes beside this script) holds onnx-replay and NAME.cases.xz, which `onnx-node --record` wrote.
set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)/nodes
arguments=()
while [ $# -gt 1 ]; do
  case "$1" in
    --folder) folder=$2 ;;
    --json) arguments=(--json "$2") ;;
    *) break ;;
  esac
  shift 2
done
[ $# -eq 0 ] || { echo "usage: nodes.sh [--folder DIR] [--json FILE]" >&2; exit 2; }
[ -x "$folder/onnx-replay" ] || { echo "there are no cases in $folder: make-kit.sh was not given --weft"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The libraries that PyTorch brings, where run.sh found some.
export WEFT_CUDA_PATH=${WEFT_CUDA_PATH:-${WEFT_KIT_LIBRARY_PATH:-}}
[ -n "$WEFT_CUDA_PATH" ] || unset WEFT_CUDA_PATH

unpack() { # FILE: to the output
  if command -v xz > /dev/null; then
    xz -dc "$1"
  else
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
  fi
}
for packed in "$folder"/*.cases.xz; do
  name=$(basename "$packed" .xz)
  unpack "$packed" > "$work/$name" || exit 1
  arguments+=("$work/$name")
done
"$folder/onnx-replay" "${arguments[@]}"
