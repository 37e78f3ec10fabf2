#!/usr/bin/env bash
# Training mode on hand-made programs: layouts agree bit for bit, messages, signals.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
run=$1 text=$2 mpi=$3
shift 3
one=$1 two=$2 four=$3 grid=$4 # dp=1, dp=2, dp=4, dp=2 tp=2
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"

# equal WHAT A B: two texts, neither empty.
equal() {
  checks=$((checks + 1))
  if [ -z "$2" ] || [ "$2" != "$3" ]; then
    failures=$((failures + 1))
    printf 'FAILED: %s differ:\n%s\n---\n%s\n' "$1" "$2" "$3" | head -20
  fi
}
curve() { grep -oE '"step":[0-9]+|"(eval_)?loss":[^,]*|"grad_norm":[^,]*|"lr":[^,]*' "$1"; }

# A rank is stopped in a fast step: where no --timeout is given, that takes half a minute, in which all else is tried.
# shellcheck source=test/conformance/runtime/rank-pid.sh
. "$(dirname "$0")/rank-pid.sh"
"$run" --comm tcp "$two" --data-tokens "$text:byte" --steps 100000000 --log-every 1000000 --log "$work/hung.jsonl" >"$work/hung" 2>&1 &
hung=$!
comes "[ -s '$work/hung.jsonl' ]"
stopped=$(rank_pid "$two" tcp 1) hung_since=$EPOCHREALTIME
comes "grep -qs '^.\"step\":20,' '$work/hung.jsonl'"
kill -STOP "$stopped"

train=(--data-tokens "$text:byte" --steps 40)
bytes=(--shuffle 7 --eval-data-tokens "$text:byte" --eval-every 15
       --generate 'The ' --tokens 12 --top-k 5 --seed 3)
expect 0 'step +39  loss [0-9.]+ +grad_norm .* lr .* tokens/s .* ms  comm .* hidden  mem .* MiB' \
  "$run" "$one" "${train[@]}" "${bytes[@]}" --log "$work/one.jsonl"
written=$(grep '^The ' "$work/log")
checks=$((checks + 1))
if [ "$(grep -cE '^\{"step":[0-9]+,"loss":[0-9.]+,"grad_norm":[0-9.]+,"lr":[0-9.]+,"step_ms":[0-9.e+-]+,"tokens_per_s":[0-9.e+]+,"mem_bytes":[1-9][0-9]*,.*\}$' "$work/one.jsonl")" -ne 40 ] ||
   ! awk -F'[:,]' 'NR == 1 {first = $4} END {exit !($4 < 0.8 * first)}' "$work/one.jsonl"; then
  failures=$((failures + 1))
  echo 'FAILED: 40 log lines with a falling loss'
  tail -2 "$work/one.jsonl"
fi
expect 0 'memory a rank: peak .* MiB measured .* MiB predicted' "$one" "${train[@]}"
for other in "$two" "$four" "$grid"; do
  expect 0 "^The " "$run" "$other" "${train[@]}" "${bytes[@]}" --log "$work/other.jsonl"
  equal "generated texts" "$written" "$(grep '^The ' "$work/log")"
  equal "loss curves" "$(curve "$work/one.jsonl")" "$(curve "$work/other.jsonl")"
done
expect 0 'step +39' "$run" "$one" "${train[@]}" --log "$work/plain.jsonl"
checks=$((checks + 1))
if [ "$(curve "$work/plain.jsonl" | head -40)" = "$(curve "$work/one.jsonl" | head -40)" ]; then
  failures=$((failures + 1))
  echo 'FAILED: --shuffle changes nothing'
fi
# Epochs: 60 samples of 8 tokens, 10 steps each; the log counts them.
head -c 481 "$text" >"$work/short"
expect 0 'step +39' "$one" --data-tokens "$work/short:byte" --steps 40 --log "$work/short.jsonl"
equal "epochs" "$(grep -oE '"epoch":[0-9]+' "$work/short.jsonl" | sort | uniq -c | tr -s ' \n' ' ')" \
  ' 10 "epoch":0 10 "epoch":1 10 "epoch":2 10 "epoch":3 '

