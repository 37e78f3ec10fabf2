#!/usr/bin/env bash
# What users stop: a second wish ends at once, a failure after a wish is told, and who is told what goes wrong.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
run=$1 text=$2 mpi=$3 two=$4 grid=$5 # dp=2; dp=2 tp=2
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"
# shellcheck source=test/conformance/runtime/rank-pid.sh
. "$(dirname "$0")/rank-pid.sh"

comms=(inproc tcp)
if [ "$mpi" = mpi ]; then comms+=(mpi); else echo 'SKIPPED: stops under mpi, MPI was not found'; fi
forever=(--data-tokens "$text:byte" --steps 100000000)
# The sample's 1000th step ends it: evaluations keep that away.
slowly=("${forever[@]}" --eval-data-tokens "$text:byte" --eval-every 1 --eval-batches 100)
# awaits PATTERN: a line of what the job told; what the job before it told must be gone when it starts.
awaits() { comes "grep -qsE '$1' '$work/told'"; }
told() { expect 0 "$1" cat "$work/told"; }
# ends CODE SECONDS: the job, so soon.
ends() {
  local begin=$EPOCHREALTIME
  wait $job
  expect 0 "^$1\$" echo $?
  expect 0 '^soon$' awk "BEGIN {print ($EPOCHREALTIME - $begin < $2) ? \"soon\" : \"late\"}"
}

# A log that nobody reads holds up the step in which a user wants to stop.
for comm in "${comms[@]}"; do
  mkfifo "$work/pipe"
  sleep 100 <"$work/pipe" &
  reader=$!
  rm -f "$work/told"
  "$run" --comm "$comm" "$two" "${forever[@]}" --save "$work/$comm" --every 50 --log "$work/pipe" >"$work/told" 2>&1 &
  job=$!
  awaits '^step +150 '
  until size=$(wc -c <"$work/told") && sleep 0.3 && [ "$size" = "$(wc -c <"$work/told")" ]; do :; done
  kill -INT $job
  awaits 'stopping after the running step; once more to stop at once'
  sleep 0.5
  kill -INT $job
  ends 130 1.5
  expect 0 '^1$' grep -cE 'weft: stopping at once; what is not saved yet is lost' "$work/told"
  expect 0 '^0$' echo "$(grep -c 'error:' "$work/told")"
  kill $reader
  rm "$work/pipe"
  expect 0 'resumed after step [1-9][0-9]*[05]0, ' "$two" --data-tokens "$text:byte" --steps 1 --resume "$work/$comm"
done

# Nor does a reader of what is told that has stopped hold up steps, or what a wish saves: its pipe is full from the start.
mkfifo "$work/unread"
exec 9<>"$work/unread"
timeout 0.5 cat /dev/zero >&9
for comm in "${comms[@]}"; do
  rm -f "$work/unread.jsonl"
  "$run" --comm "$comm" "$two" "${slowly[@]}" --eval-batches 10 --save "$work/unread-$comm" --log "$work/unread.jsonl" >&9 2>&1 &
  job=$!
  comes "grep -qs '^.\"step\":10,' '$work/unread.jsonl'"
  kill -INT $job
  ends 130 4
  expect 0 "resumed after step $(wc -l <"$work/unread.jsonl"), " "$two" --data-tokens "$text:byte" --steps 1 --resume "$work/unread-$comm"
done
exec 9<&-
# Nor what is generated, and a wish ends that.
for comm in "${comms[@]}"; do
  rm -f "$work/told"
  exec 9<>"$work/unread"
  "$run" --comm "$comm" "$two" --generate 'The ' --tokens 1000000000 >&9 2>"$work/told" &
  job=$!
  expect 0 '' head -c 1000 <&9
  timeout 0.5 cat /dev/zero >&9
  kill -INT $job
  ends 130 4
  exec 9<&-
done
rm "$work/unread"

