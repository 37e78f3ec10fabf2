#!/usr/bin/env bash
# What people get wrong, and what they are told: a table of commands, exit codes and words.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
. "$(dirname "$0")/says.sh"
cd "$1" || exit 1

weft-translate --build mlp:layers=2,inputs=8,hidden=16,classes=4 -o mlp.onnx 2>/dev/null || exit 1
weft-translate --build gpt2:layers=1,hidden=32,heads=2,vocab=256,seq=16 -o gpt.onnx 2>/dev/null || exit 1
gpt=(gpt.onnx --bind batch=2,seq=8 -q)
train=(--train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=1e-2)
weft-data npy --shape 8x8 --fill random:1 -o x8.npy || exit 1
weft-data npy --shape 9x8 --fill random:1 -o x9.npy || exit 1
weft-data npy --shape 2x8 --fill ids:256:1 -o ids.npy || exit 1
weft-data npy --shape 2x8 --fill ids:9999:1 -o high.npy || exit 1
weft-compile -q mlp.onnx --bind batch=8 -o mlp || exit 1
weft-compile "${gpt[@]}" -o gpt || exit 1
weft-compile "${gpt[@]}" --keep-weights -O 1 -o kept || exit 1
# What has no mistake warns of none.
silent 'warning' weft-compile "${gpt[@]}" "${train[@]}" -O 1 -o train
[ -x train ] || exit 1
seq -s ' ' 2000 | head -c 8000 >text
weft-run train -q --data-tokens text:byte --steps 6 --save ck >/dev/null || exit 1

# Misspelt flags, topics, values, names: the nearest one.
says 2 "no flag '--messh'; did you mean '--mesh'" weft-compile mlp.onnx --messh tp=2
says 2 "no flag '--inptu'; did you mean '--input'" weft-run mlp --inptu x=x8.npy
says 2 "no flag '--onnx-to-txt'; did you mean '--onnx-to-text'" weft-translate --onnx-to-txt mlp.onnx
says 2 "no flag '--shap'; did you mean '--shape'" weft-data npy --shap 8
says 2 "no command 'tokenz'; did you mean 'tokens'" weft-data tokenz text
says 2 "no topic 'trainig'.*did you mean 'training'" weft-compile --help=trainig
says 2 "is fp32, bf16, fp16 or fp64, not 'bp16'; did you mean" weft-compile mlp.onnx --precision bp16
says 2 "'shardd' is no phase.*did you mean 'sharded'" weft-compile mlp.onnx --compile-to shardd
says 2 "--comm is inproc, mpi, tcp or nccl, not 'tpc'; did you mean 'tcp'" weft-run mlp --comm tpc
says 2 "no input 'X'; there is x; did you mean 'x'" weft-run mlp --input X=x8.npy
says 2 "no program 'forwrd'; there is forward; did you mean" weft-run mlp --program forwrd
says 2 "two executables given: 'mlp' and 'mlp'" weft-run mlp mlp
says 2 "--fix fixes groups of 3 devices, which do not make the 4 of --devices; change one of them" weft-plan "${gpt[@]}" --devices 4 --fix dp=3
says 2 "--fix fixes tp at 2 and at 4; leave one of them out" weft-plan "${gpt[@]}" --devices 4 --fix tp=2 --fix tp=4
says 2 "--fix tp=2 asks for what --forbid tp forbids; leave one of them out" weft-plan "${gpt[@]}" --devices 4 --fix tp=2 --forbid tp
says 2 "--zero 2 asks for what --forbid zero forbids" weft-plan "${gpt[@]}" "${train[@]}" --devices 4 --zero 2 --forbid zero
says 2 "--microbatches 2 asks for what --forbid microbatches forbids" weft-plan "${gpt[@]}" --devices 4 --microbatches 2 --forbid microbatches
says 2 "--stages asks for what --forbid pp forbids" weft-plan "${gpt[@]}" --devices 4 --stages blocks:1,1 --forbid pp
says 2 "-o - and the answer would both write to the screen; give -o a file" weft-plan "${gpt[@]}" --devices 4 -o -
says 2 "--bind makes 'batch' both 2 and 4" weft-compile gpt.onnx --bind batch=2 --bind batch=4 -o m
says 2 "two models given: 'mlp.onnx' and 'gpt.onnx'" weft-compile mlp.onnx gpt.onnx
says 2 "-o wants a value: -o OUT" weft-compile mlp.onnx -o
says 2 "-O wants a whole number from 0 to 3, not '9'" weft-compile mlp.onnx -O 9
says 2 "--threads-per-rank wants a whole number of at least 1, not '0'" weft-compile mlp.onnx --threads-per-rank 0
says 2 "--loss needs --optimizer" weft-compile mlp.onnx --train --loss x
says 1 "unknown kind 'gtp2'.*did you mean 'gpt2'" weft-translate --build gtp2:layers=1 -o m.onnx
says 1 "unknown key 'layer'.*did you mean 'layers'" weft-translate --build gpt2:layer=1 -o m.onnx
says 1 "unknown preset 'tinny'.*did you mean 'tiny'" weft-translate --build gpt2:preset=tinny -o m.onnx
says 2 "'adamv' is no optimizer.*did you mean 'adam' or 'adamw'" weft-compile mlp.onnx --train --loss x --optimizer adamv
says 2 "has no 'beta'.*did you mean 'beta1' or 'beta2'" weft-compile mlp.onnx --train --loss x --optimizer adam:beta=0.9
says 2 "has no 'momentm'.*did you mean 'momentum'" weft-compile mlp.onnx --train --loss x --optimizer sgd:momentm=0.9
says 2 "'momentum' is given twice" weft-compile mlp.onnx --train --loss x --optimizer sgd:momentum=0.9,momentum=0.8
says 2 "total is of a schedule that falls: give schedule=linear or schedule=cosine" \
  weft-compile mlp.onnx --train --loss x --optimizer sgd:lr=0.1,total=9,min_lr=0.01