# A step of 6 samples of 8 tokens: rate and time of each line fit together, and all times into the command's.
begin=$(date +%s%N)
expect 0 'step +399' "$one" --data-tokens "$text:byte" --steps 400 --log "$work/times.jsonl"
wall=$((($(date +%s%N) - begin) / 1000))
checks=$((checks + 1))
if ! tr ',:' '  ' <"$work/times.jsonl" | awk -v wall="$wall" '{
      for (i = 1; i < NF; ++i) v[$i] = $(i + 1)
      ms = v["\"step_ms\""]; tokens = ms * v["\"tokens_per_s\""] / 1000
      total += ms; wrong += tokens < 47.5 || tokens > 48.5
    } END { exit !(NR == 400 && wrong == 0 && total * 1000 < wall && total * 1000 > wall / 100) }'; then
  failures=$((failures + 1))
  echo "FAILED: step_ms and tokens_per_s of 400 steps in $wall us"
  tail -2 "$work/times.jsonl"
fi

# Generation alone, greedy; prompts. Hardly any temperature is greedy, a high one leaves it to chance.
expect 0 '^T' "$one" --generate T --tokens 5
generated() { grep -a '^T' "$work/log"; }
expect 0 '^T' "$one" "${train[@]}" --generate T --tokens 4
greedy=$(generated)
expect 0 '^T' "$one" "${train[@]}" --generate T --tokens 4 --temperature 1e-6 --seed 3
equal "texts without temperature" "$greedy" "$(generated)"
expect 0 '^T' "$one" "${train[@]}" --generate T --tokens 4 --temperature 5 --seed 3
warm=$(generated)
expect 0 '^T' "$one" "${train[@]}" --generate T --tokens 4 --temperature 5 --seed 4
checks=$((checks + 2))
[ "$warm" != "$greedy" ] || { failures=$((failures + 1)); echo "FAILED: --temperature changes nothing"; }
[ "$warm" != "$(generated)" ] || { failures=$((failures + 1)); echo "FAILED: --seed changes nothing"; }
expect 2 'the prompt is empty' "$one" --generate '' --tokens 5
# Evaluation alone; the last batch is filled up with labels that do not count.
head -c 81 "$text" >"$work/ten"
expect 0 'eval_loss 5\.545[0-9]* over 80 elements' "$four" --eval-data-tokens "$work/ten:byte"

expect 0 'eval_loss [0-9.]* over 48 elements' "$four" --eval-data-tokens "$work/ten:byte" --eval-batches 1

expect 0 "training: labels labels" "$one" --info

# What is wrong is said by name.
expect 2 "inputs are missing; add .*; or train: --steps N --data NAME=FILE.npy" "$one"
expect 2 "there is nothing to do" "$one" --save "$work"
expect 2 "say how --generate PROMPT goes on" "$one" "${train[@]}" --top-k 3
expect 2 "steps wants data" "$one" --steps 3
expect 2 "steps wants a whole number of at least 0, not 'many'" "$one" --steps many
expect 2 "shuffle wants a seed" "$one" "${train[@]}" --shuffle maybe
expect 2 "eval-every wants" "$one" "${train[@]}" --eval-every 3
expect 2 "eval-batches wants --eval-data" "$one" "${train[@]}" --eval-batches 3
expect 2 "every wants --save" "$one" "${train[@]}" --every 3
expect 2 "for single runs, not for training" "$one" "${train[@]}" --bench
expect 2 "no program has an input 'z'" "$one" "${train[@]}" --input z=z.npy
expect 2 "program 'step' has no input 'z'; it has 'tokens', 'labels'" "$one" --data z=z.npy --steps 3
expect 1 "token file '$work/no' cannot be read: No such file" "$one" --data-tokens "$work/no:byte" --steps 3
head -c 8 "$text" >"$work/eight"
expect 1 "token file '$work/eight' has 8 tokens; one sample of sequence length 8 needs 9" \
  "$one" --data-tokens "$work/eight:byte" --steps 3
head -c 9 "$text" >"$work/nine"
expect 1 "has 9 bytes, which is no multiple of the 2 of a token" "$one" --data-tokens "$work/nine" --steps 3
head -c 400 "$text" >"$work/words"
expect 1 "sample [0-9]+, element [0-9]+: [0-9]+ is not a token of the vocabulary: these are 0 to 255 \(input 'tokens'\)" \
  "$two" --data-tokens "$work/words:u32" --steps 3