# A text is told as it comes; whoever stops it has what came.
generates() { # COMM
  rm -f "$work/told"
  "$run" --comm "$1" "$two" --generate 'The ' --tokens 1000000000 >"$work/told" 2>"$work/words" &
  job=$!
  comes "[ \"\$(wc -c <'$work/told' 2>/dev/null || echo 0)\" -gt 1000 ]"
}
stops_generating() {
  ends 130 4
  count=$(sed -nE 's/^weft: stopped after ([0-9]+) of 1000000000 tokens$/\1/p' "$work/words")
  # Of what is not printed four bytes are told for one.
  length=$(sed -E 's/\\x[0-9A-F]{2}/./g' "$work/told" | wc -c)
  expect 0 "^$((count + 5))\$" echo "$length" # and prompt and line end
  expect 0 '^0$' echo "$(grep -c 'error:' "$work/words")"
}
for comm in "${comms[@]}"; do
  generates "$comm"
  kill -INT $job
  stops_generating
done
# Where one process is asked, all stop behind one token.
for comm in "${comms[@]:1}"; do
  generates "$comm"
  kill -INT "$(rank_pid "$two" "$comm" 1)"
  stops_generating
done
# Nor is what so ends in good order a failure, after which it would be started again.
for comm in "${comms[@]:1}"; do
  rm -f "$work/told"
  "$run" --comm "$comm" "$two" "${slowly[@]}" --save "$work/one-$comm" --max-restarts 2 >"$work/told" 2>&1 &
  job=$!
  awaits '^step +2 '
  kill -TERM "$(rank_pid "$two" "$comm" 1)"
  ends 143 4
  told 'weft: stopped after [0-9]+ of'
  expect 0 '^0$' echo "$(grep -cE 'error:|restart' "$work/told")"
done

# What a terminal sends to all that is in front of it: the running step is saved, and told once.
# at_terminal CODE COMMAND...: mpirun has an exit code of its own for a signal.
at_terminal() {
  local code=$1 done
  shift
  rm -rf "$work/front" "$work/front.jsonl"
  setsid "$@" "${slowly[@]}" --save "$work/front" --log "$work/front.jsonl" >"$work/told" 2>&1 &
  job=$!
  comes "grep -qs '^.\"step\":20,' '$work/front.jsonl'"
  kill -INT -- -$job
  ends "$code" 8
  expect 0 '^1$' grep -c 'weft: stopped after' "$work/told"
  expect 0 '^0$' echo "$(grep -c 'error:' "$work/told")"
  done=$(grep -oE 'stopped after [0-9]+' "$work/told" | grep -oE '[0-9]+')
  expect 0 "resumed after step $done, " "$two" --data-tokens "$text:byte" --steps 1 --resume "$work/front"
}
for comm in "${comms[@]}"; do
  at_terminal 130 "$run" --comm "$comm" "$two"
  expect 0 '^0$' echo "$(grep -c '^---' "$work/told")"
