#!/usr/bin/env bash
# Loss curves of a 6-layer GPT on real text: every layout against one rank, in fp64, fp32 and bf16.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: curves.sh FOLDER-OF-TOOLS [PRECISION...]; WEFT_TEST_FULL=1 for all layouts and 200 steps.
set -u
bin=$1
shift
dictionary=/usr/share/dictd/gcide.dict.dz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
[ -r $dictionary ] || {
  echo "FAILED: $dictionary is missing; install dict-gcide"
  exit 1
}

# Name, then flags. One rank without any is what the others are compared with.
layouts=(
  "dp=2 --mesh dp=2"
  "ZeRO-3,dp=4 --mesh dp=4 --zero 3"
  "tp=2 --mesh tp=2"
  "dp=2,tp=2,ZeRO-1 --mesh dp=2,tp=2 --zero 1"
  "recompute-full --recompute full"
  "dp=2,ZeRO-2,accumulate-4 --mesh dp=2 --zero 2 --microbatches 4"
  "pp=2,dp=2,ZeRO-1 --mesh pp=2,dp=2 --microbatches 4 --zero 1"
)
steps=20
if [ "${WEFT_TEST_FULL:-}" = 1 ]; then
  steps=200
  layouts+=("dp=4 --mesh dp=4" "tp=4 --mesh tp=4" "dp=2,tp=2 --mesh dp=2,tp=2"
    "dp=2,tp=2,ZeRO-3,sequence --mesh dp=2,tp=2 --zero 3 --sequence-parallel on"
    "HSDP --mesh dp=2x2 --zero 3:dp.1" "HSDP,tp=2 --mesh dp=2x2,tp=2 --zero 3:dp.1"
    "recompute-selective --recompute selective"
    "ZeRO-3,dp=2,recompute-full --mesh dp=2 --zero 3 --recompute full"
    "accumulate-4 --microbatches 4" "dp=2,accumulate-4 --mesh dp=2 --microbatches 4"
    "tp=2,accumulate-4,recompute-full --mesh tp=2 --microbatches 4 --recompute full")
  for stages in 2 4; do
    for schedule in gpipe 1f1b interleaved:2 zb-h1 zb-h2 zb-v dualpipev; do
      layouts+=("pp=$stages,$schedule --mesh pp=$stages --microbatches 8 --schedule $schedule")
    done
  done
  layouts+=("pp=2,tp=2 --mesh pp=2,tp=2 --microbatches 4" "pp=2,dp=2,tp=2 --mesh pp=2,dp=2,tp=2 --microbatches 4"
    "pp=2,ZeRO-3 --mesh pp=2,dp=2 --microbatches 4 --zero 3" "pp=3,recompute-full --mesh pp=3 --microbatches 4 --recompute full")
  for zero in 1 2 3; do
    for ranks in 2 4 8; do
      [ $zero$ranks = 34 ] || layouts+=("ZeRO-$zero,dp=$ranks --mesh dp=$ranks --zero $zero")
    done
  done