# What several ranks hold alike is compared: a bit that flipped in one of them is found, and never saved.
comms=(inproc tcp)
[ "$mpi" != mpi ] || comms+=(mpi)
for comm in "${comms[@]}"; do
  expect 3 "error: step 7: replicas of state 'table' differ: rank 1 has other bytes than rank 0 \([1-9][0-9]* of [1-9][0-9]* states that several ranks hold differ\); --resume $work/$comm/step-0*5 has the last that agreed" \
    "$run" --comm "$comm" "$two" "${train[@]}" --inject 1:6:flip --check-replicas=4 --save "$work/$comm" --every 5
done
expect 3 "step 9: .*rank 2 has other bytes than rank 0, rank 1, rank 3 .*; --resume .*/step-0*5 " "$run" "$grid" "${train[@]}" --inject 2:6:flip --check-replicas --save "$work/checked" --every 5
expect 3 "step 39: .*rank 3 has other bytes than rank 0, rank 1, rank 2 \(" "$run" "$four" "${train[@]}" --inject 3:6:flip --check-replicas
expect 0 "step +39" "$run" "$grid" "${train[@]}" --check-replicas=3
expect 0 "step +39" "$run" "$two" "${train[@]}" --inject 1:6:flip
expect 0 "warning: --check-replicas: no two ranks hold the same elements of a state" "$one" "${train[@]}" --check-replicas
expect 2 "check-replicas wants --steps" "$one" --check-replicas
expect 2 "check-replicas wants a whole number of at least 1, not '0'" "$one" "${train[@]}" --check-replicas=0

# Stopped and resumed, on one layout and on others: the same curve, on with the
# same shuffle. The log goes on, too.
resume() { # NAME FIRST SECOND, commands
  rm -rf "$work/save"
  expect 0 "saved $work/save/step-0*17" $2 "${train[@]}" --steps 17 --shuffle 7 \
    --save "$work/save" --every 5 --log "$work/$1.jsonl"
  expect 0 "resumed after step 17, 102 samples seen" $3 "${train[@]}" --resume "$work/save" \
    --save "$work/save" --log "$work/$1.jsonl"
  equal "curves of $1" "$(curve "$work/one.jsonl" | grep -v eval)" "$(curve "$work/$1.jsonl")"
}
resume same "$one" "$one"
resume grown "$one" "$grid"
resume shrunk "$four" "$two"
expect 1 "holds checkpoints of an earlier run; go on with --resume" "$one" "${train[@]}" --save "$work/save"
# What cannot be saved at the end is lost, and the exit code says so.
cp -r "$work/save" "$work/blocked" && echo "in the way" >"$work/blocked/step-00000042"
expect 1 "error: checkpoint of step 42: .* cannot be renamed: Not a directory; the last complete one is '$work/blocked/step-0*40'" \
  "$one" --data-tokens "$text:byte" --steps 42 --resume "$work/blocked" --save "$work/blocked"
# One command line for the first start and for all others.
again=("$two" "${train[@]}" --save "$work/again" --resume "$work/again")
expect 0 "'$work/again' holds no checkpoint yet; starting anew" "${again[@]}"
expect 0 "all 40 steps are done" "${again[@]}"
expect 1 "$work/nowhere'" "$two" "${train[@]}" --save "$work/elsewhere" --resume "$work/nowhere"
expect 0 "all 40 steps are done" "$one" "${train[@]}" --resume "$work/save"
expect 0 "shuffle none from here on; the checkpoint was made with 7" "$one" --data-tokens "$text:byte" --steps 41 \
  --resume "$work/save" --shuffle none
expect 0 "^The " "$two" --resume "$work/save" --generate "The " --tokens 3
# It diverges at step 1000; the last good checkpoint is named.
expect 1 "error: step 1001: the loss is nan .*; --resume $work/bad/step-0*1000 has the last good" \
  "$one" "${train[@]}" --steps 1010 --save "$work/bad" --every 100
rm -r "$work/bad"
expect 1 "error: step 1001: the loss is nan .*; those of $work/bad/step-0*1001 gave that loss: --resume one before it" \
  "$one" "${train[@]}" --steps 1010 --save "$work/bad" --every 1001

