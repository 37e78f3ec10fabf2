#!/bin/sh
# Prints a stack of COUNT equal blocks as ONNX text: a product of 64 by 64 and two functions of its result. Weights are 0. blocks.sh COUNT.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e
awk -v count="$1" 'BEGIN {
  print "<ir_version: 8, opset_import: [\"\": 13]>"
  print "g (float[batch, 64] x) => (float[batch, 64] y)\n<"
  for (i = 0; i < count; ++i) {
    printf "%sfloat[64, 64] w%d = {0", i ? ",\n" : "", i
    for (j = 1; j < 64 * 64; ++j) printf ",0"
    printf "}"
  }
  print "\n> {"
  last = "x"
  for (i = 0; i < count; ++i) {
    printf "  p%d = MatMul (%s, w%d)\n  t%d = Tanh (p%d)\n  s%d = Sigmoid (t%d)\n", i, last, i, i, i, i, i
    last = "s" i
  }
  printf "  y = Identity (%s)\n}\n", last
}'
