# Runs Weft's tools and reads their files, for the scripts that compare with PyTorch.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json, math, os, subprocess
import numpy as np


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stderr[-3000:]}")
    return done.stdout


def fields(data):
    """(number, value) of every field of a protobuf message; bytes for those with a length."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    at = 0
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = varint() if kind == 2 else 8 if kind == 1 else 4
        yield key >> 3, data[at : at + size]
        at += size


def initializers(path):
    """The float initializers of an ONNX file that holds its weights itself."""
    graph = next(value for number, value in fields(open(path, "rb").read()) if number == 7)
    found = {}
    for number, tensor in fields(graph):
        if number != 5:
            continue
        parts = list(fields(tensor))
        part = dict(parts)
        kind = {1: "<f4", 11: "<f8"}.get(part[2])
        if kind:
            dims = [value for number, value in parts if number == 1]
            found[part[8].decode()] = np.frombuffer(part[9], kind).reshape(dims)
    return found


def checkpoint(folder):
    """name -> array of the newest checkpoint, whatever layout wrote it."""
    folder = os.path.join(folder, open(os.path.join(folder, "latest")).read().strip())
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    images = [np.fromfile(os.path.join(folder, f"rank-{i:05}.safetensors"), np.uint8)
              for i in range(len(manifest["files"]))]
    found = {}
    for tensor in manifest["tensors"]:
        kind = np.dtype({"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}[tensor["dtype"]])
        whole = np.empty(tensor["shape"], kind)
        for box in tensor["boxes"]:
            count = math.prod(box["size"]) * kind.itemsize
            data = images[box["file"]][box["offset"] : box["offset"] + count].view(kind)
            part = tuple(slice(a, a + n) for a, n in zip(box["start"], box["size"]))
            whole.reshape(box["view"])[part] = data.reshape(box["size"])
        found[tensor["name"]] = whole
    return found


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]