says 2 "'lrscale=2' is nothing that a group may have.*did you mean 'lr_scale'" \
  weft-compile mlp.onnx --train --loss x --optimizer sgd --param-group 'a:lrscale=2'
says 1 "has no output 'logit'; its outputs are 'logits'; did you mean 'logits'" \
  weft-compile -q mlp.onnx --bind batch=8 --train --loss softmax_cross_entropy:logit,labels --optimizer sgd -o m
says 1 "no state, input or output 'transformer.wte.weigth'.*did you mean 'transformer.wte.weight'" \
  weft-run train --show-placement transformer.wte.weigth
# Patterns, of whole names and of parts of them.
for pattern in mlp.c_fcc.weight h.0.mlp.c_fc.weigth /h.0/mlp/c_fcc; do
  says 1 "'$pattern=dim0:tp' matches no value; did you mean '(mlp.c_fc.weight|h.0.mlp.c_fc.weight|/h.0/mlp/c_fc)'" \
    weft-compile "${gpt[@]}" --mesh tp=2 -o m --place "$pattern=dim0:tp"
done
says 1 "'qqqq.rrrr=dim0:tp' matches no value; there are '/lm_head/MatMul', .* and [0-9]+ more" \
  weft-compile "${gpt[@]}" --mesh tp=2 -o m --place qqqq.rrrr=dim0:tp
says 1 "--freeze 'transformer.wte.weigth' matches no weight; did you mean 'transformer.wte.weight'" \
  weft-compile "${gpt[@]}" "${train[@]}" -o m --freeze transformer.wte.weigth
says 1 "--param-group 'wte.weigth' matches no weight; did you mean 'wte.weight'" \
  weft-compile "${gpt[@]}" "${train[@]}" -o m --param-group wte.weigth:lr_scale=2
says 0 "no node or state has a name that matches 'wte.weigth'; did you mean 'wte.weight'" \
  weft-compile "${gpt[@]}" --dry-run --explain=wte.weigth
says 2 "--cluster 'a100-80g' is neither a file nor a cluster's name; .*; did you mean 'a100-80gb'" \
  weft-compile "${gpt[@]}" -o m --cluster a100-80g
says 2 "--target 'cuda:hots' is not one of: cpu, .*; did you mean 'cuda:host'" weft-compile "${gpt[@]}" -o m --target cuda:hots
says 2 "has no input 'inputids'.*did you mean 'input_ids'" weft-run train --data inputids=ids.npy --steps 1
says 0 '^  --mesh AXIS=N' weft-compile --help=mesh
for tool in weft-compile weft-run weft-translate weft-data weft-opt weft-reduce weft-lsp-server; do
  says 0 "^$tool [0-9]+\.[0-9]+\.[0-9]+" $tool --version
done
says 2 "--completion is bash or zsh, not 'fish'" weft-compile --completion fish
says 0 '^weft executable [0-9]+\.' ./mlp --version

# Files that are something else, or nowhere to write.
says 1 "'ck' is a folder, not a model.* --weights ck -o OUT.onnx puts the weights of a checkpoint into a model" weft-compile ck
says 1 "cannot make folder 'mlp.onnx/phases'" weft-compile mlp.onnx --bind batch=8 --dump-phases mlp.onnx/phases --compile-to graph -o x.mlir
says 1 "cannot write the standard output" bash -c 'weft-compile mlp.onnx --bind batch=8 --compile-to graph -q -o - >/dev/full'
weft-compile -q mlp.onnx --bind batch=8 --compile-to step -o step.mlir || exit 1
says 1 "--write-devices needs a model as in the file, not a program of a later phase" weft-compile step.mlir --mesh tp=2 --write-devices placed.onnx
sed 's/weft.phase = "step"/weft.phase = "step", weft.cluster = 4 : i64/' step.mlir >cluster.mlir
says 1 "'weft.cluster' must be a string of text protobuf" weft-compile cluster.mlir --mesh tp=2 -o x
sed 's/weft.phase = "step"/weft.phase = "step", weft.target = 4 : i64/' step.mlir >target.mlir
says 1 "'weft.target' must be a string, not 4 : i64" weft-compile target.mlir -o x
says 2 "--schedule is for the stages of a pipeline, and there are none" weft-compile mlp.onnx --bind batch=8 --mesh dp=2 --schedule gpipe -o x
printf 'weft schedule 1\nrank 0\n' >ranks
says 1 "is 'ranks', as in 'ranks 4 chunks 4 microbatches 8'" weft-schedule file:ranks
printf 'weft schedule 1\nranks 1 chunks 1 microbatches 1\nrank 0\n' >place
says 1 "is 'place' and the rank of each chunk" weft-schedule file:place
printf 'weft costs 1\nstage 1 F=2\n' >costs
says 1 "is 'all', 'chunk' or 'rank'" weft-schedule 1f1b --ranks 2 --microbatches 2 --costs costs

