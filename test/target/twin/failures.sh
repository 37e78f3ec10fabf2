#!/bin/bash
# Whatever fails of NVIDIA's libraries, a training on an emulated GPU ends with one error that names it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: failures.sh BIN EMULATED TEXT       the libraries' folder, a text to train on
set -uo pipefail
bin=$1 emulated=$2 text=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 checks=0 without=()
mkdir "$work/empty"
export WEFT_DEVICE=cuda WEFT_CUDA_PATH=$emulated
compile() {
  env -u WEFT_CUDA_PATH -u WEFT_DEVICE "$bin/weft-compile" -q "$work/gpt.onnx" --bind batch=4,seq=8 --target cuda:host --train \
    --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.003,clip=0.5 "$@" || exit 1
}
"$bin/weft-translate" --build gpt2:layers=1,hidden=16,heads=2,vocab=256,seq=8 -o "$work/gpt.onnx" > "$work/log" || exit 1
compile -o "$work/one"
compile --precision bf16 --attention whole -o "$work/attention"
compile --mesh dp=2 --zero 1 -o "$work/two"

# ends PROGRAM CODE ERROR VARIABLE=VALUE..: with the exit code, one error, and nothing else that is called one
ends() {
  local program=$1 code=$2 error=$3 found
  shift 3
  checks=$((checks + 1))
  timeout 120 "${without[@]}" env "$@" "$bin/weft-run" "$work/$program" --data-tokens "$text:byte" --steps 4 > "$work/log" 2>&1
  found=$?
  [ "$found" = "$code" ] && [ "$(grep -c 'error:' "$work/log")" = 1 ] && grep -qE "error: .*$error" "$work/log" && return
  failures=$((failures + 1))
  printf 'FAILED (%s, expected %s): %s of %s: %s\n' "$found" "$code" "$error" "$program" "$*"
  tail -4 "$work/log"
}
# fails PROGRAM CODE NAME SYMBOL:CALL..: calls that fail with an error of the library
fails() {
  local program=$1 code=$2 name=$3 number=${3##*(} call exit
  shift 3
  number=${number%)*}
  for call in "$@"; do
    ends "$program" "$code" "failed at .*: ${name//[()]/.}" "WEFT_EMULATED_FAILURE=$call:$number"
  done
}

# Each function of the driver, as it is first called, and some of them later.
fails one 1 'CUDA_ERROR_NO_DEVICE (100)' cuInit:1 cuDriverGetVersion:1 cuDeviceGetCount:1 cuDeviceGetUuid:1 cuDevicePrimaryCtxRetain:1
fails one 1 'CUDA_ERROR_INVALID_HANDLE (400)' cuCtxSetCurrent:1 cuMemGetInfo:1 cuStreamCreate:1 cuStreamCreate:2 cuEventCreate:1 cuEventCreate:3 \
  cuModuleGetFunction:1 cuEventRecord:1 cuEventRecord:9 cuEventSynchronize:1 cuEventElapsedTime:1
fails one 1 'CUDA_ERROR_INVALID_IMAGE (200)' cuModuleLoadData:1 cuModuleLoadData:5
fails one 5 'CUDA_ERROR_OUT_OF_MEMORY (2)' cuMemAlloc:1 cuMemHostAlloc:1 cuMemHostAlloc:2 cuLaunchKernel:4
# Of the GPU itself: the same may do on another try.
fails one 6 'CUDA_ERROR_LAUNCH_FAILED (719)' cuMemsetD2D8Async:1 cuMemcpyHtoDAsync:1 cuMemcpyHtoDAsync:5 cuMemcpyDtoHAsync:1 cuStreamSynchronize:1 \
  cuStreamSynchronize:4 cuLaunchKernel:1 cuLaunchKernel:20 cuStreamQuery:1 cuStreamQuery:2 cuGraphLaunch:1 cuGraphLaunch:2
# So weft-run does try again.
checks=$((checks + 1))
WEFT_EMULATED_FAILURE=cuGraphLaunch:1:719 "$bin/weft-run" "$work/one" --data-tokens "$text:byte" --steps 4 --save "$work/saved" \
  --max-restarts 1 > "$work/log" 2>&1
[ $? = 6 ] && grep -q 'restart 1 of 1: .*CUDA_ERROR_LAUNCH_FAILED' "$work/log" && grep -q 'failed after 1 restarts' "$work/log" ||
  { failures=$((failures + 1)) && echo "FAILED: a restart after a GPU's failure" && tail -4 "$work/log"; }
fails two 1 'CUDA_ERROR_INVALID_HANDLE (400)' cuStreamWaitEvent:1 cuStreamWriteValue32:1 cuMemHostGetDevicePointer:1
# cuBLASLt and NCCL.
fails one 1 'CUBLAS_STATUS_NOT_SUPPORTED (15)' cublasLtMatmulAlgoGetHeuristic:1 cublasLtMatmulAlgoGetHeuristic:3 cublasLtMatmul:1 cublasLtMatmul:9
fails one 1 'CUBLAS_STATUS_INVALID_VALUE (7)' cublasLtCreate:1
fails two 1 'invalid usage (5)' ncclGetVersion:1 ncclGetUniqueId:1 ncclCommInitRankConfig:1 ncclCommInitRankConfig:2 ncclCommGetAsyncError:1 \
  ncclCommGetAsyncError:20 ncclGroupStart:1 ncclGroupEnd:2 ncclAllReduce:1 ncclReduceScatter:1 ncclAllGather:1
