#!/usr/bin/env python3
# Plans never need more memory than they say: random models on random clusters, planned and compiled.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: plan_memory.py FOLDER-OF-TOOLS [SEED...]; WEFT_TEST_FULL=1 for 80 seeds

A seed draws a model, how it is trained or run, and a cluster. weft-plan chooses; in half of the seeds once more for
devices of less memory than that takes. weft-compile obeys the plan, on the same cluster: its arena must be at most what
the plan says, which must be at most what a device has. What fits nothing must be said with numbers. So are layouts of
many microbatches, whose account by lifetimes may be a third too low, and which are planned as compiled all the same.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

REDUCED, FULL = 8, 80
# Plans that must have been compiled: of three seeds about one fits nothing.
LEAST = {REDUCED: 5, FULL: 50}

# Of more than 60,000 ops in all microbatches; gradients of each are summed in buckets (ZeRO-2).
GPT = "gpt2:layers=4,hidden=64,heads=4,vocab=1000,seq=16"
MANY = [(GPT, "pp=2,dp=2 --microbatches 32 --schedule 1f1b --zero 2"), (GPT, "dp=2 --microbatches 32 --zero 2"),
        (GPT, "pp=4 --microbatches 64 --schedule 1f1b --recompute full"), (GPT, "pp=4 --microbatches 64 --schedule gpipe")]
REDUCED_MANY = 2


class Failure(Exception):
    pass


class Case:
    """What a seed draws. `memory`: bytes of a device, or None for as many as anybody wants."""

    def __init__(self, seed):
        draw = random.Random(seed)
        kind = draw.choice(["gpt2", "gpt2", "llama", "bert", "vit", "moe", "mlp", "resnet"])
        layers, heads = draw.choice([2, 3, 4]), draw.choice([2, 4])
        width = heads * draw.choice([8, 12, 16])
        rows, extent = draw.choice([8, 12, 16]), draw.choice([8, 16, 24])
        words = f"vocab={draw.choice([64, 96, 101])},seq={extent}"
        bound, loss = f"batch={rows},seq={extent}", "logits"
        shape = f"layers={layers},hidden={width},heads={heads},ffn={draw.choice([2, 3, 4]) * width}"
        builder = {
            "gpt2": f"gpt2:{shape},{words}", "llama": f"llama:{shape},{words}",
            "bert": f"bert:{shape},{words},head=mlm", "moe": f"moe:{shape},{words},experts=4,group=8",
            "vit": f"vit:{shape},image=16,patch=8,classes=10", "mlp": f"mlp:layers={layers},inputs={extent},hidden={width}",
            "resnet": "resnet:layers=10,hidden=8,image=16,classes=10,stem=cifar",
        }[kind]
        if kind in ("vit", "mlp", "resnet"):
            bound = f"batch={rows}"
        self.builder = builder
        self.flags = ["--bind", bound]
        self.trains = draw.random() < 0.8
        if self.trains:
            optimizer = draw.choice(["adamw:lr=0.01", "adamw:lr=0.01,clip=1", "sgd:lr=0.1", "sgd:lr=0.1,momentum=0.9"])
            self.flags += ["--train", "--loss", f"softmax_cross_entropy:{loss},labels", "--optimizer", optimizer]
            if kind == "resnet":
                self.flags += ["--batch-stats", "per-microbatch", "--microbatches", draw.choice(["1", "2"])]
        self.flags += ["--precision", draw.choice(["fp32", "fp32", "bf16"])]
        self.asked = ["--devices", str(draw.choice([1, 2, 3, 4, 8])), "--objective", draw.choice(["step", "step", "memory"])]
        if draw.random() < 0.3:
            self.asked += ["--forbid", draw.choice(["tp", "dp", "recompute", "zero", "sp"])]
        self.rates = [10 ** draw.uniform(low, high) for low, high in ((10, 14), (11, 13), (9, 12), (8, 11))]
        self.node = draw.choice([2, 4, 8])
        self.share = draw.uniform(0.4, 0.98) if draw.random() < 0.5 else None

    def write_cluster(self, memory):
        flops, bandwidth, near, far = self.rates
        made = 'origin: "made up"'
        rates = " ".join(f'rate {{ type: "{name}" flops: {flops:.4g} {made} }}' for name in ("f32", "bf16"))
        with open("cluster.textproto", "w", encoding="utf-8") as file:
            file.write(f'name: "drawn" device {{ memory {{ bytes: {memory} bandwidth: {bandwidth:.4g} {made} }} {rates} }}\n'
                       f'link {{ name: "near" devices: {self.node} bandwidth: {near:.4g} latency: 1e-6 {made} }}\n'
                       f'link {{ name: "far" bandwidth: {min(near, far):.4g} latency: 1e-5 {made} }}\n')