# Sizes and devices.
says 2 "--place needs --mesh: it splits over its axes" weft-compile mlp.onnx --bind batch=8 --place x=dim0:tp
says 2 "expected NAME=SIZE or NAME=SIZExSIZE, found 'tp'" weft-compile mlp.onnx --mesh tp
says 2 "'nan' is no size" weft-compile mlp.onnx --memory-limit nan
says 2 "has more than 2\^20 devices" weft-compile mlp.onnx --mesh dp=4,tp=9223372036854775807
says 2 "must be a regular file of at most 1048576 bytes" weft-compile mlp.onnx --cluster /dev/zero
weft-compile -q mlp.onnx --bind batch=8 --mesh dp=2 --compile-to sharded -o sharded.mlir || exit 1
sed 's/weft.phase/weft.target = "none", weft.phase/' sharded.mlir >wrong-target.mlir
sed 's/weft.phase/weft.cluster = "{", weft.phase/' sharded.mlir >wrong-cluster.mlir
says 1 "which is not one of: cpu" weft-compile wrong-target.mlir
sed 's/weft.phase/weft.target = "cuda:hots", weft.phase/' sharded.mlir >near-target.mlir
says 1 "target 'cuda:hots', which is not one of: cpu, .*; did you mean 'cuda:host'" weft-compile near-target.mlir
says 1 "'weft.cluster': line 1: Expected identifier, got: {" weft-compile wrong-cluster.mlir

# --bind.
says 1 "names dimension 'sequence', which no input .* has; it has 'batch'" weft-compile -q mlp.onnx --bind batch=8,sequence=9 -o m
says 1 "names dimension 'bacth'.*did you mean 'batch'" weft-compile -q mlp.onnx --bind bacth=8 -o m
says 2 "batch=0: an extent is from 1 to" weft-compile -q mlp.onnx --bind batch=0 -o m
says 2 "batch=99999999999: an extent is from 1 to" weft-compile -q mlp.onnx --bind batch=99999999999 -o m
says 2 "makes 'batch' both 8 and 9" weft-compile -q mlp.onnx --bind batch=8,batch=9 -o m
says 2 "found '=@x8.npy'; needs .* found 'x=@'; batch=0: an extent is from 1 to" \
  weft-compile -q mlp.onnx --bind '=@x8.npy,x=@,batch=0' -o m
says 1 "names dimension 'a=b', which no input" weft-compile -q mlp.onnx --bind 'batch=8,a\=b=9' -o m
says 1 "makes 'batch' 8, but --bind x=@FILE makes 'batch' 9" weft-compile -q mlp.onnx --bind batch=8,x=@x9.npy -o m
says 1 "makes 'x\[1\]' 9, but dimension 1 of input 'x' is 8" weft-compile -q mlp.onnx --bind 'batch=8,x[1]=9' -o m
says 1 "names input 'y'.*it has 'x'" weft-compile -q mlp.onnx --bind batch=8,y=@x8.npy -o m

printf 'the quick brown fox\n' > english.txt
says 1 "'english.txt' is neither a model .* nor a program" weft-compile -q english.txt -o m
says 1 "has no output 'cross_entropy:logits,labels'; its outputs are 'logits', and the losses softmax_cross_entropy:" \
  weft-compile -q mlp.onnx --bind batch=8 --train --loss cross_entropy:logits,labels --optimizer sgd -o m

# A text says how a program was compiled, not what this run starts, reads or writes.
weft-compile -q mlp.onnx --bind batch=8 --compile-to graph -o graph.mlir
sed 's|weft.flags = \["|&--linker=./evil", "|' graph.mlir > foreign.mlir
printf '#!/bin/sh\ntouch evil-ran\n' > evil && chmod +x evil
says 0 . weft-compile foreign.mlir -o foreign
grep -q 'linker=./evil' foreign.mlir && [ ! -e evil-ran ] || { echo "a text chose the linker"; failures=$((failures + 1)); }

