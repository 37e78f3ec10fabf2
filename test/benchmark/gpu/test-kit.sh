#!/usr/bin/env bash
# Tests of the kit that need no GPU: test-kit.sh host-checks|emulated|no-device|failing-parts|report|graphs|plans KIT
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kit=$2
[ -x "$kit/kit-report" ] || { echo "skipped: no kit in $kit (make-kit.sh says what it lacked)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" && return
  echo "FAILED: $what"
  failures=$((failures + 1))
}
has() { grep -qF -- "$2" "$1" || { echo "no '$2' in:"; cat "$1"; false; }; }
lacks() { ! grep -qE -- "$2" "$1"; }

case $1 in
  host-checks)
    expect "references and conventions" "$kit.build/host-checks"
    ;;

  emulated)
    # The programs on a device that is the host: everything must be called right, and every planted fault wrong.
    programs=$kit.build/emulated
    export WEFT_KIT_LIBRARY_PATH=$programs
    run() { # PROGRAM FAULT ARGUMENTS...: its exit code, results in $work/PROGRAM.json
      local program=$1 fault=$2
      shift 2
      WEFT_EMULATED_FAULT=$fault "$programs/$program" "$@" --json "$work/$program.json" > "$work/$program.log" 2>&1
    }
    verdict() { # PROGRAM RESULT: the status of one result
      awk -v name="$2: " 'index($0, name) == 1 { split(substr($0, length(name) + 1), words, ","); print words[1]; exit }' \
        "$work/$1.log"
    }
    sees() { # PROGRAM FAULT RESULT ARGUMENTS...
      local program=$1 fault=$2 name=$3
      shift 3
      run "$program" "$fault" "$@"
      expect "$program says that it failed ($fault)" [ $? -eq 1 ]
      local found
      found=$(verdict "$program" "$name")
      expect "fault '$fault' shows in '$name', not '$found'" [ "$found" = wrong -o "$found" = failed ]
    }
    ceilings=(--largest 64)
    gemms=(--shrink 16 --layer gpt2-124m/fc)
    run ceilings none "${ceilings[@]}"
    expect "ceilings is right without a fault" [ $? -eq 0 ]
    expect "all of it ran" [ "$(grep -c ': ok' "$work/ceilings.log")" -eq 17 ]
    for fault in copy:"copy by memcpy" copy:"copy by kernel" read:"read by kernel" write:"write by kernel" \
      gemm-operand:"GEMM fp64 64^3" gemm-tail:"GEMM bf16 64^3" launch:"launch, host time" \
      launch:"graph of 200 launches, device time"; do
      sees ceilings "${fault%%:*}" "${fault#*:}" "${ceilings[@]}"
    done
    run gemms none "${gemms[@]}"
    expect "gemms is right without a fault" [ $? -eq 0 ]
    expect "all of it ran" [ "$(grep -c ': ok' "$work/gemms.log")" -eq 13 ]
    expect "an algorithm that is refused is passed over" has "$work/gemms.json" '"algorithms": 2'
    sees gemms gemm-bias "gpt2-124m/fc forward gelu_aux_bias" "${gemms[@]}"
    sees gemms gemm-bgrad "gpt2-124m/fc weight gradient bgradb" "${gemms[@]}"
    sees gemms gemm-tail "gpt2-124m/fcproj input gradient dgelu_bgrad" "${gemms[@]}"

    # Here cuDNN is an interpreter of single operations, so that the graphs themselves are compared with the reference.
    run attention none --small
    expect "attention is right without a fault" [ $? -eq 0 ]
    expect "all of it ran" [ "$(grep -c ': ok' "$work/attention.log")" -eq 23 ]
    sees attention cudnn-mask "backward D16 T16 B2 heads 8/2 causal" --small
    sees attention cudnn-heads "forward D16 T32 B1 heads 16/2 causal" --small
    sees attention cudnn-product "backward D16 T16 B2 heads 4/4 full" --small

    collectives=(--divisor 256 --limit 60)
    run collectives none "${collectives[@]}"
    expect "collectives are right without a fault" [ $? -eq 0 ]
    expect "all of them ran" [ "$(grep -c ': ok' "$work/collectives.log")" -eq 43 ]
    sees collectives nccl-sum "2 ranks all_reduce bf16 256 B" "${collectives[@]}"
    sees collectives nccl-order "4 ranks all_gather bf16 64 KiB" "${collectives[@]}"
    sees collectives nccl-root "4 ranks broadcast bf16 64 KiB" "${collectives[@]}"
    start=$SECONDS
    sees collectives nccl-hang "2 ranks all_gather bf16 64 KiB" --divisor 256 --limit 8
    expect "ranks that hang are ended in time, not after $((SECONDS - start)) s" [ $((SECONDS - start)) -le 20 ]
    expect "and it says why" has "$work/collectives.log" "ended by its parent at the time limit"
    expect "what came before is kept" [ "$(verdict collectives "2 ranks all_reduce bf16 256 B")" = ok ]
    sees collectives nccl-die "2 ranks all_gather bf16 64 KiB" "${collectives[@]}"
    expect "a rank that dies is named" has "$work/collectives.log" "rank 1: ended with exit code 9"
    sees collectives nccl-error "2 ranks all_gather bf16 64 KiB" "${collectives[@]}"
    expect "a rank's error is told" has "$work/collectives.log" "emulated error; planted"
    expect "no rank is left" [ -z "$(pgrep -f "$programs/collectives")" ]
    ;;

  no-device)
    # With a GPU this machine would measure instead, which is not a test's business.
    "$kit/probe" > "$work/probe.log" 2>&1
    [ $? -eq 77 ] || { echo "skipped: this machine has a usable GPU"; cat "$work/probe.log"; exit 77; }
    for program in probe ceilings gemms attention collectives mlir_kernel; do
      "$kit/$program" --json "$work/$program.json" > "$work/$program.log" 2>&1
      code=$?
      expect "$program exits 77 without a device, not $code" [ $code -eq 77 ]
      expect "$program says so" has "$work/$program.log" "no device: "
      expect "$program's JSON says so" has "$work/$program.json" '"status": "no-device"'
      expect "$program's JSON has no result" has "$work/$program.json" '"results": []'
    done
    for script in torch_kernels torch_train; do
      python3 "$kit/$script.py" --json "$work/$script.json" > "$work/$script.log" 2>&1
      code=$?
      expect "$script ends in order, not with $code" [ $code -eq 1 -o $code -eq 77 ]
      expect "$script's JSON says that nothing was measured" has "$work/$script.json" '"results": []'
      expect "$script says why" grep -qE "cannot import torch|torch sees no CUDA device|torch cannot use" "$work/$script.log"
    done
    expect "an unknown part is refused" [ "$("$kit/run.sh" --only x -o "$work/x" 2>&1 | grep -c 'unknown part')" = 1 ]
    "$kit/run.sh" --only a,g -o "$work/out" > "$work/run.log" 2>&1
    expect "run.sh runs what was asked for" has "$work/run.log" "== part a"
    expect "and nothing else" lacks "$work/run.log" "== part [bcdef]"
    expect "its summary says that there is no device" has "$work/run.log" "(a) Ceilings: no-device"
    expect "its JSON too" has "$work/out/results.json" '"status": "not asked for"'
    ;;

  failing-parts)
    # Parts replaced by ones that hang, crash, write half a JSON, or are missing: the others must still be reported.
    cat > "$work/hang.sh" <<'END'
