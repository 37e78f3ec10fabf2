#!/usr/bin/env bash
# What weft-run, executables, weft-data and weft-schedule refuse: commands, exit codes and words, by what is wrong.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
. "$(dirname "$0")/says.sh"
cd "$1" || exit 1

weft-translate --build mlp:layers=2,inputs=8,hidden=16,classes=4 -o mlp.onnx 2>/dev/null || exit 1
weft-translate --build gpt2:layers=1,hidden=16,heads=2,vocab=256,seq=16 -o gpt.onnx 2>/dev/null || exit 1
weft-compile -q mlp.onnx --bind batch=8 -o mlp || exit 1
weft-compile -q mlp.onnx --bind batch=8 --mesh tp=2 -o mlp2 || exit 1
weft-compile -q gpt.onnx --bind batch=2,seq=8 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=0.1 -O 1 -o train || exit 1
weft-data npy --shape 8x8 --fill random:1 -o x8.npy || exit 1
seq -s ' ' 300 >text
weft-run train -q --data-tokens text:byte --steps 2 --save ck >/dev/null || exit 1
learn=(weft-run train -q --data-tokens text:byte)

# Flags that want others.
tells 2 "--check-replicas wants --steps N" weft-run train --check-replicas
tells 2 "--tokens, --top-k, --temperature and --seed say how --generate PROMPT goes on; add it" "${learn[@]}" --steps 1 --top-k 3
tells 2 "--data wants --steps N" "${learn[@]}"
tells 2 "there is nothing to do; add --steps N, --eval-data NAME=FILE.npy or --generate PROMPT" weft-run train --save c
tells 2 "--eval-every wants --eval-data NAME=FILE.npy or --eval-data-tokens FILE" "${learn[@]}" --steps 2 --eval-every 2
tells 2 "--save wants --steps N" weft-run train --save c --eval-data-tokens text:byte
tells 2 "--log wants --steps N" weft-run train --log l.jsonl --generate a
for flag in "--shuffle 7" "--log-every 5" "--run-ahead off" "--eval-every 2"; do
  # shellcheck disable=SC2086
  tells 2 "${flag% *} wants --steps N" weft-run train --eval-data-tokens text:byte $flag
done
tells 2 "'input_ids' is given by --input, one value for all steps, and by batches from 'four.npy'; give it once" \
  weft-run train --steps 1 --input input_ids=two.npy --data input_ids=four.npy
tells 2 "--output-dir is empty; it wants DIR" weft-run mlp --input x=x8.npy --output-dir ""
tells 2 "--rtol says how near an output must be; add --expect NAME=FILE.npy" weft-run mlp --input x=x8.npy --rtol 0.1
tells 2 "--bench, --expect, --output-dir and --program are for single runs, not for training" "${learn[@]}" --steps 2 --bench
tells 1 "--steps: the executable has no program 'step'; compile the model with --train" weft-run mlp --steps 2 --data x=x8.npy

# Data.
weft-data npy --shape scalar --dtype i64 --fill ids:9:1 -o none.npy && weft-data npy --shape 4x8 --fill ids:9:1 -o four.npy &&
  weft-data npy --shape 2x8 --fill ids:9:1 -o two.npy && weft-data npy --shape 9x8 --fill random -o x9.npy || exit 1
printf abc >odd && : >empty
tells 1 "'none.npy' is scalar and holds no sample: the first dimension of data counts samples" weft-run train --steps 1 --data input_ids=none.npy
tells 1 "'two.npy' has 2 samples, 'four.npy' 4; data files are read side by side" \
  weft-run train --steps 1 --data input_ids=four.npy --data labels=two.npy
tells 1 "token file 'empty' is empty or cannot be mapped" weft-run train --steps 1 --data-tokens empty:u16
tells 1 "'empty' is empty or cannot be mapped" weft-run mlp --input x=empty
mkfifo pipe
tells 1 "token file 'pipe' is not a regular file; write what it gives into one" timeout 60 weft-run train --steps 1 --data-tokens pipe:byte
tells 1 "'pipe' is not a regular file; write what it gives into one" timeout 60 weft-run mlp --input x=pipe
tells 1 "token file 'odd' has 3 bytes, which is no multiple of the 2 of a token; say :u16, :u32 or :byte behind its name" \
  weft-run train --steps 1 --data-tokens odd:u16