# --place.
place=(weft-compile -q mlp.onnx --bind batch=8 --mesh tp=2 -o m --place)
says 2 "expected REGEX=dimN:AXES,..., found no dim" "${place[@]}" layers.0.weight
says 2 "expected REGEX=dimN:AXES,..., found no dim" "${place[@]}" layers.0.weight=
says 2 "an axis of '\+' has no name" "${place[@]}" layers.0.weight=dim0:+
says 2 "an axis of '2\*' has no name" "${place[@]}" 'layers.0.weight=dim0:2*'
says 2 "dim0 is given twice" "${place[@]}" layers.0.weight=dim0:tp,dim0:-
says 1 "matches no value; did you mean 'layers.0.weight'" weft-compile -q mlp.onnx --bind batch=8 --mesh tp=2 --place 'layer.0.weight=dim0:tp' -o m
says 1 "has no effect: 'layers.0.weight=dim0:tp' comes first for 'layers.0.weight'" \
  weft-compile -q mlp.onnx --bind batch=8 --mesh tp=2 --place 'layers.0.weight=dim0:tp' --place 'layers.0.w.*=dim1:tp' -o m
silent . weft-compile -q mlp.onnx --bind batch=8 --mesh dp=2,tp=2 --place 'logits=dim0:dp' --place '/layers.0/Gemm_output_0=dim1:tp' --dry-run

# Before long work.
says 1 "folder 'none' does not exist" weft-compile -q mlp.onnx --bind batch=8 -o none/m
says 1 "is a folder; name a file in it" weft-compile -q mlp.onnx --bind batch=8 -o ck
says 1 "'ck' is a folder, not a model; weft-translate --export-onnx" weft-compile -q ck -o m
says 1 "no-linker" weft-compile -q mlp.onnx --bind batch=8 --linker ./no-linker -o m
says 0 '^memory of one process: arena .*at most alive together input 256 B' weft-compile mlp.onnx --bind batch=8 --dry-run

# Warnings, with numbers.
says 0 "warning: a batch of 8 is no multiple of 3 shards" \
  weft-compile -q mlp.onnx --bind batch=8 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd --microbatches 3 --dry-run
says 0 "warning: --loss: 'logits' is computed from the labels 'input_ids' themselves, .* as in softmax_cross_entropy:logits,labels" \
  weft-compile "${gpt[@]}" --train --loss softmax_cross_entropy:logits,input_ids --optimizer sgd --dry-run
says 0 "warning: the labels in 'ids.npy' are the input 'input_ids' itself" weft-run train -q --data input_ids=ids.npy --data labels=ids.npy --steps 1
weft-data npy --shape 1x8 --fill ids:256:2 -o one.npy
weft-data npy --shape 1x8 --fill ids:256:3 -o next.npy
says 0 "warning: the data has 1 samples for a batch of 2" weft-run train -q --data input_ids=one.npy --data labels=next.npy --steps 1
silent 'warning' weft-run train -q --data-tokens text:byte --steps 1
# Without labels a batch that samples do not fill is left out of an evaluation.
weft-compile -q mlp.onnx --bind batch=8 --train --loss mse:logits,target --optimizer sgd:lr=0.1 -o regress || exit 1
weft-data npy --shape 9x4 --fill zeros -o y9.npy
weft-data npy --shape 5x8 --fill zeros -o x5.npy
weft-data npy --shape 5x4 --fill zeros -o y5.npy
says 0 "warning: evaluation leaves out the last 1 of 9 samples: a batch is 8 and cannot be filled up" \
  weft-run regress -q --eval-data x=x9.npy --eval-data target=y9.npy
silent 'warning' weft-run regress -q --eval-data x=x9.npy --eval-data target=y9.npy --eval-batches 1
says 1 "the data for --eval-every has 5 samples, but a batch is 8 and cannot be filled up" \
  weft-run regress -q --eval-data x=x5.npy --eval-data target=y5.npy