class Suite:
    def __init__(self, tools):
        self.tools = tools
        self.failures = self.plans = self.misfits = self.bound = 0

    def call(self, tool, *arguments, codes=(0,)):
        done = subprocess.run([f"{self.tools}/{tool}", *arguments], capture_output=True, text=True)
        if done.returncode not in codes:
            raise Failure(f"exit code {done.returncode} of {tool} {' '.join(arguments)}: {done.stderr[-400:]}")
        return done

    def plan(self, case, memory):
        """The answer, or None if nothing fits."""
        case.write_cluster(memory)
        done = self.call("weft-plan", "model.onnx", *case.flags, "--cluster", "cluster.textproto", *case.asked, "--json",
                         "-o", "plan.textproto", codes=(0, 5))
        answer = json.loads(done.stdout)
        if done.returncode == 0:
            return answer
        if answer["fits"] or not (answer.get("smallest") or answer["refused"] or answer["layouts"] == 0):
            raise Failure(f"refused without numbers: {done.stdout[:400]}")
        return None

    def check(self, case, answer, memory):
        told = answer["memory_bytes"]
        if not answer["memory_is_exact"] or told > memory:
            raise Failure(f"{told} bytes are said to fit {memory}, {'exactly' if answer['memory_is_exact'] else 'about'}")
        document = json.loads(self.call("weft-compile", "-q", "model.onnx", *case.flags, "--cluster", "cluster.textproto",
                                        "--plan", "plan.textproto", "--dry-run", "--explain=json").stdout)
        arena = document["memory"]["arena_bytes"]
        self.plans += 1
        if arena > told:
            raise Failure(f"the arena has {arena} bytes, {told} were said of {answer['choice']}")
        return f"{answer['choice']['mesh'] or 'one device'}: {arena} of {told} bytes"

    def run(self, case):
        self.call("weft-translate", "--build", case.builder, "--no-weights", "-o", "model.onnx")
        plenty = 1 << 40
        answer = self.plan(case, plenty)
        if answer is None:
            self.misfits += 1
            return "nothing divides, whatever memory there is"
        if case.share is None:
            return self.check(case, answer, plenty)
        memory = int(answer["memory_bytes"] * case.share)
        answer = self.plan(case, memory)
        self.bound += 1
        if answer is None:
            self.misfits += 1
            return f"nothing fits {memory} bytes"
        return self.check(case, answer, memory) + f", of {memory}"

    def run_many(self, builder, layout):
        self.call("weft-translate", "--build", builder, "--no-weights", "-o", "model.onnx")
        flags = ["model.onnx", "--cluster", "a100-80gb", "--bind", "batch=64,seq=16", "--train", "--loss",
                 "softmax_cross_entropy:logits,labels", "--optimizer", "adamw:lr=0.01,clip=1"]
        answer = json.loads(self.call("weft-plan", *flags, "--json", "--evaluate", *layout.split()).stdout)
        document = json.loads(self.call("weft-compile", "-q", *flags, "--dry-run", "--explain=json", "--mesh",
                                        *layout.split()).stdout)
        told, arena = answer["memory_bytes"], document["memory"]["arena_bytes"]
        if arena > told or not answer["memory_is_exact"]:
            raise Failure(f"the arena has {arena} bytes, {told} were said")
        return f"{arena} of {told} bytes"

    def attempt_seed(self, seed):
        case = Case(seed)
        self.attempt(f"seed {seed}: {case.builder} {' '.join(case.flags + case.asked)}", lambda: self.run(case))

    def attempt(self, title, run):
        try:
            print(f"{title}: {run()}", flush=True)
        except Failure as failure:
            self.failures += 1
            print(f"FAILED: {title}: {failure}", flush=True)


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    count = FULL if os.environ.get("WEFT_TEST_FULL") == "1" else REDUCED
    seeds = [int(seed) for seed in sys.argv[2:]] or range(count)
    many = [] if sys.argv[2:] else MANY if count == FULL else MANY[:REDUCED_MANY]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in seeds:
            suite.attempt_seed(seed)
        for builder, layout in many:
            suite.attempt(f"{builder} --mesh {layout}", lambda: suite.run_many(builder, layout))
    print(f"{suite.plans} plans compiled, {suite.bound} bound by memory, {suite.misfits} fit nothing, "
          f"{suite.failures} failed")
    return 1 if suite.failures or suite.plans < (0 if sys.argv[2:] else LEAST[count]) else 0


if __name__ == "__main__":
    sys.exit(main())