# The first signal ends training after the step, the second at once.
interrupted() { # NAME SIGNAL COMMAND...
  local name=$1 signal=$2 expected=$((128 + $(kill -l "$2")))
  shift 2
  rm -f "$work/log" # its lines would be taken for those of this run, and a signal reach bash before the program
  "$@" >"$work/log" 2>&1 &
  local job=$!
  for _ in $(seq 200); do
    grep -qs '^step ' "$work/log" && break
    sleep 0.05
  done
  kill -"$signal" $job
  wait $job
  local code=$?
  checks=$((checks + 1))
  if [ $code -ne $expected ] || ! grep -qE 'stopped after [0-9]+ of 100000000 steps' "$work/log"; then
    failures=$((failures + 1))
    echo "FAILED: $name: exit code $code, expected $expected"
    tail -5 "$work/log"
  fi
}
forever=(--data-tokens "$text:byte" --steps 100000000)
interrupted "SIGTERM" TERM "$run" "$two" "${forever[@]}" --save "$work/stopped"
done=$(grep -oE "stopped after [0-9]+" "$work/log" | grep -oE "[0-9]+")
expect 0 "resumed after step $done, " "$one" "${train[@]}" --steps $((done + 2)) --resume "$work/stopped"
interrupted "SIGINT" INT "$run" "$one" "${forever[@]}"
# The first step does not end, and there is nothing to save: one signal is enough, at once.
rm "$work/log"
"$two" "${forever[@]}" --inject 1:0:stall --timeout 50 >"$work/log" 2>&1 &
job=$!
for _ in $(seq 200); do
  grep -qs 'ranks over' "$work/log" && break
  sleep 0.05
done
kill -INT $job
wait $job
equal "exit code of a first step that is interrupted" 130 $?
yes "$(head -c 1000 "$text")" | head -c 300000000 >"$work/endless"
# In the foreground timeout signals the child only, else its group as well: that would be a second signal.
expect 130 "evaluation stopped" timeout --foreground --preserve-status -s INT 2 "$one" --eval-data-tokens "$work/endless:byte"
rm "$work/endless"

if [ "$mpi" = mpi ]; then
  for other in "$two" "$grid"; do
    expect 0 "^The " "$run" --comm mpi "$other" "${train[@]}" "${bytes[@]}" --log "$work/mpi.jsonl"
    equal "texts over mpi" "$written" "$(grep '^The ' "$work/log")"
    equal "loss curves over mpi" "$(curve "$work/one.jsonl")" "$(curve "$work/mpi.jsonl")"
    # mpirun may put a line of stderr in front of one.
    equal "one process speaks" "$(grep -oE 'step +[0-9]+  loss ' "$work/log" | wc -l)" 40
  done
  expect 1 "error: step 1001: the loss is nan" "$run" --comm mpi "$two" "${train[@]}" --steps 1010
  equal "one process tells an error" "$(grep -c "error: step" "$work/log")" 1
  resume mpi "$run --comm mpi $two" "$run --comm mpi $grid"
  interrupted "SIGTERM over mpi" TERM "$run" --comm mpi "$two" "${forever[@]}"
else
  echo 'SKIPPED: the checks of --comm mpi, MPI was not found'
fi

# Hosts on which one name is another folder cannot save together: that is said before the first step.
mkdir "$work/host0" "$work/host1"
# shellcheck disable=SC2016 # for the shell within
expect 1 "error: .*'checkpoints' on .* is not the folder that rank 0 sees \(rank 0 is pid.*\); give one with --save that all hosts share" env "WORK=$work" \
  "${0%/*}/start-tcp.sh" 2 bash -c 'cd "$WORK/host$RANK" && exec "$0" "$@"' "$two" --data-tokens "$text:byte" --steps 4 --save checkpoints

# At 600 s it would still be there.
while kill -0 $hung 2>/dev/null && awk "BEGIN {exit !($EPOCHREALTIME - $hung_since < 90)}"; do sleep 0.2; done
kill -KILL $hung "$stopped" 2>/dev/null
wait $hung
equal "exit code of a hang in a fast step" 4 $?
expect 0 "error: no progress for 30 s.*rank 1 .*is stopped|error: no progress for 30 s; stopped: rank 1" cat "$work/hung"

finish 86
