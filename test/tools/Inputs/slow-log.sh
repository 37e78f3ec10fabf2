# slow-log.sh FOLDER STEP COMMAND...: the command, which logs its steps to a pipe that nobody reads for 33 seconds from
# behind that step on. (Within a step ranks wait for each other for 30 seconds, once five are done.)
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
folder=$1 step=$2
shift 2
mkdir -p "$folder"
mkfifo "$folder/log"
exec 9<>"$folder/log"
"$@" --log "$folder/log" >"$folder/out" 9<&- &
job=$!
timeout 60 sh -c "until grep -q '^step *$step ' '$folder/out'; do sleep 0.02; done" || exit 1
timeout 0.2 cat /dev/zero >&9
sleep 33
kill -0 $job && echo 'it waits'
cat <&9 >/dev/null &
reader=$!
wait $job
code=$?
kill $reader
exit $code
