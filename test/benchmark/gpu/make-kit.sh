#!/usr/bin/env bash
# Builds the GPU kit into one folder, on a machine without a GPU; README.md says how it is used.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
usage="usage: make-kit.sh [-o FOLDER] [-j JOBS] [--weft BIN]
  -o FOLDER  where the kit goes (default: gpu-kit here); objects are kept beside it, in FOLDER.build
  -j JOBS    compilers at a time (default: all processors)
  --weft BIN the folder of weft-compile, onnx-node .., for parts h and i: without it the kit has neither
Needs the CUDA toolkit with cuDNN's and NCCL's headers (CUDA_HOME, or nvcc on the PATH, or /usr/local/cuda), g++,
nlohmann-json and mlir-opt-22. Exit code 77: one of them is missing, and is named."
folder=gpu-kit
jobs=$(nproc)
weft=
while [ $# -gt 0 ]; do
  case "$1" in
    -o) folder=${2:?$usage}; shift ;;
    -j) jobs=${2:?$usage}; shift ;;
    --weft) weft=$(cd "${2:?$usage}" && pwd); shift ;;
    -h|--help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder" "$folder.build"
folder=$(cd "$folder" && pwd)
objects=$folder.build
limit_bytes=$((48 * 1000 * 1000))

# --- What it is built with ---------------------------------------------------------------------------------------------
missing=()
cuda=${CUDA_HOME:-}
if [ -z "$cuda" ]; then
  nvcc_path=$(command -v nvcc || true)
  [ -n "$nvcc_path" ] && cuda=$(dirname "$(dirname "$(readlink -f "$nvcc_path")")") || cuda=/usr/local/cuda
fi
for tool in nvcc ptxas; do [ -x "$cuda/bin/$tool" ] || missing+=("$cuda/bin/$tool"); done
for header in cuda_runtime.h cublasLt.h cudnn.h nccl.h; do
  found=
  for place in "$cuda/include" /usr/include "/usr/include/$(uname -m)-linux-gnu"; do
    [ -e "$place/$header" ] && found=1
  done
  [ -n "$found" ] || missing+=("$header")
done
command -v g++ > /dev/null || missing+=(g++)
echo '#include <nlohmann/json.hpp>' | g++ -std=c++17 -fsyntax-only -xc++ - 2> /dev/null || missing+=("nlohmann/json.hpp")
mlir_opt=
for candidate in "${MLIR_OPT:-}" mlir-opt-22 /usr/lib/llvm-22/bin/mlir-opt; do
  [ -n "$candidate" ] && command -v "$candidate" > /dev/null && mlir_opt=$candidate && break
