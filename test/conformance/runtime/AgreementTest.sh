#!/usr/bin/env bash
# Ranks that were given different programs or options end at once, and say which.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
text=$1 mpi=$2
shift 2
four=$3 grid=$4 # dp=4, dp=2 tp=2
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"

head -c 400 "$text" >"$work/short"
head -c 600 "$text" >"$work/long"
same=(--data-tokens "$work/short:byte")
port=$((20000 + $$ % 12000))
# differ PATTERN COMMAND -- COMMAND: what rank 3 runs, and what the three others do.
differ() {
  local pattern=$1 odd=() even
  shift
  while [ "$1" != -- ]; do
    odd+=("$1")
    shift
  done
  shift
  even=("$@")
  port=$((port + 1))
  tcp() {
    export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
    for rank in 0 1 2; do RANK=$rank "${even[@]}" --timeout 20 & done
    RANK=3 "${odd[@]}" --timeout 20
    code=$?
    wait
    exit $code
  }
  (tcp) >"$work/tcp" 2>&1
  expect 2 '' sh -c "exit $?"
  expect 0 "error: $pattern; start all ranks with one program and the same options" cat "$work/tcp"
  # One rank tells it, and well before anybody's patience is at its end.
  expect 0 '^1$' grep -c 'error:' "$work/tcp"
  [ "$mpi" = mpi ] || return
  expect 2 "error: $pattern; start all" mpirun --allow-run-as-root --oversubscribe -n 3 "${even[@]}" : -n 1 "${odd[@]}"
}

# By what --info prints of the file.
program() { echo "the program $("$1" --info | sed -n 's/^checksum: //p') \(model .bigram., mesh"; }
expect 0 '^the program [0-9a-f]{16} ' echo "$(program "$grid")"
differ 'rank 3 has --steps 4, rank 0 has --steps 3' "$grid" "${same[@]}" --steps 4 -- "$grid" "${same[@]}" --steps 3
differ 'rank 3 has --shuffle 8, rank 0 has --shuffle 7' "$grid" "${same[@]}" --steps 3 --shuffle 8 -- \
  "$grid" "${same[@]}" --steps 3 --shuffle 7
differ "rank 3 has no --save, rank 0 has --save $work/save" "$grid" "${same[@]}" --steps 3 -- \
  "$grid" "${same[@]}" --steps 3 --save "$work/save"
differ "rank 3 has $(program "$four") dp=4,tp=1\), rank 0 has $(program "$grid") dp=2,tp=2\)" "$four" "${same[@]}" --steps 3 -- \
  "$grid" "${same[@]}" --steps 3
differ 'rank 3 has samples of --data 74, rank 0 has samples of --data 49' "$grid" --data-tokens "$work/long:byte" --steps 3 -- \
  "$grid" "${same[@]}" --steps 3
# A long value in front of what differs hides nothing; a line break is no space.
long=$(head -c 6000 "$text" | tr -c 'a-z' a)
differ 'rank 3 has --steps 4, rank 0 has --steps 3' "$grid" "${same[@]}" --generate "$long" --steps 4 -- \
  "$grid" "${same[@]}" --generate "$long" --steps 3
differ 'rank 3 has --generate a b, rank 0 has --generate a.nb' "$grid" "${same[@]}" --steps 3 --generate 'a b' -- \
  "$grid" "${same[@]}" --steps 3 --generate 'a
b'
# What may differ: where files lie, how patient a rank is, its threads.
cp "$work/short" "$work/copy"
port=$((port + 1))
may_differ() {
  export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
  for rank in 1 2 3; do RANK=$rank "$grid" --data-tokens "$work/copy:byte" --steps 3 --timeout 9 >"$work/rank$rank" 2>&1 & done
  RANK=0 "$grid" "${same[@]}" --steps 3 --threads-per-rank 1 --log "$work/log.jsonl"
}
(may_differ) >"$work/alike" 2>&1
expect 0 'step +2  loss' cat "$work/alike"
[ "$mpi" = mpi ] || echo 'SKIPPED: the checks of mpirun, MPI was not found'
finish 23
