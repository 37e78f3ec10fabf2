#!/usr/bin/env bash
# weft-run --max-restarts: a job that loses a rank ends as if it had not; one that fails or is stopped is not started again.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
run=$1 text=$2 mpi=$3 grid=$4 # dp=2 tp=2
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"
# shellcheck source=test/conformance/runtime/rank-pid.sh
. "$(dirname "$0")/rank-pid.sh"

train=(--data-tokens "$text:byte" --eval-data-tokens "$text:byte" --eval-every 1 --eval-batches 10 --steps 100 --shuffle 5 --every 4)
# Each step once, as the last attempt has it, and the bytes of the last checkpoint.
curve() { sed -n 's/,"step_ms".*//p' "$1" | awk -F'[:,]' '{line[$2] = $0} END {for (step in line) print line[step]}' | sort; }
state() { cat "$1"/step-00000100/*.safetensors | cksum; }
same() { # WHAT EXPECTED FOUND
  expect 0 '' [ -n "$2" ]
  expect 0 '' cmp <(printf %s "$2") <(printf %s "$3")
}
# Hits a rank as soon as there is a checkpoint; sets `code`.
hit() { # SIGNAL RANK FLAGS...
  local signal=$1 rank=$2
  shift 2
  rm -rf "$work/ck" "$work/log.jsonl"
  "$run" --comm "$comm" "$grid" "${train[@]}" --save "$work/ck" --log "$work/log.jsonl" "$@" >"$work/told" 2>&1 &
  local job=$!
  until compgen -G "$work/ck/step-*[048]" >/dev/null || ! kill -0 $job 2>/dev/null; do sleep 0.01; done
  if [ "$rank" = launcher ]; then kill -"$signal" $job; else kill -"$signal" "$(rank_pid "$grid" "$comm" "$rank")"; fi
  wait $job
  code=$?
}
told() { expect 0 "$1" cat "$work/told"; }
restarts() { expect 0 "^$1\$" echo "$(grep -c 'warning: restart ' "$work/told")"; }
exits() { expect 0 "^$1\$" echo "$code"; }

expect 0 'saved' "$grid" "${train[@]}" --save "$work/straight" --log "$work/straight.jsonl"
losses=$(curve "$work/straight.jsonl") bytes=$(state "$work/straight")

comms=(inproc tcp)
if [ "$mpi" = mpi ]; then comms+=(mpi); else echo 'SKIPPED: restarts under mpi, MPI was not found'; fi
for comm in "${comms[@]}"; do
  hit KILL 2 --max-restarts 3
  exits 0
  restarts 1
  who='rank 2 \(pid [0-9]+ on [^)]*\)'
  [ "$comm" = inproc ] && who='the process of all ranks \(pid [0-9]+ on [^)]*\)'
  told "warning: restart 1 of 3: $who was ended by signal 9 \(Killed\).*; resuming after step [0-9]+$"
  told "resumed after $(grep -o 'step [0-9]*$' "$work/told"), "
  same losses "$losses" "$(curve "$work/log.jsonl")"
  same bytes "$bytes" "$(state "$work/ck")"

  # What a user ends stays ended, at once where that was said, and so does what goes wrong by itself.
  hit TERM launcher --max-restarts 3
  exits 143
  restarts 0
  save=(--save "$work/none" --max-restarts 2)
  expect 3 'it failed after 2 restarts, which is all of --max-restarts' "$run" --comm "$comm" "$grid" "${train[@]}" "${save[@]}" --inject 2:0
  # A failure that is mended is why there is a restart, and no error: that is the last one alone.
  said="$(grep -c 'warning: restart ' "$work/log") $(grep -c 'error: ' "$work/log")"
  expect 0 '^2 1$' echo "$said"
  rm -rf "$work/none"
done

comm=tcp
# A rank that hangs is lost as well.
hit STOP 1 --max-restarts 1 --timeout 1
exits 0
restarts 1
told 'warning: restart 1 of 1: .*no progress for 1 s: rank 1 \(.*\) is stopped.*; resuming after step [0-9]+$'
same losses "$losses" "$(curve "$work/log.jsonl")"
# The checkpoint of another job is where the first attempt begins, not the others.
expect 0 'saved' "$grid" "${train[@]}" --steps 40 --save "$work/early" --log "$work/early.jsonl"
hit KILL 0 --max-restarts 1 --resume "$work/early"
exits 0
told 'warning: restart 1 of 1: .*; resuming after step [4-9][0-9]$'
same bytes "$bytes" "$(state "$work/ck")"
# What another job left in --save is not where this one goes on.
lost=("$run" --comm tcp "$grid" "${train[@]}" --max-restarts 1 --inject 2:0)
expect 1 "error: --save: '$work/straight' holds checkpoints of an earlier run" "${lost[@]}" --save "$work/straight" --resume "$work/early"
expect 0 '^0$' echo "$(grep -c 'warning: restart ' "$work/log")"
expect 3 "warning: restart 1 of 1: .*; resuming from '$work/early' again$" "${lost[@]}" --save "$work/none-yet" --resume "$work/early"
expect 3 "warning: restart 1 of 1: .*; resuming from '$work/early/step-00000036' again$" "${lost[@]}" --save "$work/early" --resume "$work/early/step-00000036"
expect 3 "warning: restart 1 of 1: .*; starting anew, as the job saved no checkpoint in '$work/new' yet$" "${lost[@]}" --save "$work/new" --resume "$work/new"
# Wrong flags, missing files, models that diverge: as often as one likes.
expect 2 '--max-restarts wants --save DIR' "$run" "$grid" "${train[@]}" --max-restarts 2
expect 2 "there is no flag '--max-restarts'" "$grid" "${train[@]}" "${save[@]}"
expect 1 "token file '$work/no' cannot be read" "$run" --comm tcp "$grid" --data-tokens "$work/no:byte" --steps 3 "${save[@]}"
expect 0 '^0$' echo "$(grep -c 'warning: restart ' "$work/log")"
expect 1 'error: step 1001: the loss is nan' "$run" --comm tcp "$grid" --data-tokens "$text:byte" --steps 1010 "${save[@]}"
expect 0 '^0$' echo "$(grep -c 'warning: restart ' "$work/log")"
finish 40
