#!/usr/bin/env bash
# Speed of training, printed as tables: one rank beside PyTorch, ranks from 1 to 4, ZeRO's memory, overlap.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Not a test: it asserts nothing. Run it on an idle machine; on one that others use, the columns of processor time on
# one thread still say what a step costs. PyTorch is measured, in turn with ours, when $WEFT_TORCH_PYTHON (default:
# /usr/bin/python3) can import torch; without it the column says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${WEFT_BIN:-build/release/bin}
dir=${1:-build/benchmark}
python=${WEFT_TORCH_PYTHON:-/usr/bin/python3}
threads=${WEFT_THREADS:-$(nproc)}
mkdir -p "$dir"

head -c 4000000 /dev/urandom > "$dir/tokens.bin"
compile() { # EXECUTABLE BINDINGS [flags]
  "$bin/weft-compile" -q "$1.onnx" --bind "$2" --train --loss softmax_cross_entropy:logits,labels \
    --optimizer adamw:lr=1e-3,clip=1 "${@:3}" -o "$1"
}
gpt() { # EXECUTABLE LAYERS HIDDEN HEADS VOCAB SEQ BATCH [flags]
  "$bin/weft-translate" --build "gpt2:layers=$2,hidden=$3,heads=$4,vocab=$5,seq=$6" -o "$1.onnx" > /dev/null 2>&1
  compile "$1" "batch=$7,seq=$6" "${@:8}"
}
resnet() { # EXECUTABLE SIZE CLASSES BATCH
  "$bin/weft-translate" --build "resnet:layers=18,image=$2,classes=$3" -o "$1.onnx" > /dev/null 2>&1
  compile "$1" "batch=$4"
  npy "$1.x.npy" "'<f4', 'fortran_order': False, 'shape': ($4, 3, $2, $2)" $(($4 * 3 * $2 * $2 * 4)) /dev/zero
  npy "$1.y.npy" "'<i8', 'fortran_order': False, 'shape': ($4,)" $(($4 * 8)) /dev/zero
}
npy() { # FILE HEADER BYTES SOURCE: one array
  { printf '\x93NUMPY\x01\x00\x76\x00'; printf '%-117s\n' "{'descr': $2, }"; head -c "$3" "$4"; } > "$1"
}
train() { # STEPS EXECUTABLE [flags]
  case $2 in
  *resnet*) "$bin/weft-run" "$2" --data "pixel_values=$2.x.npy" --data "labels=$2.y.npy" --steps "$1" "${@:3}" ;;
  *) "$bin/weft-run" "$2" --data-tokens "$dir/tokens.bin:byte" --steps "$1" "${@:3}" ;;
  esac > /dev/null 2>&1
}
median() { # EXECUTABLE [flags]: of the steps after the fifth, from the log
  rm -f "$1.jsonl"
  train 15 "$1" --log "$1.jsonl" "${@:2}"
  column "$1" step_ms
}
column() { # EXECUTABLE KEY: median of the same steps
  tail -n 10 "$1.jsonl" | sed -E "s/.*\"$2\":([0-9.]+).*/\1/" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
processor() { # EXECUTABLE [flags]: milliseconds of processor time a step, the least of three times ten steps
  for _ in 1 2 3; do
    for steps in 3 13; do
      (train "$steps" "$@"; times) | tail -n 1
    done
  done | sed -E 's/([0-9]+)m([0-9.]+)s ([0-9]+)m([0-9.]+)s/\1 \2 \3 \4/' | awk '
    { t = 60 * ($1 + $3) + $2 + $4 } NR % 2 == 1 { first = t; next }
    { step = 100 * (t - first); if (!least || step < least) least = step } END { printf "%.1f", least }'
}
memory() { # EXECUTABLE: MiB of one rank
  tail -n 1 "$1.jsonl" | sed -E 's/.*"mem_bytes":([0-9.]+).*/\1/' | awk '{ printf "%.0f", $1 / 1048576 }'
}
peer() { # THREADS PEER-ARGUMENTS...: of its ways to use threads the fastest; its BLAS has threads of its own
  local settings=("$1 $1")
  [ "$1" -eq 1 ] || settings+=("1 $1" "$1 1")
  for setting in "${settings[@]}"; do
    OMP_NUM_THREADS=${setting% *} OPENBLAS_NUM_THREADS=${setting#* } MKL_NUM_THREADS=${setting#* } \
      "$python" test/benchmark/torch_training_peer.py "${@:2}" "${setting% *}" 2> /dev/null || echo "- - -"
  done | sort -g | head -n 1
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-") print "-"; else printf "%.2f", a / b }'; }
beside() { # NAME EXECUTABLE PEER-ARGUMENTS...
  local ours theirs alone alone_theirs
  ours=$(median "$2" --threads-per-rank "$threads")
  theirs=$(peer "$threads" "${@:3}")
  alone=$(processor "$2" --threads-per-rank 1)
  alone_theirs=$(peer 1 "${@:3}")
  printf '%-30s %9s %9s %7s %12s %9s %7s\n' "$1" "$ours" "${theirs%% *}" "$(ratio "${theirs%% *}" "$ours")" \
    "$alone" "${alone_theirs##* }" "$(ratio "${alone_theirs##* }" "$alone")"
}

echo "== training step, fp32, AdamW, clipping, one rank: ms on $threads threads, processor ms on one (torch / weft > 1: weft is faster)"
printf '%-30s %9s %9s %7s %12s %9s %7s\n' model weft torch ratio weft torch ratio
for shape in "6 256 8 256 128 8" "6 512 8 256 128 8" "6 768 12 8000 128 4"; do
  # shellcheck disable=SC2086
  gpt "$dir/gpt" $shape
  # shellcheck disable=SC2086
  beside "gpt2 ${shape// //}" "$dir/gpt" gpt2 $shape
done
for shape in "64 10 16" "224 1000 4"; do
  # shellcheck disable=SC2086
  resnet "$dir/resnet" $shape
  # shellcheck disable=SC2086
  beside "resnet18 ${shape// //}" "$dir/resnet" resnet18 $shape
done

echo
echo "== the same 6 layers of width 256 on ranks of this machine: ms a step, processor ms of all ranks, memory of a rank"
printf '%-34s %10s %10s %10s\n' layout ms processor MiB
for layout in "dp=1" "dp=2" "dp=4" "tp=2" "dp=2,tp=2" "dp=4 --zero 1" "dp=4 --zero 2" "dp=4 --zero 3" "dp=2,tp=2 --zero 3" \
  "dp=2 --microbatches 4" "dp=1 --recompute full"; do
  # shellcheck disable=SC2086
  gpt "$dir/gpt-ranks" 6 256 8 256 128 8 --mesh $layout
  ms=$(median "$dir/gpt-ranks")
  printf '%-34s %10s %10s %10s\n' "$layout" "$ms" "$(processor "$dir/gpt-ranks" --threads-per-rank 1)" "$(memory "$dir/gpt-ranks")"
done

echo
echo "== communication on two ranks: commands a step, ms of it, its part under computation, share of the step it is waited for"
printf '%-34s %8s %10s %10s %10s %10s\n' layout commands ms 'comm ms' hidden waited
for layout in "dp=2" "dp=2 --zero 1" "dp=2 --zero 3"; do
  for bucket in 0 25MiB; do
    # shellcheck disable=SC2086
    gpt "$dir/gpt-overlap" 6 256 8 256 128 8 --mesh $layout --bucket-size $bucket
    commands=$("$bin/weft-run" --dump "$dir/gpt-overlap" | awk '/^program/ { step = /step/ } step && / collective / { n++ } END { print n }')
    for comm in inproc mpi; do
      ms=$(median "$dir/gpt-overlap" --comm "$comm" || echo -)
      printf '%-34s %8s %10s %10s %10s %10s\n' "$layout, buckets $bucket, $comm" "$commands" "$ms" \
        "$(column "$dir/gpt-overlap" communication_ms)" "$(column "$dir/gpt-overlap" overlap)" \
        "$(column "$dir/gpt-overlap" communication_share)"
    done
  done
done