done
if [ "$mpi" = mpi ]; then
  root=()
  [ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
  # It tells ranks after so many seconds, and kills them after as many again.
  at_terminal 1 mpirun "${root[@]}" --oversubscribe --mca odls_base_sigkill_timeout 2 -n 2 "$two"

  # weft-run leaves a step more time than mpirun's second: here its log is not read for that long.
  mkfifo "$work/pipe"
  exec 9<>"$work/pipe"
  timeout 0.5 cat /dev/zero >&9
  rm "$work/told"
  "$run" --comm mpi "$two" "${forever[@]}" --save "$work/slow" --log "$work/pipe" >"$work/told" 2>&1 9<&- &
  job=$!
  awaits '^step +0 '
  kill -INT $job
  sleep 1.3
  cat <&9 >/dev/null &
  reader=$!
  ends 130 4
  kill $reader
  exec 9<&-
  rm "$work/pipe"
  told 'weft: stopped after 2 of'
  expect 0 "resumed after step 2, " "$two" --data-tokens "$text:byte" --steps 2 --resume "$work/slow"
fi

# A step that hangs ends by the first wish, too: with its log, or with another rank.
hangs() {
  awaits 'the running step does not end; stopping at once'
  ends "$1" 2
  expect 0 '^0$' echo "$(grep -c 'error:' "$work/told")"
}
mkfifo "$work/pipe"
sleep 100 <"$work/pipe" &
reader=$!
rm -f "$work/told"
"$run" "$two" "${forever[@]}" --log "$work/pipe" >"$work/told" 2>&1 &
job=$!
awaits '^step +150 '
until size=$(wc -c <"$work/told") && sleep 0.3 && [ "$size" = "$(wc -c <"$work/told")" ]; do :; done
kill -INT $job
hangs 130
kill $reader
rm "$work/pipe"
for comm in "${comms[@]:1}"; do
  rm -f "$work/told"
  "$run" --comm "$comm" "$two" "${slowly[@]}" >"$work/told" 2>&1 &
  job=$!
  awaits '^step +20 '
  kill -STOP "$(rank_pid "$two" "$comm" 1)"
  kill -TERM $job
  hangs 143
done

# A death is told with its place, and that at which another rank saw it.
for comm in "${comms[@]:1}"; do
  rm -f "$work/told"
  "$run" --comm "$comm" "$two" "${forever[@]}" --inject 1:0:stall >"$work/told" 2>&1 &
  job=$!
  awaits 'training 0 of'
  kill -KILL "$(rank_pid "$two" "$comm" 1)"
  ends 3 4
  place='command 0 \(launch of node .losses.\) of program .step.'
  seen='command 3 \(collective all_reduce of node .sums.\) of program .step.'
  # Of mpirun's ranks only mpirun knows the signal, and tells it if it ends in time.
  how='was ended by signal 9 \(Killed\)'
  [ "$comm" = mpi ] && how="($how|ended without a word)"
  told "error: rank 1 \(pid [0-9]+ on .*\) $how in step 0, $place; rank 0 noticed it in step 0, $seen"
done

# A rank that dies after the wish is a failure, not a stop; but nobody wants the job again.
for comm in "${comms[@]:1}"; do
  rm -f "$work/told"
  "$run" --comm "$comm" "$grid" "${slowly[@]}" --save "$work/lost-$comm" --max-restarts 2 >"$work/told" 2>&1 &
  job=$!
  awaits '^step +20 '
  victim=$(rank_pid "$grid" "$comm" 1)
  kill -STOP "$victim"
  kill -TERM $job
  # Stopped behind its part of the step, it is missed when that is saved.
  awaits 'stopping after the running step|saving the checkpoint'
  kill -KILL "$victim"
  ends 3 4
  told 'error: rank 1 \(pid [0-9]+ on .*\) was ended by signal 9'
  expect 0 '^1$' grep -c 'error:' "$work/told"
  expect 0 '^0$' echo "$(grep -c 'restart' "$work/told")"
  # Nor do words of mpirun's follow.
  expect 0 '^0$' echo "$(grep -cE '^---|MPI_ABORT' "$work/told")"
done

# A wish in the last step's evaluation leaves that out; all steps are done and saved.
yes "$(head -c 1000 "$text")" | head -c 60000000 >"$work/long"
last=("$two" --data-tokens "$text:byte" --steps 3 --eval-data-tokens "$work/long:byte" --save "$work/last" --resume "$work/last")
rm -f "$work/told"
"$run" --comm tcp "${last[@]}" >"$work/told" 2>&1 &
job=$!
awaits '^step +1 '
sleep 0.3
kill -TERM $job
ends 143 5
told 'stopped before the evaluation was done'
told "saved $work/last/step-00000003"
expect 0 'eval_loss [0-9.]+ over' "$run" --comm tcp "${last[@]}" --eval-batches 5

# Whoever is stopped, launcher or rank, the job ends in its time limit, says who, and leaves nothing.
if [ "$mpi" = mpi ]; then
  for who in launcher rank; do
    for starts in weft-run mpirun; do
      start=("$run" --comm mpi)
      [ $starts = weft-run ] || start=(mpirun "${root[@]}" --oversubscribe -n 2)
      rm -f "$work/told"
      "${start[@]}" "$two" "${slowly[@]}" --log-every 5 --timeout 2 >"$work/told" 2>&1 &
      job=$!
      awaits '^step +9 '
      if [ $who = rank ]; then victim=$(rank_pid "$two" mpi 1); else victim=$(launcher_pid); fi
      begin=$EPOCHREALTIME
      kill -STOP "$victim"
      # A stopped launcher does not take notice of the dead.
      timeout 20 sh -c "while grep -qs '^State:.[^ZX]' /proc/$(rank_pid "$two" mpi 0)/status; do sleep 0.02; done"
      expect 0 '^soon$' awk "BEGIN {print ($EPOCHREALTIME - $begin < 4) ? \"soon\" : \"late\"}"
      # Who is stopped cannot end; of mpirun's words those of its ranks come when it goes on.
      [ $starts = weft-run ] || kill -CONT "$victim" 2>/dev/null
      ends 4 5
      name=rank\ 1
      [ $who = rank ] || name='the launcher'
      told "error: no progress for 2 s: $name \(pid $victim on .*\) is stopped"
      expect 0 '^1$' grep -c 'error:' "$work/told"
      expect 0 '^0$' echo "$(find /dev/shm -maxdepth 1 -name "weft-mpi-$job-*" | wc -l)"
    done
  done
fi

# A launcher that is killed, as by a system without memory, is to blame for its ranks' end.
if [ "$mpi" = mpi ]; then
  rm -f "$work/told"
  "$run" --comm mpi "$two" "${slowly[@]}" >"$work/told" 2>&1 &
  job=$!
  awaits '^step +20 '
  victim=$(launcher_pid)
  kill -KILL "$victim"
  ends 3 2
  told "error: the launcher \(pid $victim on .*\) was ended by signal 9 \(Killed\), and its ranks with it"
  expect 0 '^1$' grep -c 'error:' "$work/told"
  expect 0 '^0$' echo "$(find /dev/shm -maxdepth 1 -name "weft-mpi-$job-*" | wc -l)"
fi

# Who stops all of it for a while, as by Ctrl-Z, has not made any rank late.
rm -f "$work/told"
"$two" "${slowly[@]}" --log-every 1000000 --timeout 2 --log "$work/paused.jsonl" >"$work/told" 2>&1 &
job=$!
steps() { wc -l 2>/dev/null <"$work/paused.jsonl"; }
comes "grep -qs '^.\"step\":20,' '$work/paused.jsonl'"
kill -STOP $job
sleep 3.5
before=$(steps)
kill -CONT $job
for _ in $(seq 200); do [ "$(steps)" -gt $((before + 5)) ] && break; sleep 0.05; done
kill -TERM $job
ends 143 5
told 'stopped after [0-9]+ of'

# A launcher that starts no rank is not waited for, either.
mkdir "$work/idle"
printf '#!/bin/sh\nexec sleep 100\n' >"$work/idle/mpirun"
chmod +x "$work/idle/mpirun"
expect 4 'error: no progress for 1 s; no rank has started' env PATH="$work/idle:$PATH" "$run" --comm mpi "$grid" "${forever[@]}" --timeout 1

# What is wrong on a machine is told once there: by the first of its ranks, as far as the launcher says which that is.
LC_ALL=C sed 's/bigram/bigrim/' "$grid" >"$work/damaged"
chmod +x "$work/damaged"
voices() { # RANKS_OF_A_MACHINE; 0 = the launcher does not say
  export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=1
  for rank in 0 1 2 3; do
    [ "$1" = 0 ] || export LOCAL_RANK=$((rank % $1))
    RANK=$rank "$work/damaged" "${forever[@]}" 2>&1
  done | grep -c 'error:'
}
expect 0 '^1$' echo "$(voices 4)"
expect 0 '^2$' echo "$(voices 2)"
expect 0 '^4$' echo "$(voices 0)"
finish 50
