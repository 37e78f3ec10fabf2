#!/bin/sh
# Loss and norm of gradients of a step that makes the mean of y^2 less, where h = x w of one weight.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: one-step.sh "NODES" WEIGHT ones|range
set -e
{
  echo '<ir_version: 8, opset_import: ["": 18]>'
  echo "g (float[100, 1] x) => (float[100, 1] y) <float[1, 1] w = {$2}>"
  echo "{ one = Constant <value_float = 1.0> () ax = Constant <value_ints = [1]> () h = MatMul(x, w) $1 }"
} > model.txt
weft-translate --text-to-onnx model.txt -o model.onnx
weft-compile -q model.onnx --train --loss mse:y,target --optimizer sgd:lr=0 -o model
weft-run model -q --data "x=$3.npy" --data target=zeros.npy --steps 1 | sed -E 's/ +/ /g; s/ lr .*/ /'
