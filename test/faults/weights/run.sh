#!/usr/bin/env bash
# Damages executables and the files behind them; every run must refuse them or have the outputs of the undamaged ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: run.sh BIN_FOLDER. WEFT_TEST_FULL=1 tries many more places.
set -u
bin=$1
flips=20
[ "${WEFT_TEST_FULL:-}" = 1 ] && flips=500
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tried=0 refused=0 harmless=0 failures=0

fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
  sed 's/^/  | /' log | tail -3
}

# check WHAT: runs ./model on the damaged files.
check() {
  tried=$((tried + 1))
  rm -rf out
  timeout 60 ./model --input x=x.npy --output-dir out > log 2>&1
  case $? in
    0) harmless=$((harmless + 1))
       cmp -s out/logits.npy good/logits.npy || fail "$1: other outputs, and exit code 0" ;;
    1) refused=$((refused + 1))
       grep -q "compile it again\|cut off" log || fail "$1: the message does not say what to do" ;;
    *) fail "$1: neither refused nor run" ;;
  esac
}

# flip FILE OFFSET BIT
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  printf "\\$(printf %03o $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# damage FILE: bits at places all over it, cut, replaced by noise and by another model of the same size.
damage() {
  cp "$1" kept
  local size i at
  size=$(stat -c %s "$1")
  RANDOM=7
  for i in $(seq $flips); do
    at=$(((RANDOM * 32768 + RANDOM) % size))
    flip "$1" $at $((i % 8))
    check "$1, bit $((i % 8)) of byte $at"
    cp kept "$1"
  done
  for at in 0 1 $((size / 2)) $((size - 1)); do
    head -c $at kept > "$1"
    # An empty file cannot be mapped; that is said in other words.
    [ $at -eq 0 ] && { tried=$((tried + 1)); ./model --bench > log 2>&1 && fail "$1: empty, and run"; continue; }
    check "$1, cut to $at bytes"
  done
  head -c "$size" /dev/urandom > "$1"
  check "$1, noise"
  cp "$2" "$1"
  check "$1, another model's"
  cp kept "$1"
  check "$1, as it was"
}

# 2 x 300 ones.
{
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 300), }"
  for _ in $(seq 600); do printf '\000\000\200\077'; done
} > x.npy
build="$bin/weft-translate --build mlp:layers=2,inputs=300,hidden=600,classes=10"
$build,seed=1 -o model.onnx && $build,seed=2 -o other.onnx || exit 1
# External data have the same bytes in a file of their own.
$build,seed=1,external=1 -o outside.onnx && $build,seed=2,external=1 -o foreign.onnx || exit 1
"$bin/weft-compile" -q outside.onnx --bind batch=2 -o model || exit 1
rm -rf good && ./model --input x=x.npy --output-dir good > log 2>&1 || fail "the undamaged model does not run"
damage outside.onnx.data foreign.onnx.data

# Bits of the executable itself: weft-run refuses all, and so does the executable, or the system.
cp model whole
size=$(stat -c %s model)
for i in $(seq $flips); do
  at=$(((RANDOM * 32768 + RANDOM) % size))
  cp whole flipped
  flip flipped $at $((i % 8))
  tried=$((tried + 1))
  "$bin/weft-run" flipped --input x=x.npy > log 2>&1
  [ $? -eq 1 ] || fail "the executable, bit $((i % 8)) of byte $at: run"
  (./flipped --input x=x.npy > log 2>&1) 2> /dev/null && fail "the executable, bit $((i % 8)) of byte $at: ran by itself"
  refused=$((refused + 1))
done

for flags in "" "--mesh tp=2" "--copy-weights"; do
  # shellcheck disable=SC2086
  "$bin/weft-compile" -q model.onnx --bind batch=2 $flags -o model && "$bin/weft-compile" -q other.onnx --bind batch=2 --copy-weights -o other ||
    exit 1
  rm -rf good && ./model --input x=x.npy --output-dir good > log 2>&1 || fail "the undamaged model does not run"
  if [ "$flags" = --copy-weights ]; then
    rm model.onnx # what is copied is all that counts
    damage model.weights other.weights
  else
    damage model.onnx other.onnx
  fi
done
echo "$tried damaged files: $refused refused, $harmless without effect, $failures failed"
# Nearly all of a file are weights.
[ $failures -eq 0 ] && [ $refused -ge $((4 * flips)) ]
