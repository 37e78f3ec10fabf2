#!/bin/bash
# Compiles models whose outputs an independent program recorded, runs them on the
# given meshes and holds the outputs against the record.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: golden.sh BUILD-BIN FOLDER RUNS RTOL ATOL [MESH...]
#
# Each FOLDER/NAME with inputs NAME/*.npy and outputs NAME/expected/*.npy is a
# case. Its model is built by NAME/spec.txt, in both of the builders' styles, or
# it is NAME.onnx beside the folder. Exactly RUNS runs must be compared.
set -u
bin=$1 folder=$2 wanted=$3
tolerance=(--rtol "$4" --atol "$5")
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 compared=0
fail() { echo "FAIL $1: $2"; failed=$((failed + 1)); }

# check NAME MODEL CASE MESH...: one model on one device and on each mesh.
check() {
  local name=$1 model=$2 case=$3 bind="" inputs=() expected=() file shape i n mesh
  shift 3
  for file in "$case"/*.npy; do
    inputs+=(--input "$(basename "$file" .npy)=$file")
    # Extents of the data bind whatever the model leaves open.
    shape=$(head -c 128 "$file" | tr -d '\0' | grep -ao "'shape': ([^)]*)" | sed 's/.*(//; s/)//; s/ //g')
    i=0
    for n in ${shape//,/ }; do bind+="${bind:+,}$(basename "$file" .npy)[$i]=$n"; i=$((i + 1)); done
  done
  for file in "$case"/expected/*.npy; do expected+=(--expect "$(basename "$file" .npy)=$file"); done
  for mesh in "" "$@"; do
    local where="$name on '${mesh:-one device}'"
    if ! "$bin/weft-compile" "$model" --bind "$bind" ${mesh:+--mesh "$mesh"} -q -o "$work/program" 2>"$work/log"; then
      fail "$where" "does not compile: $(head -3 "$work/log")"
    elif ! "$work/program" "${inputs[@]}" "${expected[@]}" "${tolerance[@]}" >"$work/log" 2>&1; then
      fail "$where" "$(grep -E 'error' "$work/log")"
    else
      compared=$((compared + 1))
      echo "ok   $where: $(grep -o 'relative to the largest value [^ ]*' "$work/log" | sort -g -k6 | tail -1)"
    fi
  done
}

for case in "$folder"/*/; do
  case=${case%/}
  name=$(basename "$case")
  if [ ! -e "$case/spec.txt" ]; then
    check "$name" "$case.onnx" "$case" "$@"
    continue
  fi
  for style in exporter compact; do
    model=$work/$name-$style.onnx
    if "$bin/weft-translate" --build "$(cat "$case/spec.txt"),style=$style" -o "$model" >/dev/null 2>"$work/log"; then
      check "$name ($style)" "$model" "$case" "$@"
    else
      fail "$name ($style)" "cannot be built: $(head -3 "$work/log")"
    fi
  done
done
echo "$compared runs compared, $failed failed; $wanted must be"
[ $failed -eq 0 ] && [ "$compared" -eq "$wanted" ]
