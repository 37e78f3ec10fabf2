#!/bin/bash
# Without ptxas kernels are PTX alone, which -v tells and the driver assembles.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: no-assembler.sh BIN
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hidden=$work/hidden
mkdir "$hidden"
# A folder without it lies over each that has it.
without() {
  local folders
  folders=$(tr : '\n' <<< "$PATH:/usr/local/cuda/bin" | sort -u | while IFS= read -r folder; do
    [ ! -x "$folder/ptxas" ] || readlink -f "$folder"
  done)
  # shellcheck disable=SC2016 # for the shell within
  FOLDERS=$folders HIDDEN=$hidden unshare --mount bash -c '
    for folder in $FOLDERS; do mount --bind "$HIDDEN" "$folder" || exit 77; done
    exec "$@"' - "$@"
}
without true 2> /dev/null || { echo "SKIPPED: mounts are not allowed, so ptxas cannot be hidden"; exit 77; }
unset WEFT_CUDA_PATH
"$bin/weft-translate" --build gpt2:layers=1,hidden=32,heads=4,vocab=256,seq=32 -o "$work/gpt.onnx" > "$work/log"
compile=("$bin/weft-compile" "$work/gpt.onnx" --bind batch=4,seq=32 --precision bf16 --target cuda:sm_90)
without "${compile[@]}" -v -o "$work/text" > "$work/log" 2>&1
grep -q 'kernels are PTX alone, which the driver assembles for sm_90 when a program starts: no ptxas in PATH or' "$work/log" ||
  { tail -5 "$work/log"; echo "FAILED: a remark that there is no ptxas"; exit 1; }
[ "$(grep -c 'kernels are PTX alone' "$work/log")" = 1 ] || { echo "FAILED: told once"; exit 1; }
"$bin/weft-run" "$work/text" --info | grep -q 'for cuda:sm_90' || { echo "FAILED: an executable for the GPU"; exit 1; }
grep -qa 'target sm_90' "$work/text" || { echo "FAILED: with PTX"; exit 1; }
# With it there are cubins beside the PTX.
"${compile[@]}" -q -o "$work/both"
[ "$(stat -c %s "$work/both")" -gt "$(stat -c %s "$work/text")" ] || { echo "FAILED: cubins, with ptxas"; exit 1; }
echo "PTX alone: told, and an executable"
