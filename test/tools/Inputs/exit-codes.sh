#!/usr/bin/env bash
# The table of exit codes of docs/troubleshooting.md, held for every kind of tool.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
cd "$1" || exit 1
failures=0 checks=0

# exits CODE COMMAND...
exits() {
  local code=$1 found
  shift
  checks=$((checks + 1))
  timeout 120 "$@" >said 2>&1 </dev/null
  found=$?
  [ $found -eq "$code" ] && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n  exit code %s, expected %s\n' "$*" $found "$code"
  head -5 said | sed 's/^/  | /'
}

exits 0 weft-translate --build mlp:layers=1,inputs=8,classes=4 -o mlp.onnx
exits 0 weft-data npy --shape 8x8 --fill random:1 -o x.npy
exits 0 weft-compile -q mlp.onnx --bind batch=8 --mesh dp=2 -o mlp
exits 0 weft-compile -q mlp.onnx --bind batch=8 --mesh dp=2 --compile-to sharded -o mlp.mlir
exits 0 weft-opt mlp.mlir -o same.mlir
exits 0 weft-run mlp --input x=x.npy
exits 0 ./mlp --input x=x.npy

# 1: what was given is wrong.
head -c 100 mlp.onnx > cut.onnx
echo '"no.op"() : () -> (' > cut.mlir
exits 1 weft-translate --onnx-to-text cut.onnx -o cut.txt
exits 1 weft-data show cut.onnx
exits 1 weft-compile -q cut.onnx -o cut
exits 1 weft-compile -q cut.mlir -o cut
exits 1 weft-opt cut.mlir -o cut.out
exits 1 weft-reduce cut.mlir --weft-reduce-program=test=false -o cut.out
exits 1 weft-run mlp --input x=cut.onnx
exits 1 ./mlp --input x=cut.onnx
exits 1 weft-run cut.onnx
for wrong in --cluster --plan; do
  exits 1 weft-compile -q mlp.onnx --bind batch=8 $wrong cut.mlir -o cut
done
for wrong in '--schedule file:cut.mlir' '--stage-costs cut.mlir'; do
  # shellcheck disable=SC2086 # a flag and its value
  exits 1 weft-compile -q mlp.onnx --bind batch=8 --mesh pp=2 --microbatches 2 $wrong -o cut
done
exits 1 weft-plan mlp.onnx --bind batch=8 --evaluate dp=2 --profile cut.mlir
exits 1 weft-schedule file:cut.mlir

# What microbatches forbid is known only late, when loops are formed.
exits 0 weft-translate --build resnet:preset=tiny --no-weights -o resnet.onnx
exits 1 weft-compile -q resnet.onnx --bind batch=8 --microbatches 2 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd --dry-run

# 2: the command line is wrong. weft-opt's is LLVM's, which says 1.
for tool in weft-translate weft-data weft-compile weft-run ./mlp; do
  exits 2 "$tool" --no-such-flag
done
exits 2 weft-data plot
exits 2 weft-run -n 3 mlp --input x=x.npy
exits 2 ./mlp

# 3 and 4: a rank that fails, and one that does not come.
exits 3 ./mlp --input x=x.npy --inject 1:0
exits 3 weft-run --comm tcp mlp --input x=x.npy --inject 1:0

# 5: memory will not do.
exits 5 weft-compile -q mlp.onnx --bind batch=8 --memory-limit 16B -o small

# 70: a target whose own code is at fault, which a person who wrote the text may be, too.
exits 70 weft-toy -q mlp.onnx --bind batch=8 --target faulty -o faulty
exits 70 weft-toy -q mlp.onnx --bind batch=8 --target mute -o faulty
exits 0 weft-toy -q mlp.onnx --bind batch=8 --target faulty --compile-to scheduled -o faulty.mlir
exits 1 weft-toy -q faulty.mlir -o faulty

echo "$checks checks, $failures failed"
[ $failures -eq 0 ]