fi
[ $# -gt 0 ] || set -- fp64 fp32 bf16

zcat -f <$dictionary 2>/dev/null | dd bs=1M skip=1 count=2 iflag=fullblock of=english.txt status=none
model="gpt2:layers=6,hidden=64,heads=4,vocab=256,seq=32,external=1"
# Five more models, whose weights differ by one ulp.
for seed in 0 1 2 3 4 5; do
  mkdir model$seed && "$bin/weft-translate" --build "$model" -o model$seed/gpt.onnx 2>/dev/null || exit 1
  [ $seed = 0 ] || "$bin/weft-curves" perturb model$seed/gpt.onnx.data $seed || exit 1
done
cmp -s model0/gpt.onnx.data model1/gpt.onnx.data && {
  echo "FAILED: the weights are not moved"
  exit 1
}
adamw="adamw:lr=3e-3,clip=1,schedule=cosine,warmup=10,total=200"

failures=0 curves=0
# run OUT MODEL PRECISION OPTIMIZER [FLAGS]: compiles, trains for all steps (OUT.jsonl), and, but for what tells of spread, for
# three (OUT.saved).
run() {
  local out=$1 from=$2 precision=$3 optimizer=$4
  shift 4
  "$bin/weft-compile" -q "$from/gpt.onnx" --bind batch=8,seq=32 --precision "$precision" --train \
    --loss softmax_cross_entropy:logits,labels --optimizer "$optimizer" "$@" -o program >log 2>&1 &&
    "$bin/weft-run" program --data-tokens english.txt:byte --shuffle 1 --steps $steps --log "$out.jsonl" >log 2>&1 &&
    { [[ $out = spread* ]] || "$bin/weft-run" program --data-tokens english.txt:byte --shuffle 1 --steps 3 --save "$out.saved" >log 2>&1; } && return
  failures=$((failures + 1))
  echo "FAILED: $out"
  grep -m 3 error log | cut -c 1-400
  return 1
}
check() { "$bin/weft-curves" "$@" || failures=$((failures + 1)); }
# Ranks as processes leave the bits that threads do: sameBits OUT.
sameBits() {
  local same file comm
  for comm in mpi tcp; do
    rm -rf other.saved
    same=1
    "$bin/weft-run" --comm $comm program --data-tokens english.txt:byte --shuffle 1 --steps 3 --save other.saved >log 2>&1 || same=0
    for file in "$1".saved/step-00000003/*.safetensors; do
      cmp -s "$file" "other.saved/step-00000003/${file##*/}" || same=0
    done
    [ $same = 1 ] && continue
    printf ' FAILED: other bits over %s' $comm
    failures=$((failures + 1))
  done
}

# Where all start: a step that moves nothing. And the truth of updates: fp64.
run start model0 fp32 sgd:lr=0
run fp64 model0 fp64 $adamw
for precision in "$@"; do
  one=$precision early=1e-9
  if [ "$precision" != fp64 ]; then
    run $one model0 "$precision" $adamw || continue
    for seed in 1 2 3 4 5; do
      run "spread$seed" model$seed "$precision" $adamw
    done
    spread=$("$bin/weft-curves" spread $steps spread?.jsonl) || failures=$((failures + 1))
    rm -rf spread*
    echo "$precision: $steps steps; the losses of 5 runs that start one ulp apart differ by up to $spread"
    limit=$(awk "BEGIN { print 3 * $spread }")
    early=1e-5
    [ "$precision" = fp32 ] || early=1
  else
    # Losses start at 5.5 and fall: 1e-9 of the smallest.
    limit=1e-9
    echo "fp64: $steps steps; losses and the states after 3 steps may differ by 1e-9"
  fi
  for layout in "one --mesh dp=1" "${layouts[@]}"; do
    name=${layout%% *} flags=${layout#* }
    out=$precision-$name
    # shellcheck disable=SC2086 # several flags
    run "$out" model0 "$precision" $adamw $flags || continue
    curves=$((curves + 1))
    printf '  %-32s ' "$name"
    check losses $steps $limit $one.jsonl "$out.jsonl" $early
    case $precision in
    fp64) check exact fp64.saved "$out.saved" ;;
    fp32)
      saved=$out.saved
      [ "$name" = one ] && saved=fp32.saved
      check updates start.saved fp64.saved fp32.saved "$saved"
      ;;
    esac
    case $name in
    pp=*) sameBits "$out" ;;
    one | recompute*)
      # Recomputation changes no bit.
      for log in $one.jsonl "$out.jsonl"; do
        grep -o '"step":[0-9]*,"loss":[^,]*,"grad_norm":[^,]*' "$log" >"$log.bits"
      done
      if cmp -s $one.jsonl.bits "$out.jsonl.bits"; then
        printf '; the same bits'
      else
        printf ' FAILED: other bits'
        failures=$((failures + 1))
      fi
      ;;
    esac
    echo
    rm -rf "$out"*
  done
done
echo "$curves curves of $steps steps, $failures failures"
[ $failures -eq 0 ] && [ $curves -ge $(($# * (${#layouts[@]} + 1))) ]
