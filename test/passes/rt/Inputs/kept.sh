#!/bin/sh
# Compares activations of each stage with what a schedule keeps. kept.sh MODEL MICROBATCHES COSTS SCHEDULE BLOCKS: compiles a training on two stages in
# microbatches of 8 rows, and prints of each stage the bytes of the class activation at their most, and those that weft-schedule finds by COSTS.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e
compiled=$(weft-compile -q "$1" --bind batch=$((8 * $2)) --train --loss mse:y,target --optimizer sgd:lr=0.1 --mesh pp=2 --microbatches "$2" \
  --schedule "$4" --stages "$5" --dry-run --explain=json)
compiled=$(echo "$compiled" | awk '/^ "stages": \[/ { on = 1 } on && /"activation":/ { gsub(/[^0-9]/, ""); print }')
formula=$(weft-schedule "$4" --ranks 2 --microbatches "$2" --costs "$3" --json)
formula=$(echo "$formula" | awk '/"peak_memory"/ { on = 1; next } /\]/ { on = 0 } on { gsub(/[^0-9.]/, ""); printf "%d\n", $0 }')
echo "$4, $2 microbatches: compiled" $compiled "formula" $formula