echo '{"part":"g","status":"running","results":[{"name":"kept","status":"ok","ms":{"median":1}}]}' > "$2"
trap '' TERM
while true; do sleep 1; done
END
    echo 'kill -SEGV $$' > "$work/crash.sh"
    echo 'printf "{\"part\":\"c\"," > "$2"; echo "the last words"; exit 3' > "$work/half.sh"
    echo 'echo "{\"part\":\"b\",\"status\":\"ok\",\"results\":[]}" > "$2"' > "$work/good.sh"
    export WEFT_KIT_PART_g="bash $work/hang.sh" WEFT_KIT_PART_a="bash $work/crash.sh" WEFT_KIT_PART_c="bash $work/half.sh"
    export WEFT_KIT_PART_b="bash $work/good.sh" WEFT_KIT_PART_d="$work/missing" WEFT_KIT_PART_f="bash $work/good.sh"
    start=$SECONDS
    "$kit/run.sh" --only a,b,c,d,f,g --seconds 12 -o "$work/out" > "$work/run.log" 2>&1
    took=$((SECONDS - start))
    cat "$work/run.log"
    expect "all of it within its time, not $took s" [ $took -le 25 ]
    summary="$work/summary"
    "$kit/kit-report" summary "$work/out/results.json" > "$summary"
    expect "the hanging part was ended" has "$summary" "(g) Kernels made by mlir-opt: ended at its time limit"
    expect "and keeps what it had" has "$summary" "kept: 1.00 ms"
    expect "parts after the time was up are named" has "$summary" "not run, no time was left"

    export WEFT_KIT_PART_g="bash $work/good.sh"
    "$kit/run.sh" --only a,b,c,d,f,g --seconds 60 -o "$work/out" > "$work/run.log" 2>&1
    "$kit/kit-report" summary "$work/out/results.json" > "$summary"
    expect "a crash is named" has "$summary" "(a) Ceilings: died, it wrote no JSON; exit code 139"
    expect "half a JSON is none" has "$summary" "(c) cuDNN attention: died, it wrote no JSON; exit code 3; its log ends: the last words"
    expect "a missing program is named" has "$summary" "(d) PyTorch's memory-bound kernels: died, it wrote no JSON; exit code 127"
    expect "the others are in order" has "$summary" "(b) cuBLASLt on the models' shapes: ok"
    ;;

  report)
    sample=$here/report/sample-results.json
    expect "the sample is marked" has "$sample" '"sample": true'
    expect "tables are made" "$kit/kit-report" table "$sample" -o "$work/sample.md"
    expect "they say what they are" has "$work/sample.md" "**SAMPLE: made-up input of a test. Nothing here was measured.**"
    expect "they are the expected ones" diff "$here/report/sample-tables.md" "$work/sample.md"
    echo '{"anything": 1}' > "$work/other.json"
    expect "another JSON is refused" [ "$("$kit/kit-report" table "$work/other.json" 2>&1)" = "kit-report: not a results.json of the GPU kit" ]
    echo '{"kit": ' > "$work/half.json"
    "$kit/kit-report" table "$work/half.json" -o "$work/half.md" 2> "$work/half.log"
    expect "half a JSON is an error and writes nothing" [ $? -eq 1 -a ! -e "$work/half.md" ]
    # Until the kit has run, the committed page is the one that holds no figure.
    "$kit/kit-report" not-run > "$work/not-run.md"
    page=$here/../../../docs/gpu-results.md
    generated() { cmp -s "$page" "$work/not-run.md" || grep -q '^Generated by `kit-report table`' "$page"; }
    expect "the page is generated" generated
    expect "and no sample" lacks "$page" SAMPLE
    ;;

  graphs)
    # cuDNN finalizes operation graphs without a device: a graph that it would refuse is seen here, not in a GPU's minutes.
    "$kit/attention" --graphs > "$work/graphs.log" 2>&1
    code=$?
    cat "$work/graphs.log"
    grep -q "cannot open libcudnn" "$work/graphs.log" && { echo "skipped: no cuDNN here"; exit 77; }
    expect "every graph is accepted" [ $code -eq 0 ]
    expect "forward graphs" [ "$(grep -c '^forward.*operations' "$work/graphs.log")" -ge 10 ]
    expect "backward graphs" [ "$(grep -c '^backward.*operations' "$work/graphs.log")" -ge 10 ]
    ;;

  plans)
    # With saved device properties and a driver that runs nothing, cuDNN chooses engines for the graphs and compiles them:
    # a pattern that it would not take for flash attention ends here. The properties are those that part c saved on an H200.
    [ -e "$kit.build/emulated/libcuda.so.1" ] || { echo "skipped: no stub of the driver in this toolkit"; exit 77; }
    mkdir "$work/driver"
    cp "$kit.build/emulated/libcuda.so.1" "$work/driver"
    for shape in "D128 T4096 B4 heads 32/8" "D64 T1024" "heads 16/16 full"; do
      LD_LIBRARY_PATH=$work/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$kit/attention" --graphs --shape "$shape" \
        --properties "$here/emulation/h200.json" > "$work/plans.log" 2>&1
      code=$?
      cat "$work/plans.log"
      grep -q "cannot open libcudnn" "$work/plans.log" && { echo "skipped: no cuDNN here"; exit 77; }
      expect "plans of $shape are built" [ $code -eq 0 ]
      expect "forward and backward" [ "$(grep -c ', plan [0-9]' "$work/plans.log")" -eq 2 ]
    done
    ;;

  *) echo "usage: test-kit.sh host-checks|emulated|no-device|failing-parts|report|graphs|plans KIT" >&2; exit 2 ;;
esac
echo "$failures failed"
[ $failures -eq 0 ]
