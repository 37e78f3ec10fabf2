#!/bin/bash
# Compiles each built model whose outputs an independent reference recorded,
# runs it on the given meshes and holds the outputs against the record.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: golden.sh BUILD-BIN GOLDEN-FOLDER [MESH...]
set -u
bin=$1 golden=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compared=0
for folder in "$golden"/*/; do
  name=$(basename "$folder")
  "$bin/weft-translate" --build "$(cat "$folder/spec.txt")" -o "$work/$name.onnx" >/dev/null || { echo "FAIL $name: cannot be built"; failed=1; continue; }
  inputs=() expected=() bind=""
  for file in "$folder"*.npy; do
    inputs+=(--input "$(basename "$file" .npy)=$file")
    # Extents of the data bind whatever the model leaves open.
    shape=$(head -c 128 "$file" | tr -d '\0' | grep -ao "'shape': ([^)]*)" | sed 's/.*(//; s/)//; s/ //g')
    i=0
    for n in ${shape//,/ }; do bind+="${bind:+,}$(basename "$file" .npy)[$i]=$n"; i=$((i + 1)); done
  done
  for file in "$folder"expected/*.npy; do expected+=(--expect "$(basename "$file" .npy)=$file"); done
  for mesh in "" "$@"; do
    if ! "$bin/weft-compile" "$work/$name.onnx" --bind "$bind" ${mesh:+--mesh "$mesh"} -q -o "$work/$name" 2>"$work/log"; then
      echo "FAIL $name on '${mesh:-one device}': does not compile: $(head -3 "$work/log")"; failed=1; continue
    fi
    if "$work/$name" "${inputs[@]}" "${expected[@]}" --rtol 1e-4 --atol 1e-5 >"$work/log" 2>&1; then
      compared=$((compared + 1)); echo "ok   $name on '${mesh:-one device}'"
    else
      echo "FAIL $name on '${mesh:-one device}': $(tail -3 "$work/log")"; failed=1
    fi
  done
done
echo "$compared runs compared"
[ $failed = 0 ] && [ $compared -ge 6 ]
