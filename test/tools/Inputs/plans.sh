#!/usr/bin/env bash
# Plans by hand: a table of texts, of what the program is made with, or of exit codes and words.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
cd "$1" || exit 1
failures=0 checks=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n  plan: %s\n' "$1" "$(tr '\n' ' ' <plan.textproto)"
  head -12 said | sed 's/^/  | /'
}
# obeys 'PLAN' 'LAYOUT' [FLAG...]: with it and the flags both tools make what LAYOUT, as flags, makes without a plan.
obeys() {
  checks=$((checks + 1))
  printf '%b' "$1" >plan.textproto
  local layout=$2 mesh
  shift 2
  weft-compile "${model[@]}" --plan plan.textproto "$@" --compile-to staged -o planned.mlir >said 2>&1 || { fail refused; return; }
  # shellcheck disable=SC2086
  weft-compile "${model[@]}" $layout --compile-to staged -o flagged.mlir >said 2>&1 || { fail "'$layout' is refused"; return; }
  diff <(strip planned.mlir) <(strip flagged.mlir) >said || { fail "makes something else than '$layout'"; return; }
  # Of a plan that leaves the mesh open weft-plan chooses one.
  grep -q mesh plan.textproto || return
  checks=$((checks + 1))
  weft-plan "${model[@]}" --plan plan.textproto "$@" --json >planned.json 2>said || { fail "weft-plan refuses"; return; }
  mesh=$(sed -n 's/.*--mesh \([^ ]*\).*/\1/p' <<<"$layout")
  # shellcheck disable=SC2086
  weft-plan "${model[@]}" --evaluate ${mesh:-none} ${layout/--mesh $mesh/} --json >flagged.json 2>said
  diff planned.json flagged.json >said || fail "weft-plan says something else than of '$layout'"
}
# refuses CODE 'REGEX' 'PLAN' [FLAG...]: by both tools, with that exit code and a line like that.
refuses() {
  local code=$1 words=$2 tool
  printf '%b' "$3" >plan.textproto
  shift 3
  for tool in weft-compile weft-plan; do
    checks=$((checks + 1))
    local more=()
    [ $tool = weft-compile ] && more=(--dry-run)
    $tool "${model[@]}" --plan plan.textproto "$@" "${more[@]}" >said 2>&1 </dev/null
    local found=$?
    [ $found -eq "$code" ] && grep -qE -- "$words" said || fail "$tool: exit code $found, expected $code and a line like: $words"
  done
}
# Flags are written down in the order in which they were given.
strip() { sed 's/weft.flags = \[[^]]*\]//' "$1"; }

weft-translate --build gpt2:layers=4,hidden=32,heads=4,vocab=128,seq=16 --no-weights -o gpt.onnx 2>/dev/null || exit 1
model=(gpt.onnx --bind batch=8,seq=16 --train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.01)

# What a plan does not say is as without it.
obeys '' ''
obeys '# nothing but what it was made for\nmodel: "gpt.onnx" cluster: "h100" predicted { step_seconds: 1 memory_bytes: 2 }' ''
obeys 'mesh: ""' ''
obeys 'mesh: "dp=2"' '--mesh dp=2'
obeys 'microbatches: 4' '--microbatches 4'
obeys 'recompute: "full"' '--recompute full'
obeys 'mesh: "dp=2"' '--mesh dp=2 --zero 1' --zero 1
# Fields in any order, on one line, with what it was made for.
obeys 'zero: "3", mesh: "dp=2,tp=2"; devices: 4' '--mesh dp=2,tp=2 --zero 3'
obeys 'mesh: "tp=2,dp=2"' '--mesh tp=2,dp=2'
obeys 'mesh: "a=2,b=2" batch_axes: "a" place: "h.0.mlp.c_fc.weight=dim1:b"' '--mesh a=2,b=2 --batch-axes a --place h.0.mlp.c_fc.weight=dim1:b'
obeys 'mesh: "dp=2,tp=2" sequence_parallel: true' '--mesh dp=2,tp=2 --sequence-parallel on'
obeys 'mesh: "pp=2,dp=2" microbatches: 4 schedule: "zb-h1" zero: "1"' '--mesh pp=2,dp=2 --microbatches 4 --schedule zb-h1 --zero 1'
obeys 'mesh: "pp=4" microbatches: 8 schedule: "gpipe" recompute: "selective"' '--mesh pp=4 --microbatches 8 --schedule gpipe --recompute selective'
# What is said of values before there is a mesh; the command line may say the mesh.
obeys 'place: "h.0.mlp.c_fc.weight=dim0:tp"' '--mesh tp=2 --place h.0.mlp.c_fc.weight=dim0:tp' --mesh tp=2
obeys 'mesh: "pp=2" microbatches: 4 schedule: "1f1b" stages: "blocks:1,3"' '--mesh pp=2 --microbatches 4 --schedule 1f1b --stages blocks:1,3'
# Uneven parts of the batch, with a warning.
obeys 'mesh: "dp=2" microbatches: 3' '--mesh dp=2 --microbatches 3'
# Said twice alike.
obeys 'mesh: "dp=2" microbatches: 2' '--mesh dp=2 --microbatches 2' --microbatches 2