# Inputs: by their headers, and ids by their values, before weights are read.
says 1 "element [0-9]+ of 'high.npy' is [0-9]+, but the model looks it up in 256 rows; these are 0 to 255" weft-run gpt --input input_ids=high.npy
says 2 "gives 'x' twice: 'x8.npy' and 'x9.npy'" weft-run mlp --input x=x8.npy --input x=x9.npy
says 1 "input 'x' must be 8x8 f32, but 'x9.npy' is 9x8 f32" weft-run mlp --input x=x9.npy --model-dir /nowhere
says 1 "output 'logits' is 8x4 f32, but 'x8.npy' is 8x8 f32" weft-run mlp --input x=x8.npy --expect logits=x8.npy --model-dir /nowhere
cp x8.npy long.npy; printf more >>long.npy
says 1 "'long.npy' is too long: its header promises 256 bytes of data, it has 260" weft-run mlp --input x=long.npy
says 1 "is a file, not a folder" weft-run mlp --input x=x8.npy --output-dir x8.npy --model-dir /nowhere
says 1 "--trace: 'none/t' cannot be written" weft-run mlp --input x=x8.npy --trace none/t --model-dir /nowhere
says 1 "not a token of the vocabulary.*Then say 'text:byte'" weft-run train --data-tokens text --steps 1
weft-data tokens text -o tokens.u16 >/dev/null || exit 1
says 1 "not a token of the vocabulary.*is it a file of u16\? Then say 'tokens.u16:u16'" weft-run train --data-tokens tokens.u16:u32 --steps 1
# What is no number spoils what is learned from it; labels of which none counts teach nothing.
cp x9.npy nan.npy
printf '\0\0\300\177' | dd of=nan.npy bs=1 seek=$((128 + 4 * (2 * 8 + 3))) conv=notrunc status=none
says 1 "'nan.npy', sample 2, element 3 is nan, no number for input 'x'" weft-run regress -q --data x=nan.npy --data target=y9.npy --steps 1
says 2 "--data wants --steps N, at least 1" weft-run regress -q --data x=x9.npy --data target=y9.npy --steps 0
# Of a file beyond 64 MiB a batch is checked before it trains: two steps of 2 x 8 tokens, then a wrong one.
truncate -s 70M large.u16
printf '\377\377' | dd of=large.u16 bs=1 seek=$((2 * (2 * 16 + 3))) conv=notrunc status=none
large=(weft-run train --data-tokens large.u16:u16 --log large.jsonl)
says 1 "'large.u16', sample 4, element 3: 65535 is not a token of the vocabulary: these are 0 to 255" "${large[@]}" --steps 9
says 0 '^2$' grep -c loss large.jsonl
# Weights that are not there, and sequences longer than the model's longest.
weft-translate --build gpt2:layers=1,hidden=32,heads=2,vocab=256,seq=16 --no-weights -o bare.onnx 2>/dev/null || exit 1
says 1 "'bare.onnx.data': No such file or directory; --dry-run plans without weights" weft-compile bare.onnx "${gpt[@]:1}" -o bare
says 1 "'bare.onnx.data': No such file or directory; --allow-missing-data reads" weft-translate --onnx-to-mlir bare.onnx
says 1 "out of range for extent 16; --bind makes 'seq' 32, the model may be made for 16 at most" weft-compile gpt.onnx --bind batch=2,seq=32
says 1 "no program 'step'; compile the model with --train" weft-run mlp --steps 10
says 2 "say how --generate PROMPT goes on" weft-run train --top-k 3 --data-tokens text:byte --steps 1

# Meshes.
mesh=(weft-compile -q mlp.onnx --bind batch=8 -o m --mesh)
says 2 "size of axis 'dp' must be a positive integer, found '0'" "${mesh[@]}" dp=0
says 2 "size of axis 'dp' must be a positive integer, found '-1'" "${mesh[@]}" dp=-1
says 2 "size of axis 'dp' must be a positive integer, found 'x'" "${mesh[@]}" dp=x
says 2 "size of axis 'dp' must be a positive integer, found '4x'" "${mesh[@]}" dp=4x
says 2 "axis 'dp' is given twice" "${mesh[@]}" dp=2,dp=2
says 1 "axis dp=16 splits nothing: there are at most 8 parts to share among its 16 processes; .*--allow-idle-axes" "${mesh[@]}" dp=16
says 1 "cannot be cut into 5 stages: it has no op that depends on both weights and inputs; compile it without stages" "${mesh[@]}" pp=5
says 2 "--zero needs --train" "${mesh[@]}" dp=2 --zero 1
says 5 "a process needs 1664 bytes, more than the limit of 1024; use more processes" "${mesh[@]}" dp=1 --memory-limit 1KiB
says 2 "'cudda' is not one of: cpu, cuda" "${mesh[@]}" dp=2 --target cudda
says 2 "'skylakeish' is no processor that LLVM knows; names near it: skylake; x86-64-v3 suits most" "${mesh[@]}" dp=2 --processor skylakeish
says 1 "--plan 'none': cannot be read: No such file or directory" "${mesh[@]}" dp=2 --plan none
says 2 "--auto chooses what --plan 'none' says; leave one of them out" weft-compile mlp.onnx --bind batch=8 --auto --cluster cpu --plan none
says 2 "--cluster 'none' is neither a file nor a cluster's name; those with names are a100" weft-compile mlp.onnx --bind batch=8 --auto --cluster none
says 2 "how many devices of cluster 'standard'\? give --devices N" weft-plan mlp.onnx --bind batch=8
: >nothing
says 2 "--cluster 'nothing' is empty" weft-plan mlp.onnx --bind batch=8 --devices 2 --cluster nothing
says 1 "--trace 'nothing': it is no trace of weft-run --bench --trace" weft-plan mlp.onnx --bind batch=8 --evaluate dp=2 --trace nothing
says 1 "--profile 'none': cannot be read: No such file or directory" weft-plan gpt.onnx --bind batch=2,seq=8 "${train[@]}" --evaluate dp=2 --profile none
says 2 "no kind of schedule 'tuesday'; there is search, file:FILE, .*1f1b" weft-schedule tuesday --ranks 2 --microbatches 2

