#!/usr/bin/env bash
# What weft-translate refuses: a table of commands, exit codes and words, by what it reads and writes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -u
. "$(dirname "$0")/says.sh"
cd "$1" || exit 1

# tensors FILE HEADER: a .safetensors file of this header, of less than 256 bytes, and 8 bytes of data.
tensors() { printf "\\x$(printf %02x ${#2})\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\0\\0\\0\\0\\0" "$2" >"$1"; }
# graph OPS [TYPE] [MORE]: a model of the `onnx` dialect whose main graph has these ops, an input of the type, and more beside it.
graph() {
  local inputs="" begin=""
  [ -n "${2-}" ] && inputs=", inputs = [#onnx.value_info<name = \"x\", type = $2>]" begin="^bb0(%x: $2):"
  printf 'module attributes {onnx.model = #onnx.model<ir_version = 8 : i64>} {\n' >model.mlir
  printf 'onnx.graph <name = "g"%s> {\n%s\n%s\nonnx.yield\n}\n%s\n}\n' "$inputs" "$begin" "$1" "${3-}" >>model.mlir
}
exporting() { tells 1 "$1" weft-translate --mlir-to-onnx model.mlir -o x.onnx; }

# Builders.
tensors w.safetensors '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
tells 1 "--no-weights contradicts weights=w.safetensors; drop one" weft-translate --build gpt2:preset=tiny,weights=w.safetensors --no-weights -o x.onnx
tells 1 "choose layers, hidden, vocab, ... as in the checkpoint's config.json" weft-translate --build gpt2:preset=tiny,weights=w.safetensors -o x.onnx
tells 1 "external data needs a file name beside which it can lie; replace -o - by -o FILE.onnx" weft-translate --build mlp:external=1 -o -
tells 1 "bytes, above protobuf's limit of 2 GiB" weft-translate --build mlp:layers=1,inputs=40000,classes=40000,external=0 -o x.onnx
tells 1 "do not fit in 2^62 bytes; choose smaller dimensions" \
  weft-translate --build mlp:layers=3000,inputs=16777216,hidden=16777216,classes=2,dtype=fp64 --no-weights -o x.onnx

# Text.
# A packed dim of an initializer that is no whole number.
printf '\x08\x08\x3a\x07\x2a\x05\x0a\x01\x80\x10\x01' >dims.onnx
tells 1 "dims.onnx: protobuf cannot read the model; files above 2 GiB need external data" weft-translate --onnx-to-text dims.onnx
tells 1 "dims.onnx: error: is not a valid model: protobuf rejects it" weft-translate --onnx-to-mlir dims.onnx
tells 1 "dims.onnx: error: is not a valid model: protobuf rejects it" weft-compile dims.onnx -o x
echo 'none' >none.safetensors
tells 1 "'dims.onnx' is not a model file" weft-translate --import-weights w.safetensors dims.onnx -o x.onnx
tells 1 "'none.safetensors' is not a sound .safetensors file: " weft-translate --import-weights none.safetensors dims.onnx -o x.onnx

# A model of the dialect that the file format cannot hold.
echo 'module {}' >model.mlir
exporting "is not a model: it needs 'onnx.model' and an 'onnx.graph'"
graph '' 'tensor<2xindex>'
exporting "value 'x' has type 'tensor<2xindex>', which the file format cannot say"
graph '%w = onnx.initializer <type = tensor<1xindex>, name = "w"> : tensor<1xindex>'
exporting "tensor 'w' has type 'tensor<1xindex>', which the file format cannot say"
graph '%w = onnx.initializer <type = tensor<1xf32>, name = "w", location = "NOWHERE"> : tensor<1xf32>'
exporting "tensor 'w' has the unknown location \"NOWHERE\""
graph '%y = onnx.node "Relu"() outputs ["y"] attributes [#onnx.attr<"a" : INT = "text">] : () -> !onnx.unknown'
exporting "attribute 'a' has a value that is not of kind INT"
graph 'onnx.graph <name = "inner"> { onnx.yield }'
exporting "'onnx.graph' op is not part of a model file"
graph 'onnx.training_info algorithm <region = 0, name = "step"> graphs { onnx.training_info algorithm <region = 0, name = "t"> graphs { onnx.yield } onnx.yield }'
exporting "'onnx.training_info' op belongs into the main graph"
graph '' '' 'onnx.function name "F" inputs [] outputs [] body { onnx.graph <name = "inner"> { onnx.yield } onnx.yield }'
exporting "'onnx.graph' op is not part of a function"

# Weights.
weft-translate --build mlp:layers=1,inputs=1,classes=1,external=1 -o own.onnx 2>/dev/null || exit 1
mkdir empty
tells 1 "there is neither a checkpoint nor a .safetensors file in 'empty'" weft-translate --import-weights empty own.onnx -o x.onnx
cp w.safetensors again.safetensors
tells 1 "'again.safetensors' holds tensor 'w', which another of the files holds as well" \
  weft-translate --import-weights w.safetensors --import-weights again.safetensors own.onnx -o x.onnx
tells 1 "map names with --map 'REGEX=REPLACEMENT' (a name that becomes empty leaves its tensor out), or add --allow-missing, --allow-extra" \
  weft-translate --import-weights w.safetensors own.onnx -o x.onnx
# A name with an end of a line is told on one line.
tensors lines.safetensors '{"a\nb":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
tells 1 "tensor 'a\x0Ab' has no initializer" weft-translate --import-weights lines.safetensors own.onnx -o x.onnx
truncate -s 3G huge.onnx
tells 1 "'huge.onnx' has more than 2 GiB, which no protobuf message has" weft-translate --import-weights w.safetensors huge.onnx -o x.onnx
told
