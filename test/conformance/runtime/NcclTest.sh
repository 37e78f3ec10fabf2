#!/usr/bin/env bash
# Training whose collectives are NCCL's, on emulated GPUs: how ranks start, and what becomes of those that die, stop or fail.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
run=$1 text=$2 mpi=$3 two=$4 grid=$5 # dp=2; dp=2 tp=2
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"
# shellcheck source=test/conformance/runtime/rank-pid.sh
. "$(dirname "$0")/rank-pid.sh"

train=(--data-tokens "$text:byte" --steps 10)
loss() { grep -oE '"loss":[^,]*' "$1"; }
same() {
  checks=$((checks + 1))
  [ "$(loss "$work/host.jsonl")" = "$(loss "$work/$1.jsonl")" ] && return
  failures=$((failures + 1))
  echo "FAILED: other losses of $1"
}

# Threads by default, processes by weft-run, mpirun and torchrun's variables: the losses of the host's collectives.
expect 0 'ranks over inproc' "$two" --comm inproc "${train[@]}" --log "$work/host.jsonl"
expect 0 '2 ranks over nccl' "$two" "${train[@]}" --log "$work/threads.jsonl"
same threads
expect 0 '2 ranks over nccl' "$run" --comm nccl "$two" "${train[@]}" --log "$work/processes.jsonl"
same processes
expect 0 '4 ranks over nccl' "$run" --comm nccl "$grid" "${train[@]}"
start=$(dirname "$0")/start-tcp.sh
expect 0 '2 ranks over nccl' "$start" 2 "$two" "${train[@]}"
if [ "$mpi" = mpi ]; then
  root=()
  [ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
  expect 0 '2 ranks over nccl' mpirun "${root[@]}" --oversubscribe -n 2 "$two" "${train[@]}" --log "$work/mpi.jsonl"
  same mpi
else
  echo 'SKIPPED: nccl under mpirun, MPI was not found'
fi

# A GPU for each rank, unless they shall share: then NCCL has to believe that they are on two machines.
expect 1 'error: .*the machine has 1 GPUs for 2 ranks' env WEFT_EMULATED_GPUS=1 "$run" --comm nccl "$two" "${train[@]}"
expect 0 '2 ranks over nccl' env WEFT_EMULATED_GPUS=1 WEFT_CUDA_SHARE=1 "$run" --comm nccl "$two" "${train[@]}" --log "$work/shared.jsonl"
same shared
expect 2 'error: .*NCCL cannot serve ranks that share a GPU and a process; start them as processes' \
  env WEFT_EMULATED_GPUS=1 WEFT_CUDA_SHARE=1 "$two" "${train[@]}"
# A launcher may show each process a GPU of its own: all are number 0 there. Two that see the same one share it.
# shellcheck disable=SC2016 # for the shell within
expect 0 '2 ranks over nccl' env WEFT_EMULATED_GPUS=1 "$start" 2 bash -c 'WEFT_EMULATED_FIRST_GPU=$RANK exec "$0" "$@"' \
  "$two" "${train[@]}" --log "$work/bound.jsonl"
same bound
expect 1 'error: .*the machine has 1 GPUs for 2 ranks' env WEFT_EMULATED_GPUS=1 WEFT_EMULATED_FIRST_GPU=3 "$start" 2 "$two" "${train[@]}"
expect 1 'NCCL failed at joining a group: invalid usage \(5\)' \
  env WEFT_EMULATED_GPUS=1 WEFT_CUDA_SHARE=1 NCCL_HOSTID=one "$run" --comm nccl "$two" "${train[@]}"

# Without the library, or with another one, there is one error, and nothing else is tried.
mkdir "$work/driver"
cp -P "$WEFT_CUDA_PATH"/libcuda.so* "$WEFT_CUDA_PATH"/libcublasLt.so* "$work/driver"
if ldconfig -p | grep -q 'libnccl\.so\.2'; then
  echo 'SKIPPED: a machine without NCCL, this one has it'
else
  expect 1 'error: .*NCCL, which moves between the ranks. GPUs, cannot be opened \(.*libnccl\.so\.2' \
    env WEFT_CUDA_PATH="$work/driver" "$two" "${train[@]}"
fi
expect 0 'ranks over inproc' env WEFT_CUDA_PATH="$work/driver" "$two" --comm inproc "${train[@]}"
cp "$(readlink -f "$WEFT_CUDA_PATH/libcublasLt.so.13")" "$work/driver/libnccl.so.2"
expect 1 'error: the NCCL that was found has no ncclGetVersion; Weft needs NCCL 2\.18 or newer' \
  env WEFT_CUDA_PATH="$work/driver" "$two" "${train[@]}"
expect 1 'error: the NCCL that was found is 2\.17; Weft needs 2\.18 or newer' env WEFT_EMULATED_NCCL_VERSION=21700 "$two" "${train[@]}"
expect 2 'error: --comm nccl moves between GPUs, and the program runs on another device' \
  env WEFT_DEVICE=host "$two" --comm nccl "${train[@]}"

# Work of a rank that never comes is named by its rank's command, in time; so is work that fails.
expect 4 'error: rank [01]: command 3 \(collective all_reduce of node .sums.\): waited 2\.0* s' \
  env WEFT_EMULATED_NCCL=hang:1:5 "$run" --comm nccl --timeout 2 "$two" "${train[@]}"
expect 3 'NCCL failed at work of a group: remote process exited' \
  env WEFT_EMULATED_NCCL=error:1:5 "$run" --comm nccl --timeout 20 "$two" "${train[@]}"

# A rank that dies, or is stopped, while the others wait for it on their GPUs.
# lose SIGNAL CODE PATTERN SECONDS
lose() {
  rm -f "$work/lost.jsonl"
  timeout 60 "$run" --comm nccl --timeout 2 "$two" --data-tokens "$text:byte" --steps 100000000 --log-every 1000000 \
    --log "$work/lost.jsonl" >"$work/told" 2>&1 &
  local job=$! begin code
  comes "grep -qs '^.\"step\":10,' '$work/lost.jsonl'"
  begin=$EPOCHREALTIME
  kill -"$1" "$(rank_pid "$two" tcp 1)"
  wait $job
  code=$?
  expect 0 "^$2\$" echo $code
  expect 0 "$3" cat "$work/told"
  expect 0 '^soon$' awk "BEGIN {print ($EPOCHREALTIME - $begin < $4) ? \"soon\" : \"late\"}"
}
lose KILL 3 'rank 1 .*was killed by signal 9|rank 1 .*(killed|ended)' 4
lose STOP 4 'rank 1 .*is stopped' 8
finish 22
