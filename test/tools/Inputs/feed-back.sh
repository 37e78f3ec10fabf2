#!/bin/bash
# Compiles a model at once and from each phase that this prints, from another folder and without
# any flag: the executables must have the same bytes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: feed-back.sh [--scheduled | --files FOLDER] WORK-FOLDER BUILD-KEY [FLAG...]
# With --scheduled, where generating code takes long: the last phases must have the same bytes, of which code is made.
# With --files, the files of that folder lie where the model is compiled, for flags that name them.
set -eu
last=executable model=m.onnx files=
case $1 in
--scheduled)
  last=scheduled
  shift
  ;;
--files)
  files=$2
  shift 2
  ;;
esac
work=$1 build=$2
shift 2
# Texts name the model as the first command line did, made whole.
[ $last = executable ] || model=$work/model/m.onnx
rm -rf "$work"
mkdir -p "$work/model" "$work/elsewhere"
[ -z "$files" ] || cp "$files"/* "$work/model"
weft-translate --build "$build" -o "$work/model/m.onnx" >/dev/null
(cd "$work/model" && weft-compile -q "$model" "$@" --dump-phases ../phases --compile-to $last -o ../direct)
count=0
for phase in "$work"/phases/*.mlir; do
  cp "$phase" "$work/elsewhere/phase.mlir"
  # An executable names the folder of its weights as seen from its own.
  (cd "$work/elsewhere" && weft-compile -q phase.mlir --compile-to $last -o ../again)
  cmp "$work/direct" "$work/again" || { echo "$(basename "$phase") gives another $last"; exit 1; }
  # The flags of the first time may be repeated, where they were given.
  (cd "$work/model" && weft-compile -q ../elsewhere/phase.mlir "$@" --compile-to scheduled --dry-run)
  count=$((count + 1))
done
echo "$count phases give the same $last"
