#!/usr/bin/env bash
# The command line of executables and weft-run: results, messages, exit codes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
run=$1 out=$2 data=$3 mpi=$4
# shellcheck source=test/conformance/runtime/expect.sh
. "$(dirname "$0")/expect.sh"

model=(--model-dir "$data")
x=(--input "x=$data/x.npy")

expect 0 'usage: weft-run OUT' "$run" --help
expect 2 'usage: weft-run OUT' "$run"
expect 2 "there is no flag '--frobnicate'" "$run" "$out" --frobnicate
expect 2 '--rtol wants a number' "$run" "$out" --rtol much
expect 1 "cannot be run: No such file" "$run" "$work/nothing"
expect 0 'mesh dp=2 tp=2 \(4 ranks\)' "$out" --info
expect 0 'input  x: 5x6 f32' "$run" "$out" --info
expect 0 'all_reduce sum in f32 over \{tp\}' "$run" "$out" --dump
expect 0 'invoke sum for layer microbatch 0 \(' "$run" "$out" --dump
expect 0 'routines: 1 of 5 commands' "$run" "$out" --info
expect 0 'program forward: 4 commands, which with calls issue 8' "$run" "$out" --info
expect 2 'inputs are missing; add --input x=FILE.npy' "$out" "${model[@]}"
expect 2 "there is no input 'z'; there is x" "$out" --input z=f.npy
expect 2 "there is no program 'train'; there is forward" "$out" --program train
expect 2 'the program is for 4 ranks, not 3; run it with -n 4' "$run" -n 3 "$out" "${x[@]}"
# Before any process is started.
expect 2 'the program is for 4 ranks, not 1000000; run it with -n 4' timeout 20 "$run" -n 1000000 --comm tcp "$out" "${x[@]}"
expect 1 "input 'x' must be 5x6 f32, but .*wide.npy' is 5x12 f32" \
  "$out" "${model[@]}" --input "x=$data/wide.npy"
expect 1 "input 'x' must be 5x6 f32, but .*half.npy' is 5x6 f16" \
  "$out" "${model[@]}" --input "x=$data/half.npy"
expect 1 "not a .npy file" "$out" "${model[@]}" --input "x=$data/weights.bin"
expect 1 "rank .: parameter 'w': weights '.*/weights.bin' cannot be read: No such file.*--model-dir" \
  "$out" "${x[@]}" --model-dir "$work"
head -c 20 "$data/weights.bin" >"$work/weights.bin"
expect 1 'have 20 bytes, expected at least 92; the file is cut off' \
  "$out" "${x[@]}" --model-dir "$work"
sed 's/^headers:./headers:Z/' "$data/weights.bin" >"$work/weights.bin"
expect 1 "changed since the model was compiled" "$out" "${x[@]}" --model-dir "$work"
# What is no file of weights is refused by name, and nothing waits for it.
refused() { # WHY
  for comm in inproc tcp; do
    expect 1 "rank .: parameter 'w': weights '$work/weights.bin' cannot be read: $1" \
      "$run" --comm $comm "$out" "${x[@]}" --model-dir "$work"
  done
  rm -r "$work/weights.bin"
}
rm "$work/weights.bin"
mkfifo "$work/weights.bin"
refused 'it is not a regular file'
mkdir "$work/weights.bin"
refused 'it is not a regular file'
ln -s "$(realpath "$data/weights.bin")" "$work/weights.bin"
refused "a file that a model names must not lie outside of the model's folder"
ln -s /dev/zero "$work/weights.bin"
refused "a file that a model names must not lie outside of the model's folder"
if [ "$(id -u)" = 0 ] && mknod "$work/weights.bin" c 1 5 2>/dev/null; then
  refused 'it is not a regular file'
else
  echo 'SKIPPED: a device as weights, it cannot be made here'
fi

expect 0 'y: 5x3 f32 = \[.*\] min' "$out" "${model[@]}" "${x[@]}"
expect 0 'y: max error .*: ok' "$run" -n 4 "$out" "${model[@]}" "${x[@]}" \
  --expect "y=$data/y.npy" --output-dir "$work/inproc"
expect 1 "output 'y' differs from .* in 1 of 15 elements, most at element 4" \
  "$out" "${model[@]}" "${x[@]}" --expect "y=$data/wrong.npy"