# Trainings, as they are compiled.
learns=(weft-compile "${gpt[@]}" "${train[@]}" -o m)
says 2 "--zero is 0, 1, 2 or 3, .* not '4'" "${learns[@]}" --mesh dp=2 --zero 4
says 2 "splits state over the axes of the batch, and --mesh 'tp=2' has none; write --mesh dp=N" "${learns[@]}" --mesh tp=2 --zero 1
says 2 "--recompute is none, selective, full or auto, not 'some'" "${learns[@]}" --recompute some
says 1 "--freeze 'none' matches no weight; weights have names as 'transformer.wte.weight'" "${learns[@]}" --freeze none
says 1 "--param-group 'none' matches no weight; weights have names as" "${learns[@]}" --param-group none:lr_scale=2
says 1 "--param-group 'wte.weight' has no effect: each weight that it matches is frozen, or of a --param-group before it" \
  "${learns[@]}" --param-group weight:lr_scale=2 --param-group wte.weight:lr_scale=3
says 1 "--param-group 'wte.weight' has no effect" "${learns[@]}" --freeze wte.weight --param-group wte.weight:lr_scale=3
says 2 "--microbatches wants a whole number of at least 1, not '0'" "${learns[@]}" --microbatches 0
says 2 "--seed wants a seed, a whole number from 0 to" "${learns[@]}" --seed x
says 2 "--grad-dtype is fp32, bf16, fp16 or fp64, not 'f9'" "${learns[@]}" --grad-dtype f9
says 2 "--batch-stats is global or per-microbatch, not 'no'" "${learns[@]}" --batch-stats no
says 1 "heads=3 does not divide hidden=100 \(remainder 1\); choose heads=2 or 4, or another hidden" weft-translate --build gpt2:hidden=100,heads=3 -o z.onnx
says 1 "layers=x is not a whole number" weft-translate --build gpt2:layers=x -o z.onnx

# Trainings, as they are run.
learn=(weft-run train --data-tokens text:byte)
says 2 "--steps wants a whole number of at least 0, not '-1'" "${learn[@]}" --steps -1
says 2 "--steps wants data: --data NAME=FILE.npy or --data-tokens FILE" weft-run train --steps 2
says 1 "token file 'none' cannot be read: No such file" weft-run train --steps 2 --data-tokens none:byte
says 1 "'text:bytes' cannot be read: .*; token types are :u16, :u32 and :byte" weft-run train --steps 2 --data-tokens text:bytes
says 2 "--every wants a whole number of at least 1, not '0'" "${learn[@]}" --steps 2 --every 0 --save c2
says 2 "--every wants --save DIR" "${learn[@]}" --steps 2 --every 2
says 2 "--eval-every wants --eval-data" "${learn[@]}" --steps 2 --eval-every 2
says 2 "--shuffle wants a seed" "${learn[@]}" --steps 2 --shuffle x
says 1 "'ck' holds checkpoints of an earlier run; go on with --resume ck, or choose another directory" "${learn[@]}" --steps 2 --save ck
says 1 "no checkpoint folder 'none'; --resume wants the folder that was given to --save" "${learn[@]}" --steps 2 --resume none
mkdir empty
says 1 "no checkpoint in 'empty'; a run that saves there has not come to its first" "${learn[@]}" --steps 2 --resume empty
says 2 "nothing feeds 'labels' of program 'step'; add --data NAME=FILE.npy" weft-run train --steps 2 --data input_ids=ids.npy
says 1 "'high.npy', sample 0, element 0: [0-9]+ is not a class: these are 0 to 255 \(input 'labels'\)" \
  weft-run train --steps 2 --data input_ids=ids.npy --data labels=high.npy
says 1 "input 'input_ids' of program 'step' is i64, but 'x8.npy' is f32; convert the file" weft-run train --steps 2 --data input_ids=x8.npy --data labels=ids.npy
says 2 "--generate wants a value: --generate PROMPT" weft-run train --generate
says 2 "--program are for single runs, not for training" "${learn[@]}" --steps 2 --program forward
says 1 "--log: 'none/log' cannot be written: No such file" "${learn[@]}" --steps 1 --log none/log
says 2 "--export-onnx wants one --weights CHECKPOINT" weft-translate --export-onnx gpt.onnx -o z.onnx
says 1 "no checkpoint of step 77 in 'ck'; it has those of 6" weft-translate --export-onnx gpt.onnx --weights ck --step 77 -o z.onnx
# One that was damaged is passed over, and told.
cp -r ck rotten && weft-run train -q --data-tokens text:byte --steps 8 --resume rotten --save rotten >/dev/null || exit 1
printf x | dd of="$(ls rotten/step-00000008/*.safetensors | head -1)" bs=1 seek=1000 conv=notrunc status=none
says 0 "warning: .*'rotten/step-00000008' is damaged and passed over: .*checksum" "${learn[@]}" --steps 8 --resume rotten

# Single runs.
says 1 "'./none' cannot be run: No such file or directory; weft-compile MODEL.onnx -o OUT makes one" weft-run none
says 2 "inputs are missing; add --input x=FILE.npy" weft-run mlp
says 2 "--input wants NAME=FILE.npy, not 'x'" weft-run mlp --input x
says 1 "'none.npy' cannot be read: No such file" weft-run mlp --input x=none.npy
says 1 "'text' is not a .npy file" weft-run mlp --input x=text
says 1 "input 'x' must be 8x8 f32, but 'ids.npy' is 2x8 i64; convert the file" weft-run mlp --input x=ids.npy
says 2 "the program is for 1 ranks, not 2; run it with -n 1, or compile it with another --mesh" weft-run mlp -n 2 --input x=x8.npy
says 1 "cannot write the standard output: No space left" bash -c 'weft-compile mlp.onnx --bind batch=8 --explain -q -o m >/dev/full'
says 2 "--shape wants sizes like 8x64, or scalar, not '0'" weft-data npy --shape 0 -o z.npy
says 2 "--fill wants zeros, ones, range, random" weft-data npy --shape 2 --fill foo -o z.npy
says 1 "'none' cannot be read: No such file" weft-data tokens none -o z