# No plan: the line, and what belongs there.
refuses 1 "line 2: .*chunks" 'mesh: "dp=2"\nchunks: 3\n'
refuses 1 "line 2: Expected string, got: 3" 'mesh: "pp=2"\nstages: 3\n'
refuses 1 "--plan 'plan.textproto': .*--stages.*'x' is no number of blocks; write blocks:5,7" 'mesh: "pp=2" stages: "blocks:2,x"'
refuses 1 "--stages says where 2 blocks go, but the model repeats 4 blocks; write blocks:2,2" 'mesh: "pp=2" microbatches: 2 stages: "blocks:1,1"'
refuses 1 "line 1: 'microbatches' must be a whole number from 1" 'microbatches: 0'
refuses 1 "line 1: Expected integer, got: .two" 'microbatches: "two"'
refuses 1 "line 2: .*zero" 'zero: "1"\nzero: "2"'
refuses 1 "line 1: Unexpected end of string" 'mesh: "dp=2'
refuses 1 "line 1: Invalid value for boolean field \"sequence_parallel\"" 'sequence_parallel: perhaps'
refuses 1 "devices is 8, and mesh 'dp=2,tp=2' has 4; change one of them" 'devices: 8 mesh: "dp=2,tp=2"'
# As flags are.
refuses 1 "--plan 'plan.textproto': .*axis 'dp' is given twice" 'mesh: "dp=2,dp=2"'
refuses 1 "--plan 'plan.textproto': .*size of axis 'dp' must be a positive integer, found 'x'" 'mesh: "dp=x"'
refuses 1 "--plan 'plan.textproto': .*--zero .*'4'" 'mesh: "dp=2" zero: "4"'
refuses 1 "--plan 'plan.textproto': .*--recompute .*'all'" 'recompute: "all"'
refuses 1 "--plan 'plan.textproto': .*--schedule.*'zb-h3'.*did you mean 'zb-h[12]'" 'mesh: "pp=2" microbatches: 4 schedule: "zb-h3"'
refuses 2 "--zero 1 splits state over the axes of the batch" 'mesh: "tp=2" zero: "1"'
refuses 2 "--batch-axes: --mesh 'dp=2' has no axis 'data'" 'mesh: "dp=2" batch_axes: "data"'
refuses 2 "--schedule is for the stages of a pipeline, and there are none" 'mesh: "dp=2" schedule: "zb-h1"'
# What contradicts itself, or the model.
refuses 1 "axis 'tp' is not on the mesh" 'mesh: "dp=2" place: "h.0.mlp.c_fc.weight=dim1:tp"'
refuses 1 "placement 'h.9.mlp=dim1:dp' matches no value; did you mean 'h.0.mlp'" 'mesh: "dp=2" place: "h.9.mlp=dim1:dp"'
refuses 1 "axis dp=64 splits nothing: there are at most 8 parts to share among its 64 processes; make it smaller or leave it out, or let its processes repeat the work of others with --allow-idle-axes" 'mesh: "dp=64"'
# What flags say otherwise.
refuses 2 "--plan 'plan.textproto' says --microbatches 4, and --microbatches 2 is given; leave one of them out" 'microbatches: 4' --microbatches 2
refuses 2 "says --zero 1, and --zero 3 is given" 'mesh: "dp=2" zero: "1"' --zero 3
refuses 2 "says --sequence-parallel on, and --sequence-parallel off is given" 'mesh: "tp=2" sequence_parallel: true' --sequence-parallel off

# On one processor it is the same plan as on two.
all=$(taskset -pc $$ | sed 's/.*: //') one=${all%%[,-]*}
if [ "$one" = "$all" ]; then
  echo "skipped: there is one processor, so that no plan of several is compared with that of one"
else
  for cpus in "$one" "$all"; do
    taskset -c "$cpus" weft-plan "${model[@]}" --cluster h100 --devices 4 -o "on-$cpus.textproto" >/dev/null 2>said || fail "no plan"
  done
  cmp "on-$one.textproto" "on-$all.textproto" || fail "another plan"
fi

[ $checks -ge 77 ] || { echo "FAILED: only $checks checks"; failures=1; }
echo "$checks checks, $failures failed"
[ $failures -eq 0 ]