# Nothing finite is near an infinity, and nothing else is; only equal ones and NaN beside NaN agree.
expect 1 "output 'y' differs from .* in 15 of 15 elements" "$out" "${model[@]}" "${x[@]}" --expect "y=$data/infinite.npy"
expect 0 '(inf|nan)' "$out" "${model[@]}" --input "x=$data/huge.npy"
expect 0 '' "$out" "${model[@]}" --input "x=$data/huge.npy" --output-dir "$work/special"
expect 0 'y: max error 0,.* ok' "$out" "${model[@]}" --input "x=$data/huge.npy" --expect "y=$work/special/y.npy"
expect 1 "output 'y' differs from" "$out" "${model[@]}" --input "x=$data/huge.npy" --expect "y=$data/y.npy"
expect 1 "output 'y' differs from" "$out" "${model[@]}" "${x[@]}" --expect "y=$work/special/y.npy"
expect 1 "output 'y' is 5x3 f32, but .*integers.npy' is 5x3 i64" "$out" "${model[@]}" "${x[@]}" --expect "y=$data/integers.npy"
expect 1 "output 'y' is 5x3 f32, but .*narrow.npy' is 5x3 f16" "$out" "${model[@]}" "${x[@]}" --expect "y=$data/narrow.npy"

expect 0 'p50_ms.*exposed_communication_share' "$out" "${model[@]}" --bench=json
# What share of the time is communication that nothing hides follows from the other figures.
agree() {
  "$out" "${model[@]}" --bench=json >"$work/bench.json" 2>/dev/null
  value() { sed -E "s/.*\"$1\":([-0-9.e+]+).*/\1/" "$work/bench.json"; }
  awk -v told="$(value exposed_communication_share)" -v all="$(value communication_ms)" -v hidden="$(value overlap)" \
    -v mean="$(value mean_ms)" 'BEGIN { due = all * (1 - hidden) / mean
      print (due > 0 && (told - due) ^ 2 < 1e-6) ? "they agree" : told " told, " due " due" }'
}
expect 0 '"sent_bytes":\{"[a-z,]+":[0-9]+.*"sent_messages":\{' "$out" "${model[@]}" --bench=json
expect 0 'they agree' echo "$(agree)"
expect 0 "input 'x' is zeros" "$out" "${model[@]}" --bench
expect 0 'runs/s' "$out" "${model[@]}" "${x[@]}" --bench
expect 0 'wrote the trace' "$out" "${model[@]}" "${x[@]}" --trace "$work/trace.json"
# A trace is a new file beside the old one: that its folder takes none is told before the run.
expect 1 "--trace: '/proc/self/comm' cannot be written" "$out" "${model[@]}" "${x[@]}" --trace /proc/self/comm
expect 1 "--trace: '$work/nowhere/t.json' cannot be written: No such file" "$out" "${model[@]}" "${x[@]}" --trace "$work/nowhere/t.json"
expect 0 '"name":"bias_relu","cat":"launch".*"node":"layer/relu"' cat "$work/trace.json"
expect 0 '"name":"all_reduce".*"node":"layer/down","command":2,.*"call":3,"routine":"sum","label":"layer","microbatch":0' cat "$work/trace.json"

# A failing and a stalling rank end all others, by name. Command 1 is the launch.
expect 3 "error: rank 2: command 1 \(launch of node 'layer/relu'\): failure injected" \
  "$out" "${model[@]}" "${x[@]}" --inject 2:1
expect 4 "no progress for 1 s: rank 3 does not come in command 1 \(launch of node 'layer/relu'\) of program 'forward'; rank [012] noticed it" \
  "$out" "${model[@]}" "${x[@]}" --inject 3:1:stall --timeout 1

# Processes that meet over TCP.
expect 0 'y: max error .*: ok' "$run" --comm tcp "$out" "${model[@]}" "${x[@]}" \
  --expect "y=$data/y.npy" --output-dir "$work/tcp"
expect 0 '^same$' bash -c "cmp '$work/inproc/y.npy' '$work/tcp/y.npy' && echo same"
expect 0 '4 ranks over tcp' "${0%/*}/start-tcp.sh" 4 "$out" "${model[@]}" "${x[@]}"
expect 0 '^same$' bash -c "'$out' ${model[*]} ${x[*]} 2>&1 | grep '^y: ' >'$work/threads'
  '$run' --comm tcp '$out' ${model[*]} ${x[*]} 2>&1 | grep '^y: ' | cmp - '$work/threads' && echo same"