tells 1 "is it a file of bytes? Then say 'text:byte'" weft-run train --steps 1 --data-tokens text
tells 1 "input 'x' must be 8x8 f32, but 'x9.npy' is 9x8 f32; bind the sizes when compiling (--bind)" weft-run mlp --input x=x9.npy
weft-compile -q gpt.onnx --bind batch=2,seq=8 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=1e38 -O 1 -o wild &&
  weft-run wild -q --data-tokens text:byte --steps 1 --save spoiled >/dev/null || exit 1
tells 1 "--generate: the logits are not numbers; the parameters are spoiled" weft-run train --resume spoiled --generate a
# Gradients that are not finite, of a loss that is: what they have spoiled is not saved.
weft-translate --text-to-onnx "$(dirname "$0")/nan-gradient.txt" -o nan.onnx && weft-data npy --shape 4x4 --fill zeros -o zero.npy &&
  weft-compile -q nan.onnx --bind batch=4 --train --loss loss --optimizer sgd:lr=0.1 -O 1 -o nan || exit 1
tells 1 "step 0: the loss is 0 (grad_norm nan, lr 0.1); the parameters are spoiled. Lower lr" \
  weft-run nan --data x=zero.npy --steps 3 --save nan.saved --every 1
says 2 "No such file" ls nan.saved/step-00000001
# A step of fp16 that cannot be done is skipped, but not for ever.
weft-compile -q nan.onnx --bind batch=4 --train --loss loss --optimizer sgd:lr=0.1 --precision fp16 -O 1 -o nan16 || exit 1
tells 1 "step 63: the gradients of 64 steps in a row were not finite, however small the loss was scaled" \
  weft-run nan16 --data x=zero.npy --steps 1000 --log nan16.jsonl
says 0 '"loss_scale":65536,' head -1 nan16.jsonl
says 0 '"loss_scale":7.1054' tail -1 nan16.jsonl
# Cut off while it is read: the file, and no signal.
cut_while_read() { # FILE COMMAND...: cuts FILE off once there is a step in cut.jsonl
  head -c 1000000 /dev/zero >"$1" && : >cut.jsonl || return 70
  "${@:2}" &
  until [ -s cut.jsonl ] || ! kill -0 $!; do sleep 0.05; done
  truncate -s 0 "$1"
  wait $!
}
tells 1 "'cut.tokens' became shorter while it was in use, or its disk cannot be read; restore it, and start again" \
  cut_while_read cut.tokens timeout 60 weft-run train --data-tokens cut.tokens:byte --steps 10000000 --log cut.jsonl
weft-compile -q gpt.onnx --bind batch=2,seq=8 --mesh dp=2 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd:lr=0.1 -O 1 -o train2 || exit 1
for comm in inproc tcp mpi; do
  tells 1 "'cut.tokens' became shorter while it was in use" \
    cut_while_read cut.tokens timeout 60 weft-run train2 --comm $comm --data-tokens cut.tokens:byte --steps 10000000 --log cut.jsonl
done
# The time in which a rank is stopped is nobody's delay, at the meeting of the ranks either.
stop_first_rank() {
  local job=(env MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) WORLD_SIZE=2)
  local run=(./train2 -q --data-tokens text:byte --steps 2 --timeout 4)
  "${job[@]}" RANK=0 "${run[@]}" &
  local first=$!
  sleep 0.5
  kill -STOP $first && sleep 5
  "${job[@]}" RANK=1 "${run[@]}" &
  kill -CONT $first && wait $first && wait $!
}
silent 'error' stop_first_rank
# Who is stopped itself stops no rank: they end, and it tells so when it goes on.
stop_launcher() { # COMM
  : >stop.jsonl
  weft-run train2 --comm "$1" -q --data-tokens text:byte --steps 2000 --log-every 2000 --log stop.jsonl &
  until [ -s stop.jsonl ] || ! kill -0 $!; do sleep 0.05; done
  kill -STOP $!
  for ((i = 0; i < 600; ++i)); do [ "$(wc -l <stop.jsonl)" -lt 2000 ] || break; sleep 0.1; done
  local steps
  steps=$(wc -l <stop.jsonl)
  kill -CONT $! && wait $! && [ "$steps" = 2000 ]
}
for comm in tcp mpi; do silent 'error' stop_launcher $comm; done
tells 2 "npy wants --shape AxBxC and -o FILE.npy" weft-data npy -o x.npy
tells 2 "--fill random is of numbers between -1 and 1, which i64 has not; write ids:N for whole ones" \
  weft-data npy --shape 2 --fill random --dtype i64 -o x.npy
