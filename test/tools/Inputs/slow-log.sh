# slow-log.sh FOLDER STEP COMMAND...: the command, which logs its steps to a pipe that nobody reads for 9 seconds from
# behind that step on.
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
sleep 9
kill -0 $job && echo 'it waits'
cat <&9 >/dev/null &
reader=$!
wait $job
code=$?
kill $reader
exit $code