done
[ -n "$mlir_opt" ] || missing+=(mlir-opt-22)
if [ ${#missing[@]} -gt 0 ]; then
  echo "make-kit: skipped, not found: ${missing[*]}"
  exit 77
fi

# --- Objects: each is rebuilt when its source or any header is newer ---------------------------------------------------
# What emulates cuDNN for the runtime's tests, too, knows the runtime's declarations of it.
tree=$(cd "$here/../../.." && pwd)
optimize=(-std=c++17 -O1 -Wall -Wextra -Werror -I"$here" -I"$tree/test" -I"$tree/runtime/include" -I"$tree/runtime/lib" -isystem "$cuda/include")
# For sm_80 and sm_90a machine code, for later devices PTX that their driver compiles.
devices=(-gencode "arch=compute_80,code=[sm_80,compute_80]" -gencode "arch=compute_90a,code=sm_90a")
newest_header=$(ls -t "$here"/*/*.h "$tree"/test/emulation/cuda/*.h "$here/make-kit.sh" | head -1)
launcher=$(command -v ccache || true)

compile() { # SOURCE
  local source=$1 object level=()
  object=$objects/$(basename "$source").o
  [ "$object" -nt "$source" ] && [ "$object" -nt "$newest_header" ] && return 0
  case "$source" in
    *.cu) "$cuda/bin/nvcc" -std=c++17 -O3 "${devices[@]}" -Xcompiler=-Wall,-Wextra -Werror all-warnings -I"$here" \
            -c "$source" -o "$object" ;;
    # References do billions of operations: they are worth more of the compiler's time.
    */AttentionReference.cpp|*/Gemm.cpp) $launcher g++ "${optimize[@]}" -O3 -c "$source" -o "$object" ;;
    # The libraries among them are shared ones.
    */emulation/*) $launcher g++ "${optimize[@]}" -O2 -fPIC -c "$source" -o "$object" ;;
    *) $launcher g++ "${optimize[@]}" -c "$source" -o "$object" ;;
  esac
}

kernel() { # NAME CHIP: mlir/NAME.mlir -> kernels/NAME.CHIP.cubin
  local name=$1 chip=$2 source=$here/mlir/$1.mlir stem=$objects/$1.$2
  local cubin=$folder/kernels/$name.$chip.cubin
  [ "$cubin" -nt "$source" ] && [ "$cubin" -nt "$here/lower.sh" ] && return 0
  MLIR_OPT=$mlir_opt "$here/lower.sh" "$chip" "$source" > "$stem.ptx"
  grep -q "entry $name" "$stem.ptx" || { echo "make-kit: no kernel '$name' in $stem.ptx" >&2; return 1; }
  # C75xx: the assembler serialised matrix instructions or ignored a register request, and says only that.
  if ! "$cuda/bin/ptxas" -arch="$chip" -v "$stem.ptx" -o "$cubin" 2> "$stem.log" || grep -q 'C75[0-9][0-9]' "$stem.log"; then
    cat "$stem.log" >&2
    rm -f "$cubin"
    return 1
  fi
}

mkdir -p "$folder/kernels"
start=$SECONDS
common=(Check Report Library Device Gemm CublasLt Cudnn AttentionGraph AttentionReference CollectiveReference Nccl)
sources=("$here/common/Kernels.cu")
for name in "${common[@]}"; do sources+=("$here/common/$name.cpp"); done
sources+=("$here"/parts/*.cpp "$here"/report/*.cpp "$here"/unit/*.cpp "$here"/emulation/*.cpp)
failed=0
running=0
for source in "${sources[@]}"; do
  if [ "$running" -ge "$jobs" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  compile "$source" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
[ "$failed" -eq 0 ] || { echo "make-kit: compilation failed" >&2; exit 1; }
kernel mma_sync sm_80
kernel mma_sync sm_90a
kernel wgmma sm_90a

# --- Programs: whatever the other side may lack is linked in; NVIDIA's libraries are opened when they run -----------------
host_libraries=(-s -static-libstdc++ -static-libgcc -ldl -lrt -lpthread)
object() { local name; for name in "$@"; do echo "$objects/$name.o"; done; }
link() { # PROGRAM OBJECTS...
  local program=$1
  shift
  g++ -o "$program" $(object "$@") "$cuda/lib64/libcudart_static.a" "${host_libraries[@]}"
}
device=(Device.cpp Kernels.cu Report.cpp Library.cpp Check.cpp)
link "$folder/probe" Probe.cpp "${device[@]}"
link "$folder/ceilings" Ceilings.cpp CublasLt.cpp Gemm.cpp "${device[@]}"
link "$folder/gemms" Gemms.cpp CublasLt.cpp Gemm.cpp "${device[@]}"
link "$folder/attention" Attention.cpp AttentionGraph.cpp AttentionReference.cpp Cudnn.cpp "${device[@]}"
link "$folder/collectives" Collectives.cpp CollectiveRank.cpp CollectiveReference.cpp Nccl.cpp "${device[@]}"
link "$folder/mlir_kernel" MlirKernel.cpp Gemm.cpp "${device[@]}"
g++ -o "$folder/kit-report" $(object KitReport.cpp Merge.cpp Table.cpp) "${host_libraries[@]}"
# What tests need and no GPU machine does stays with the objects: the check of the host's own arithmetic, and the programs
# on an emulated device.
link "$objects/host-checks" HostChecks.cpp CollectiveRank.cpp CollectiveReference.cpp Nccl.cpp Gemm.cpp AttentionReference.cpp \
  AttentionGraph.cpp Cudnn.cpp "${device[@]}"
emulated=$objects/emulated
mkdir -p "$emulated"
library() { # SONAME OBJECTS...
  local soname=$1
  shift
  g++ -shared -o "$emulated/$soname" -Wl,-soname,"$soname" $(object "$@") "${host_libraries[@]}"
}
emulate() { # PROGRAM OBJECTS...
  local program=$1
  shift
  g++ -o "$emulated/$program" $(object "$@" EmulatedCuda.cpp EmulatedKernels.cpp Device.cpp Report.cpp Library.cpp Check.cpp) \
    "${host_libraries[@]}"
}
library libcublasLt.so.13 EmulatedCublasLt.cpp
library libnccl.so.2 EmulatedNccl.cpp
library libcudnn.so.9 EmulatedCudnn.cpp
driver_stub=$cuda/lib64/stubs/libcuda.so
if [ -e "$driver_stub" ] && command -v nm > /dev/null; then
  own=$(sed -nE 's/^int (cu[A-Za-z0-9_]+)\(.*/\1/p' "$here/emulation/StubDriver.c" | sort)
  nm -D --defined-only "$driver_stub" | awk '$2 == "T" { print $3 }' | sort -u | comm -23 - <(echo "$own") |
    sed 's/.*/OTHER(&)/' > "$objects/other-driver-functions.inc"
  gcc -O1 -Wall -Wextra -Wno-builtin-declaration-mismatch -Werror -I"$objects" -shared -fPIC -Wl,-soname,libcuda.so.1 \
    "$here/emulation/StubDriver.c" -o "$emulated/libcuda.so.1" -ldl
fi
emulate ceilings Ceilings.cpp CublasLt.cpp Gemm.cpp
emulate gemms Gemms.cpp CublasLt.cpp Gemm.cpp
emulate attention Attention.cpp AttentionGraph.cpp AttentionReference.cpp Cudnn.cpp
emulate collectives Collectives.cpp CollectiveRank.cpp CollectiveReference.cpp Nccl.cpp
cp "$here/run.sh" "$here"/parts/*.py "$here"/parts/*.sh "$folder/"
chmod +x "$folder"/*.sh

# --- Part h: trainings for the GPU, and what the CPU's executables say of them ----------------------------------------------
mkdir -p "$folder/train"
training() { # NAME PRECISION LIMIT CHIP [MESH FLAGS..]
  local name=$1 executable=$folder/train/$1.gpu mesh=()
  if [ $# -gt 4 ]; then
    mesh=(--mesh "$5" "${@:6}")
    echo 2 > "$folder/train/$name.ranks"
  fi
  local compile=("$weft/weft-compile" -q "$objects/gpt.onnx" --bind batch=4,seq=64 --precision "$2"
    --train --loss softmax_cross_entropy:logits,labels --optimizer adamw:lr=0.003,clip=1 --copy-weights)
  echo "--steps 10" > "$folder/train/$name.flags"
  echo "$3" > "$folder/train/$name.limit"
  "${compile[@]}" "${mesh[@]}" --target "cuda:$4" -o "$executable"
  "${compile[@]}" -o "$objects/$name.cpu"
  "$weft/weft-run" "$objects/$name.cpu" -q --data-tokens "$folder/train/data:byte" --steps 10 --log "$folder/train/$name.jsonl"
}
if [ -n "$weft" ]; then
  cp "$here/../../../LICENSE" "$folder/train/data"
  "$weft/weft-translate" --build gpt2:layers=2,hidden=64,heads=4,vocab=256,seq=64 -o "$objects/gpt.onnx"
  # Another order of sums; in bf16 attention is cuDNN's, but for one that says otherwise.
  training gpt-fp64 fp64 1e-9 sm_90
  training gpt-fp32 fp32 1e-4 sm_90
  training gpt-bf16 bf16 2e-2 sm_90
  # A newer GPU than the chip's assembles the text.
  training gpt-text fp32 1e-4 sm_80
  # Two ranks on the GPU: NCCL's own sums, and those that kernels of ours make of what it moves.
  training gpt-nccl-dp fp32 1e-4 sm_90 dp=2
  training gpt-nccl-tp bf16 2e-2 sm_90 tp=2 --attention decomposed
fi

# --- Part i: node cases of ONNX, and those of kernels, for the GPU with their data ------------------------------------------
mkdir -p "$folder/nodes" "$objects/nodes"
nodes() { # NAME ARCHIVE MINIMUM: of test/conformance/onnx-node
  local cases=$here/../../conformance/onnx-node
  mkdir -p "$objects/nodes/$1"
  tar -xf "$cases/$1/$2" -C "$objects/nodes/$1"
  "$weft/onnx-node" "$objects/nodes/$1" "$cases/allow-list/$1.txt" "$3" --target=cuda:sm_90 --record="$objects/nodes/$1.cases"
  xz -c "$objects/nodes/$1.cases" > "$folder/nodes/$1.cases.xz"
}
# Cases of a build before are not those of this one.
rm -f "$objects"/nodes/*.cases "$folder"/nodes/*
if [ -n "$weft" ]; then
  strip -o "$folder/nodes/onnx-replay" "$weft/onnx-replay"
  nodes newest onnx-1.23.2-node.tar.xz 1536
  nodes onnxruntime onnxruntime-1.32.0.tar.xz 86
  "$weft/weft-record-kernels" "$objects/nodes/kernels.cases" cuda:sm_90
  xz -c "$objects/nodes/kernels.cases" > "$folder/nodes/kernels.cases.xz"
fi

bytes=$(du -sb "$folder" | cut -f1)
echo "kit: $folder, $((bytes / 1000)) kB, built in $((SECONDS - start)) s"
[ "$bytes" -lt "$limit_bytes" ] || { echo "make-kit: the kit is over $limit_bytes bytes" >&2; exit 1; }