# What a flag must not swallow, and what two outputs cannot share.
says 2 "--mesh wants a value, but '--microbatches=2' is a flag; if it is meant, write --mesh=--microbatches=2" \
  weft-compile mlp.onnx --mesh --microbatches=2 -o m
says 2 "-o wants a value, but '--dry-run' is a flag" weft-compile mlp.onnx --bind batch=8 -o --dry-run
says 2 "axis 'a\"b': a name begins with a letter" "${mesh[@]}" 'a"b=2'
says 0 '2 ranks as dp=2$' weft-compile -q mlp.onnx --bind batch=8 --dry-run --explain --mesh ' dp = 2'
says 2 "--explain and --report would both write to the screen; give --report a file" \
  weft-compile mlp.onnx --bind batch=8 --dry-run --explain=json --report -
says 2 "--report and --compile-to would both write to the screen; write the program to a file" \
  weft-compile mlp.onnx --bind batch=8 --compile-to local --report -
says 2 "-o and --plot name the same file" weft-schedule 1f1b --ranks 2 --microbatches 2 -o s.txt --plot ./s.txt
says 2 "--threads is for 'search', and this is 1f1b" weft-schedule 1f1b --ranks 2 --microbatches 2 --threads 3
says 2 "--comm is for --calibrate" weft-plan mlp.onnx --bind batch=8 --evaluate dp=2 --comm tcp
# Texts of phases take the place of none that is read, but a text may go on in its folder.
weft-compile -q mlp.onnx --bind batch=8 --mesh dp=2 --dry-run --dump-phases dumps || exit 1
silent . weft-compile -q dumps/3-sharded.mlir --dry-run --dump-phases dumps
mv dumps/1-graph.mlir dumps/5-local.mlir
says 1 "--dump-phases 'dumps' would take the place of 'dumps/5-local.mlir', which is read; name another folder" \
  weft-compile dumps/5-local.mlir --mesh dp=2 --dry-run --dump-phases dumps
says 0 'weft.phase = "graph"' cat dumps/5-local.mlir
weft-compile -q mlp.onnx --bind batch=8 --mesh pp=2,tp=2 --microbatches 2 "${train[@]}" --dry-run --dump-phases staged || exit 1
says 2 "--explain and --report of a text of phase local tell what is scheduled; give --compile-to scheduled or a later one" \
  weft-compile staged/5-local.mlir --compile-to local --explain --dry-run
says 0 "4 ranks as pp=2,tp=2,mb=2 .microbatches.$" weft-compile staged/5-local.mlir -q --explain --dry-run
# Files that hold a model's weights.
weft-translate --build mlp:layers=2,inputs=8,hidden=16,classes=4,external=1 -o large.onnx 2>/dev/null || exit 1
cp large.onnx copy.onnx && cp large.onnx.data before.data
says 1 "'large.onnx.data' holds weights of 'large.onnx'; name another file" weft-translate --onnx-to-text large.onnx -o large.onnx.data
says 1 "'large.onnx.data' holds weights of the model; name another file" weft-translate --onnx-to-mlir large.onnx -o large.onnx.data
weft-translate --onnx-to-text large.onnx -o large.txt || exit 1
says 1 "'large.onnx.data' holds weights of 'large.txt'" weft-translate --text-to-onnx large.txt -o large.onnx.data
weft-compile -q large.onnx --bind batch=8 --train --loss softmax_cross_entropy:logits,labels --optimizer sgd -o small || exit 1
weft-data npy --shape 8 --fill ids:4 -o l8.npy && weft-run small -q --data x=x8.npy --data labels=l8.npy --steps 1 --save cs >/dev/null || exit 1
says 1 "'large.onnx.data' holds weights of 'copy.onnx'" weft-translate --export-onnx copy.onnx --weights cs --external-data -o large.onnx
cp large.onnx.data read.onnx.data
says 1 "'read.onnx.data' is what the weights are read from" weft-translate --import-weights read.onnx.data mlp.onnx --external-data -o read.onnx
silent . cmp before.data large.onnx.data