tells 2 "--fill wants zeros, ones, range, random[:SEED] or ids:N[:SEED], not 'twos'" weft-data npy --shape 2 --fill twos -o x.npy
tells 2 "there is no tokenizer 'bpe'; byte is the only one: each byte of the text is a token" weft-data tokens text --tokenizer bpe -o x
tells 2 "-o and --plot name the same file" weft-schedule 1f1b --ranks 2 --microbatches 2 -o s --plot s

# Weights that are gone, empty, cut off or others.
weft-translate --build mlp:layers=2,inputs=512,hidden=512,classes=4 -o big.onnx 2>/dev/null || exit 1
weft-compile -q big.onnx --bind batch=8 -o big && weft-data npy --shape 8x512 --fill random -o big.npy || exit 1
mkdir gone none cut other
: >none/big.onnx && head -c 2000 big.onnx >cut/big.onnx
LC_ALL=C sed 's/\x3c/\x3d/g' big.onnx >other/big.onnx
run=(weft-run big --input x=big.npy --model-dir)
tells 1 "weights 'gone/big.onnx' cannot be read: No such file or directory; give their folder with --model-dir" "${run[@]}" gone
tells 1 "weights 'none/big.onnx' are empty or cannot be mapped" "${run[@]}" none
tells 1 "; the file is cut off or not the compiled one" "${run[@]}" cut
tells 1 "on changed since the model was compiled; compile it again, or give the folder of the files it was compiled with by --model-dir" \
  "${run[@]}" other

# Executables that are none, or not as they were made. The seal is the last 48 bytes: its second number is the format's version.
printf '#!/bin/sh\n' >script && cp mlp stays && chmod -x stays
(head -c -48 mlp && printf x && tail -c 48 mlp) >longer
(head -c -40 mlp && printf '\143\0\0\0' && tail -c 36 mlp) >later
(head -c -100 mlp && printf xxxx && tail -c 96 mlp) >damaged
tells 1 "'./script' is a script, which weft-run does not run" weft-run script
tells 1 "'./gone' is a folder; name the executable in it" weft-run gone
tells 1 "'./stays' cannot be run: Permission denied; chmod +x allows it" weft-run stays
tells 1 "'./longer' has $(stat -c %s longer) bytes instead of $(stat -c %s mlp); copy it again, or compile the model again" weft-run longer
tells 1 "'./later' is an executable of another version of weft, format 99 instead of" weft-run later
tells 1 "'./damaged' is damaged: its checksum does not match its content; copy it again, or compile the model again" weft-run damaged

# Checkpoints whose files are not as they were written.
resumes() { # TEXT EDIT: a checkpoint of which a file, the manifest or another, was edited so
  rm -rf bad && cp -r ck bad && bash -c "$2" 0 bad/step-00000002/manifest.json bad/step-00000002/rank-00000.safetensors
  tells 1 "$1" "${learn[@]}" --steps 4 --resume bad
}
resumes "the manifest is cut off; resume from another one" 'truncate -s 20 "$1"'
resumes "is not a file" 'rm "$1"; mkdir "$1"'
resumes "bytes, more than can be right" 'truncate -s 3G "$1"'
resumes "do not match their checksum" 'printf xxxx | dd of="$2" bs=1 seek=1000 conv=notrunc status=none'
resumes "the manifest does not match its checksum, or is of another version of the format" 'sed -i "s/tensors/tensorz/" "$1"'

# Where ranks meet.
says 1 "the first process's host 'no.such.host.invalid' is not found: .*; set MASTER_ADDR to its name or IPv4 address" \
  env RANK=1 WORLD_SIZE=2 MASTER_ADDR=no.such.host.invalid MASTER_PORT=29999 ./mlp2 --comm tcp --input x=x8.npy
mkdir plugins && cp "$(ldd mlp | awk '/libm.so/ { print $3 }')" plugins/libweft_mpi.so
tells 1 "'plugins/libweft_mpi.so' is not a communicator plugin" env WEFT_PLUGIN_PATH=plugins ./mlp --comm mpi --input x=x8.npy
tells 1 "mpirun is not installed; use --comm tcp or inproc" env PATH=/nowhere "$(command -v weft-run)" --comm mpi mlp2 --input x=x8.npy
mkdir -p locked/.lock
tells 1 "checkpoints cannot be saved in 'locked': Is a directory; give another folder with --save" "${learn[@]}" --steps 1 --save locked
told