# At work, not when they meet.
ends two 6 'NCCL failed at work of a group: unhandled system error \(2\)' WEFT_EMULATED_NCCL=fault:1:2
# cuDNN.
fails attention 1 'CUDNN_STATUS_NOT_SUPPORTED (3000)' cudnnCreate:1 cudnnBackendFinalize:1 cudnnBackendFinalize:60 cudnnBackendExecute:1
fails attention 1 'an error that it has no text for (5000)' cudnnBackendExecute:2
# A way that cuDNN cannot go leaves the next one; without any it says what it does not do.
checks=$((checks + 1))
WEFT_EMULATED_CUDNN_REFUSES=1 "$bin/weft-run" "$work/attention" --data-tokens "$text:byte" --steps 4 > "$work/log" 2>&1 ||
  { failures=$((failures + 1)) && echo "FAILED: the second advice of cuDNN" && tail -4 "$work/log"; }
ends attention 1 'cuDNN 9\.19\.0 does not do causal attention in bf16 of 4 sequences, 2 heads of 8 \(2 of keys\), 8 queries and 8 keys on this GPU; compile the model with --attention decomposed: cuDNN failed at planning a graph: CUDNN_STATUS_NOT_SUPPORTED' \
  WEFT_EMULATED_CUDNN_REFUSES=2
# Of any of these no graph is made; the step goes on without.
for call in cuStreamBeginCapture:1:900 cuStreamEndCapture:1:901 cuGraphGetNodes:1:1 cuGraphInstantiate:1:2 cuEventRecordWithFlags:1:1; do
  checks=$((checks + 1))
  env "WEFT_EMULATED_FAILURE=$call" "$bin/weft-run" "$work/one" --data-tokens "$text:byte" --steps 4 > "$work/log" 2>&1 &&
    grep -q 'step: commands are issued one by one, as they make no CUDA graph: the CUDA driver failed at ' "$work/log" && continue
  failures=$((failures + 1))
  echo "FAILED: $call"
  tail -4 "$work/log"
done

# A library that is not there, is another one, or is too old.
for library in cuda:1 cublasLt:13 cudnn:9 nccl:2; do
  program=two
  [ "$library" = cudnn:9 ] && program=attention
  name=lib${library%:*}.so.${library#*:}
  mkdir -p "$work/$name"
  cp -P "$emulated"/lib*.so* "$work/$name"
  rm "$work/$name/lib${library%:*}".so*
  # The machine's own lies under an empty folder.
  own=$(ldconfig -p | sed -n "s/^[[:space:]]*$name .*=> //p" | head -1)
  if [ -z "$own" ]; then
    without=()
  else
    # shellcheck disable=SC2016 # for the shell within
    without=(unshare --mount bash -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$work/empty" "$(dirname "$(readlink -f "$own")")")
  fi
  if "${without[@]}" true 2> /dev/null; then
    ends $program 1 "cannot be opened \(.*$work/$name/$name: .*\); install .*, or set WEFT_CUDA_PATH" "WEFT_CUDA_PATH=$work/$name"
  else
    echo "SKIPPED: a machine without $name, this one has it and does not hide it"
  fi
  without=()
  # The loader has one of each name: its own is another library's here.
  printf 'int weft_other;\n' | cc -shared -fPIC -x c - -Wl,-soname,"$name" -o "$work/$name/$name" || exit 1
  ends $program 1 ' has no (cu|nccl|cublasLt|cudnn)[A-Z][A-Za-z]*; Weft needs' "WEFT_CUDA_PATH=$work/$name"
done
ends one 1 'the CUDA driver is of CUDA 11\.8; Weft needs one of CUDA 12 or newer' WEFT_EMULATED_VERSION=11080
ends two 1 'the NCCL that was found is 2\.17; Weft needs 2\.18 or newer' WEFT_EMULATED_NCCL_VERSION=21700
for version in 91000:9.10.0 91001:9.10.1 91400:9.14.0; do
  ends attention 1 "the cuDNN that was found is ${version#*:}, whose attention has faults; Weft needs cuDNN 9.10.2 or newer of cuDNN 9, but not 9.14.0" \
    "WEFT_EMULATED_CUDNN=${version%:*}"
done
# Libraries take memory behind the arena.
ends two 5 'NCCL failed at joining a group: unhandled cuda error \(1\).*; the GPU has .* of .* left; use more ranks per model copy' \
  WEFT_EMULATED_MEMORY=67108864 WEFT_EMULATED_FAILURE=ncclCommInitRankConfig:1:1
fails one 5 'CUBLAS_STATUS_ALLOC_FAILED (3)' cublasLtCreate:1
ends one 5 'the program needs .* on GPU 0, which has .* of .* available' WEFT_EMULATED_MEMORY=65536
ends two 1 'the machine has 1 GPUs for 2 ranks' WEFT_EMULATED_GPUS=1
ends one 1 'the machine has 0 GPUs for 1 ranks' WEFT_EMULATED_GPUS=0
echo "$checks failures of libraries, $failures not told as they should be"
exit $((failures > 0))