expect 0 'wrote the trace' "$run" --comm tcp "$out" "${model[@]}" "${x[@]}" --trace "$work/tcp.json"
# traced FILE: which ranks it has, and as many events of commands as with threads.
traced() {
  expect 0 '^rank 0,rank 1,rank 2,rank 3,$' bash -c "grep -o '\"rank [0-9]' '$1' | tr -d '\"' | sort -u | tr '\n' ','"
  expect 0 '^same$' bash -c "[ \$(grep -c '\"ph\":\"X\"' '$1') = \$(grep -c '\"ph\":\"X\"' '$work/trace.json') ] && echo same"
}
traced "$work/tcp.json"
expect 0 'p50_ms' "$run" --comm tcp "$out" "${model[@]}" --bench=json
expect 2 'the program is for 4 ranks, 2 were started' "${0%/*}/start-tcp.sh" 2 "$out" "${model[@]}" "${x[@]}"
# Who has not come is not waited for: too few would.
expect 2 'the program is for 4 ranks, 2 were started' env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29999 \
  "$out" "${model[@]}" "${x[@]}"
# No weft-run tells failures here: one rank of the machine does.
expect 0 '^1$' bash -c "'${0%/*}/start-tcp.sh' 4 '$out' ${x[*]} --model-dir '$work' 2>&1 | grep -c 'error:'"
expect 2 'tcp ranks are started by torchrun, srun or weft-run --comm tcp' "$out" --comm tcp "${x[@]}"
expect 2 'but not MASTER_ADDR' env RANK=0 WORLD_SIZE=4 "$out" "${x[@]}"
expect 2 "WORLD_SIZE is 'four'" env RANK=0 WORLD_SIZE=four "$out" "${x[@]}"
expect 4 'no progress for 1 s.* rank 1.* rank 2.* rank 3' \
  env RANK=0 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((33000 + $$ % 12000)) "$out" "${model[@]}" "${x[@]}" --timeout 1
expect 3 "error: rank 2: command 1 \(launch of node 'layer/relu'\): failure injected" \
  "$run" --comm tcp "$out" "${model[@]}" "${x[@]}" --inject 2:1
expect 4 "no progress for 1 s: rank 3 \(pid [0-9]+ on .*\) does not come in command 1 \(launch of node 'layer/relu'\)" \
  "$run" --comm tcp "$out" "${model[@]}" "${x[@]}" --inject 3:1:stall --timeout 1

if [ "$mpi" = mpi ]; then
  expect 2 'MPI ranks are started by mpirun: mpirun -n 4' "$out" --comm mpi "${x[@]}"
  expect 0 'y: max error .*: ok' "$run" --comm mpi "$out" "${model[@]}" "${x[@]}" \
    --expect "y=$data/y.npy" --output-dir "$work/mpi"
  expect 0 '^same$' bash -c "cmp '$work/inproc/y.npy' '$work/mpi/y.npy' && echo same"
  expect 2 'the program is for 4 ranks, 2 were started; start it with mpirun -n 4' \
    mpirun --allow-run-as-root --oversubscribe -n 2 "$out" "${model[@]}" "${x[@]}"
  expect 1 "output 'y' differs from .* at element" "$run" --comm mpi "$out" "${model[@]}" "${x[@]}" \
    --expect "y=$data/wrong.npy"
  expect 0 '^same$' bash -c "'$out' ${model[*]} ${x[*]} 2>&1 | grep '^y: ' >'$work/threads'
    mpirun --allow-run-as-root --oversubscribe -n 4 '$out' ${model[*]} ${x[*]} 2>&1 | grep '^y: ' | cmp - '$work/threads' && echo same"
  expect 2 'the launcher started 4 ranks, but the MPI that weft was built with sees 1' env PMI_RANK=0 PMI_SIZE=4 "$out" "${model[@]}" "${x[@]}"
  expect 0 'wrote the trace' "$run" --comm mpi "$out" "${model[@]}" "${x[@]}" --trace "$work/mpi.json"
  traced "$work/mpi.json"
  expect 0 'p50_ms' "$run" --comm mpi "$out" "${model[@]}" --bench=json
  expect 3 "error: rank 2: command 1 \(launch of node 'layer/relu'\): failure injected" \
    "$run" --comm mpi "$out" "${model[@]}" "${x[@]}" --inject 2:1
  expect 1 '^0$' bash -c "'$run' --comm mpi '$out' ${model[*]} ${x[*]} --inject 2:1 2>&1 | grep -cE '^---|MPI_ABORT'"
  # The limit counts for the start, too, which takes mpirun more than a second on a loaded machine.
  expect 4 "no progress for 4 s: rank 3 \(pid [0-9]+ on .*\) does not come in command 1 \(launch of node 'layer/relu'\)" \
    "$run" --comm mpi "$out" "${model[@]}" "${x[@]}" --inject 3:1:stall --timeout 4
else
  echo 'SKIPPED: the checks of --comm mpi, MPI was not found'
fi

finish 70
