#!/usr/bin/env bash
# Speed of training, printed as tables: one rank beside PyTorch, ranks from 1 to 4, ZeRO's memory, overlap.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Not a test: it asserts nothing. Run it on an idle machine. PyTorch is measured when $WEFT_TORCH_PYTHON (default:
# /usr/bin/python3) can import torch; without it the column says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${WEFT_BIN:-build/release/bin}
dir=${1:-build/benchmark}
python=${WEFT_TORCH_PYTHON:-/usr/bin/python3}
threads=$(nproc)
mkdir -p "$dir"

head -c 4000000 /dev/urandom > "$dir/tokens.bin"
build() { # EXECUTABLE LAYERS HIDDEN HEADS VOCAB SEQ BATCH [flags]
  "$bin/weft-translate" --build "gpt2:layers=$2,hidden=$3,heads=$4,vocab=$5,seq=$6" -o "$1.onnx" > /dev/null 2>&1
  "$bin/weft-compile" -q "$1.onnx" --bind "batch=$7,seq=$6" --train --loss softmax_cross_entropy:logits,labels \
    --optimizer adamw:lr=1e-3,clip=1 "${@:8}" -o "$1"
}
median() { # EXECUTABLE [COMMUNICATOR]: of the steps after the fifth, from the log
  rm -f "$1.jsonl"
  "$bin/weft-run" --comm "${2:-inproc}" "$1" --data-tokens "$dir/tokens.bin:byte" --steps 15 --log "$1.jsonl" > /dev/null 2>&1
  column "$1" step_ms
}
column() { # EXECUTABLE KEY: median of the same steps
  tail -n 10 "$1.jsonl" | sed -E "s/.*\"$2\":([0-9.]+).*/\1/" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
memory() { # EXECUTABLE: MiB of one rank
  tail -n 1 "$1.jsonl" | sed -E 's/.*"mem_bytes":([0-9.]+).*/\1/' | awk '{ printf "%.0f", $1 / 1048576 }'
}

echo "== training step, fp32, AdamW, clipping, one rank, $threads threads: ms (torch / weft > 1: weft is faster)"
printf '%-34s %10s %10s %8s\n' model weft torch ratio
for shape in "6 256 8 256 128 8" "6 512 8 256 128 8" "6 768 12 8000 128 4"; do
  # shellcheck disable=SC2086
  build "$dir/gpt" $shape
  ours=$(median "$dir/gpt")
  # shellcheck disable=SC2086
  theirs=$("$python" test/benchmark/torch_training_peer.py $shape "$threads" 2> /dev/null || echo -)
  printf '%-34s %10s %10s %8s\n' "gpt2 layers/hidden/..: ${shape// //}" "$ours" "$theirs" \
    "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { if (a == "-") print "-"; else printf "%.2f", a / b }')"
done

echo
echo "== the same 6 layers of width 256 on ranks of this machine: ms a step, memory of a rank"
printf '%-34s %10s %10s\n' layout ms MiB
for layout in "dp=1" "dp=2" "dp=4" "tp=2" "dp=2,tp=2" "dp=4 --zero 1" "dp=4 --zero 2" "dp=4 --zero 3" "dp=2,tp=2 --zero 3" \
  "dp=2 --microbatches 4" "dp=1 --recompute full"; do
  # shellcheck disable=SC2086
  build "$dir/gpt-ranks" 6 256 8 256 128 8 --mesh $layout
  ms=$(median "$dir/gpt-ranks")
  printf '%-34s %10s %10s\n' "$layout" "$ms" "$(memory "$dir/gpt-ranks")"
done

echo
echo "== communication on two ranks: commands a step, ms of it, its part under computation, share of the step it is waited for"
printf '%-34s %8s %10s %10s %10s %10s\n' layout commands ms 'comm ms' hidden waited
for layout in "dp=2" "dp=2 --zero 1" "dp=2 --zero 3"; do
  for bucket in 0 25MiB; do
    # shellcheck disable=SC2086
    build "$dir/gpt-overlap" 6 256 8 256 128 8 --mesh $layout --bucket-size $bucket
    commands=$("$bin/weft-run" --dump "$dir/gpt-overlap" | awk '/^program/ { step = /step/ } step && / collective / { n++ } END { print n }')
    for comm in inproc mpi; do
      ms=$(median "$dir/gpt-overlap" "$comm" || echo -)
      printf '%-34s %8s %10s %10s %10s %10s\n' "$layout, buckets $bucket, $comm" "$commands" "$ms" \
        "$(column "$dir/gpt-overlap" communication_ms)" "$(column "$dir/gpt-overlap" overlap)" \
        "$(column "$dir/gpt-overlap" communication_share)"
    done
  done
done
