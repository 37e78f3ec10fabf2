# Starts a training and sends so many SIGTERMs while its last checkpoint is being written; its exit code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: signal-in-save.sh EXECUTABLE X LABELS FOLDER SIGNALS
SLOW_DISK=0.6 LD_PRELOAD=./slow.so "$1" --data "x=$2" --data "labels=$3" --steps 3 --save "$4" >"$4.log" 2>&1 &
job=$!
# Its folder is there when all steps are done.
until [ -e "$4/step-00000003.tmp" ]; do
  kill -0 $job || exit 99
  sleep 0.05
done
kill -TERM $job
if [ "$5" = 2 ]; then
  sleep 0.5
  kill -TERM $job
fi
wait $job
