#!/bin/bash
# start-tcp.sh RANKS COMMAND...: processes as torchrun starts them; the worst exit code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
ranks=$1
shift
export WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 12000))
for ((rank = 0; rank < ranks; rank++)); do
  RANK=$rank "$@" &
  jobs[rank]=$!
done
worst=0
for job in "${jobs[@]}"; do
  wait "$job"
  code=$?
  [ $code -gt $worst ] && worst=$code
done
exit $worst
