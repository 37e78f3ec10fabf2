#!/usr/bin/env python3
# Prints the plan of each model on each mesh, to be held against the recorded ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: plans.py [--models NAME,...] [--full DIR]

Compiles whole models (no weights are needed) as far as `local` and prints of each program what
`--explain=json` says: a hash of the placements of all nodes, another of how states are stored and used, and by
role, kind and axes how many collectives run and how many bytes a rank sends in a ring, by which plans are priced. A model that cannot be compiled so
is a line with the exit code. `--full` also writes the documents themselves, to see what is behind a hash:

    test/plans/plans.py --full before    # weft-compile of one commit in PATH
    test/plans/plans.py --full after     # of another
    diff -r before after
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile

# Name: builder, extents, loss. Small models have more heads than ranks; others real widths and few layers.
MODELS = {
    "gpt2-tiny": ("gpt2:preset=tiny", "batch=8,seq=32", "logits"),
    "gpt2": ("gpt2:layers=2", "batch=8,seq=128", "logits"),
    "llama-tiny": ("llama:preset=tiny", "batch=8,seq=32", "logits"),
    "llama": ("llama:preset=1b,layers=2", "batch=8,seq=128", "logits"),
    "bert-tiny": ("bert:preset=tiny,head=mlm", "batch=8,seq=32", "logits"),
    "bert": ("bert:layers=2,head=mlm", "batch=8,seq=128", "logits"),
    "vit-tiny": ("vit:preset=tiny", "batch=8", "logits"),
    "vit": ("vit:preset=base,layers=2", "batch=8", "logits"),
    "resnet": ("resnet:preset=tiny", "batch=8", "logits"),
}
MESHES = ["--mesh dp=2", "--mesh tp=2", "--mesh dp=2,tp=2", "--mesh tp=4",
          "--mesh dp=2,tp=2 --sequence-parallel on"]
STEPS = ["--mesh dp=2 --zero 1", "--mesh dp=2 --zero 2", "--mesh dp=2 --zero 3", "--mesh dp=2,tp=2 --zero 3",
         "--mesh dp=2,tp=2 --microbatches 2", "--mesh tp=2 --precision bf16", "--mesh tp=2 --recompute selective",
         "--mesh dp=2,tp=2 --recompute full"]


def digest(rows, fields):
    text = json.dumps([[row.get(field) for field in fields] for row in rows])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def describe(document):
    for program in document["programs"]:
        totals = collections.Counter()
        times = collections.Counter()
        for item in program["collectives"]:
            key = f"{item['role']} {item['kind']} {','.join(item['axes'])}"
            times[key] += item["times"]
            totals[key] += item["ring_bytes"]
        nodes = digest(program["node_classes"], ["node", "type", "placement", "role", "count", "layers"])
        states = digest(program["states"], ["name", "type", "stored", "used"])
        yield f"  {program['name']}: nodes {nodes}, states {states}"
        for key in sorted(times):
            yield f"    {key}: {times[key]} = {totals[key]}"


def compile_one(name, flags, train, folder, full):
    builder, bind, loss = MODELS[name]
    title = f"{name}{' --train' if train else ''} {flags}"
    command = ["weft-compile", "-q", f"{name}.onnx", "--bind", bind, "--explain=json", "--compile-to", "local",
               "-o", os.devnull, *flags.split()]
    if train:
        command += ["--train", "--loss", f"softmax_cross_entropy:{loss},labels", "--optimizer", "adamw:lr=0.1,clip=1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return [title, f"  refused with exit code {done.returncode}"]
    if full:
        with open(os.path.join(full, title.replace(" ", "_") + ".json"), "w") as file:
            json.dump(json.loads(done.stdout), file, indent=1)
    return [title, *describe(json.loads(done.stdout))]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--full")
    options = parser.parse_args()
    if options.full:
        os.makedirs(options.full, exist_ok=True)
    cases = [(name, flags, train) for name in options.models.split(",") for train in (False, True)
             for flags in MESHES + (STEPS if train else [])]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            subprocess.run(["weft-translate", "--build", MODELS[name][0], "--no-weights", "-o", f"{name}.onnx"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for lines in pool.map(lambda case: compile_one(*case, folder, options.full), cases):
                print("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