# Integers are ids and indices: no tolerance, unless one is asked for, and every digit is told.
weft-translate --text-to-onnx - -o ids.onnx <<'END' || exit 1
<ir_version: 8, opset_import: ["": 17]> g (int64[3] a) => (int64[3] b, int64[3] c) { one = Constant <value_int = 1> () b = Add (a, one) c = Add (b, one) }
END
weft-compile -q ids.onnx -o ids || exit 1
weft-data npy --shape 3 --dtype i64 --fill ids:123456789:1 -o a.npy || exit 1
weft-run -q ids --input a=a.npy --output-dir whole || exit 1
says 0 "b: max error 0, .* ok" weft-run ids --input a=a.npy --expect b=whole/b.npy
says 1 "output 'b' differs" weft-run ids --input a=a.npy --expect b=whole/c.npy
says 0 "b: max error 1, .* ok" weft-run ids --input a=a.npy --expect b=whole/c.npy --rtol 1e-4
# Neighbours that doubles do not tell apart.
weft-translate --text-to-onnx - -o huge.onnx <<'END' || exit 1
<ir_version: 8, opset_import: ["": 17]> g (int64[3] a) => (int64[3] b, int64[3] c) { large = Constant <value_int = 9007199254740992> () one = Constant <value_int = 1> () zero = Sub (a, a) b = Add (zero, large) c = Add (b, one) }
END
weft-compile -q huge.onnx -o huge && weft-run -q huge --input a=a.npy --output-dir huges || exit 1
says 0 "b: max error 0, .* ok" weft-run huge --input a=a.npy --expect b=huges/b.npy
says 1 "in 3 of 3 elements, most at element 0: found 9007199254740992, expected 9007199254740993" weft-run huge --input a=a.npy --expect b=huges/c.npy
says 0 '^b: .* = \[[0-9]{6,}, [0-9]{6,}, [0-9]{6,}\]$' weft-run ids --input a=a.npy

# Labels are classes, or do not count.
says 1 "input 'labels': element 0 of 'high.npy' is [0-9]+, which is not a class: these are 0 to 255" \
  weft-run train --program eval --input input_ids=ids.npy --input labels=high.npy

# More processes than ranks would all do the same, and write the same files.
says 2 "the program is for 1 rank, 2 were started; start 1" \
  "$(dirname "$0")/../../conformance/runtime/start-tcp.sh" 2 ./mlp --input x=x8.npy --timeout 20

# Checkpoints serve: the same logits from both executables, and texts.
says 0 "weights of 'ck' after step 6" weft-run train --program forward --resume ck --input input_ids=ids.npy --output-dir out
says 0 "logits: max error .* ok" weft-run kept --resume ck --input input_ids=ids.npy --expect logits=out/logits.npy
says 1 "logits: max error .* DIFFERENT" weft-run kept --input input_ids=ids.npy --expect logits=out/logits.npy
says 0 '^12 ' weft-run kept -q --resume ck --generate '12 ' --tokens 4
cp said kept.text
says 0 '^12 ' weft-run train -q --resume ck --generate '12 ' --tokens 4
checks=$((checks + 1))
cmp said kept.text || failures=$((failures + 1))
says 0 '^12 ' weft-run gpt -q --generate '12 ' --tokens 4
# The likeliest token is the same, among however many it is chosen.
weft-run gpt -q --generate '12 ' --tokens 12 > likeliest || exit 1
says 0 '^12 ' weft-run gpt -q --generate '12 ' --tokens 12 --temperature 0 --top-k 5 --seed 3
checks=$((checks + 1))
cmp said likeliest || failures=$((failures + 1))
says 2 "not known to continue texts.*it has input x: 8x8 f32" weft-run mlp --generate a
says 1 "it is of model 'gpt.onnx', this executable of 'mlp.onnx'" weft-run mlp --resume ck --input x=x8.npy
checks=$((checks + 1))
[ "$(wc -l <said)" -le 12 ] || { failures=$((failures + 1)); echo "FAILED: a message of $(wc -l <said) lines"; }
says 1 "made by weft-compile --train or --keep-weights" weft-run gpt --resume ck --input input_ids=ids.npy

says 2 "--timeout wants more than 0 seconds" weft-run mlp --timeout 0

# Few words where they are asked for: results only; every K-th step, the first and the last.
silent '^weft' weft-run mlp -q --input x=x8.npy
says 0 '^2$' bash -c "weft-run train -q --data-tokens text:byte --steps 20 --log-every 100 | grep -c '^step'"
# Colours on a terminal, but where NO_COLOR says so, and where nobody looks.
terminal=(python3 "$(dirname "$0")/on-terminal.py")
for tool in weft-compile weft-run; do
  for there in TERM=xterm 'TERM=xterm NO_COLOR='; do
    # shellcheck disable=SC2086 # several variables
    says 2 $'\x1b\\[1;31merror: \x1b\\[0m.*--frobnicate' env -u NO_COLOR $there "${terminal[@]}" $tool --frobnicate
  done
  for there in TERM=dumb 'TERM=xterm NO_COLOR=1'; do
    # shellcheck disable=SC2086
    says 2 ': error: .*--frobnicate' env -u NO_COLOR $there "${terminal[@]}" $tool --frobnicate
  done
  says 2 ': error: .*--frobnicate' env -u NO_COLOR TERM=xterm $tool --frobnicate
done
silent $'\x1b' weft-run mlp --input x=x8.npy

echo "$checks mistakes, $failures answered badly"
[ $failures -eq 0 ] && [ $checks -ge 190 ]
