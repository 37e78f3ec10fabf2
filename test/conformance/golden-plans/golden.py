#!/usr/bin/env python3
# What weft-plan chooses for well-known models and clusters, beside the best that an exhaustive search finds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: golden.py FOLDER-OF-TOOLS [REGEX]; WEFT_TEST_FULL=1 for all layers of the models, every other a day if
no REGEX is given

Each scenario is planned twice: as ever, and with --exhaustive, which simulates every layout of the same space and
compiles the best of all and of each kind. As compiled the choice must take at most 3 % longer than the best of those,
and by the account, which both searches compare layouts by, the best must be the same. By default models have few of
their layers and devices the share of memory that such a model has of the parameters, so that what fits is much the
same; and only what is cheap to search is searched. REGEX picks scenarios by their titles.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

LIMIT = 1.03
TRAIN = ["--train", "--loss", "softmax_cross_entropy:logits,labels", "--optimizer", "adamw", "--precision", "bf16"]
CLUSTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../lib/Foundation/Cost/clusters")
LAYOUT = ("mesh", "microbatches", "schedule", "zero", "recompute", "sequence_parallel")
# Of AdamW with bf16: parameter and gradient of 2 bytes, a master copy and two moments of 4.
BYTES_PER_PARAMETER = 16


class Failure(Exception):
    pass


class Scenario:
    """`few` layers by default; none: only in full. `want`: what the choice must be, by regular expressions."""

    def __init__(self, shape, layers, few, batch, cluster, devices, *flags, seq=2048, want=None, misfit=False, top=8):
        hidden, heads = shape
        self.model = f"gpt2:hidden={hidden},heads={heads},vocab=50304,seq={seq}"
        self.layers, self.few, self.misfit, self.top, self.want = layers, few, misfit, top, want or {}
        self.cluster = cluster
        self.asked = ["--bind", f"batch={batch},seq={seq}", *TRAIN, "--devices", str(devices), *flags]


SCENARIOS = {
    "1B on 8 x A100-80GB": Scenario((2048, 16), 24, 8, 64, "a100-80gb", 8, seq=1024, want={"mesh": "dp=8"}),
    "7B on 8 x A100-80GB": Scenario((4096, 32), 32, 8, 64, "a100-80gb", 8, "--grad-dtype", "bf16"),
    "30B on 8 x A100-80GB, batch 64": Scenario((7168, 56), 48, None, 64, "a100-80gb", 8),
    "13B on 2 x 8 x A100-40GB without tp and pp":
        Scenario((5120, 40), 40, 8, 64, "a100-40gb", 16, "--forbid", "tp,pp", want={"mesh": "dp=16", "zero": "3"}),
    # Weights are split within a node: between nodes links are a hundredth as fast.
    "200B on 8 x 8 x 141 GB with slow links":
        Scenario((13312, 104), 96, None, 512, "slow", 64, want={"mesh": "(pp=[0-9]+,?)?(dp=[0-9]+,?)?(tp=[248])?"}),
    "175B on 1,024 x A100-80GB": Scenario((12288, 96), 96, None, 1536, "a100-80gb-selene", 1024, top=3),
    "530B on 8 x A100-80GB": Scenario((20480, 128), 105, 4, 64, "a100-80gb", 8, misfit=True),
}


def call(command, code=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != code:
        raise Failure(f"exit code {done.returncode} of {' '.join(command)}: {done.stderr[-400:]}")
    return done


def write_cluster(name, share, file):
    """A cluster of the library whose devices have a share of their memory. `slow`: nodes of 8 H200s that have 4 GB/s
    to the others."""
    with open(os.path.join(CLUSTERS, f"{'h200' if name == 'slow' else name}.textproto")) as source:
        text = source.read()
    changes = [(r"(?<=memory {\n    bytes: )[0-9.e]+(?= usable)", lambda found: repr(float(found.group()) * share))]
    if name == "slow":
        changes += [("bandwidth: 50e9 sustained: 0.8 shared_bandwidth: 400e9",
                     "bandwidth: 4e9 sustained: 0.8 shared_bandwidth: 4e9")]
    for old, new in changes:
        text, count = re.subn(old, new, text)
        if count != 1:
            raise Failure(f"{name}.textproto has {count} times {old}")
    with open(file, "w") as target:
        target.write(text)


def describe(layout):
    return " ".join(f"{field}={layout[field]}" for field in LAYOUT if layout.get(field))


class Suite:
    def __init__(self, tools):
        self.tools, self.failures, self.cases = tools, 0, 0

    def build(self, model, layers):
        told = call([f"{self.tools}/weft-translate", "--build", f"{model},layers={layers}", "--no-weights", "-o",
                     "model.onnx"])
        return int(re.search(r"(\d+) parameters", told.stderr).group(1))

    def plan(self, scenario, *flags, code=0):
        return json.loads(call([f"{self.tools}/weft-plan", "model.onnx", "--cluster", "cluster.textproto",
                                *scenario.asked, *flags, "--json"], code).stdout)

    def run(self, scenario, whole):
        layers = scenario.layers if whole else scenario.few
        all_parameters = self.build(scenario.model, scenario.layers)
        parameters = self.build(scenario.model, layers)
        write_cluster(scenario.cluster, parameters / all_parameters, "cluster.textproto")
        if scenario.misfit:
            return self.refusal(self.plan(scenario, code=5), parameters)
        chosen = self.plan(scenario)
        every = self.plan(scenario, "--exhaustive", "--top", str(scenario.top))
        best = min(every["compiled"], key=lambda one: one["step_seconds"])
        told = (f"{describe(chosen['choice'])}: {chosen['step_seconds']:.4g} s; best {describe(best)}: "
                f"{best['step_seconds']:.4g} s; of {every['layouts']} layouts {chosen['simulated']} and "
                f"{every['simulated']} simulated, {len(chosen['compiled'])} and {len(every['compiled'])} compiled; "
                f"{layers} of {scenario.layers} layers")
        wrong = ""
        if not chosen["complete"] or not every["complete"]:
            wrong = "the budget ended a search"
        elif every["simulated"] < chosen["simulated"] or every["layouts"] != chosen["layouts"]:
            wrong = "the exhaustive search left something out"
        elif chosen["bound_seconds"] != every["bound_seconds"]:
            wrong = f"by the account {chosen['bound_seconds']} s is not the least, {every['bound_seconds']} s is"
        elif chosen["step_seconds"] > LIMIT * best["step_seconds"]:
            wrong = f"more than {LIMIT} times the best"
        for field, pattern in scenario.want.items():
            if not re.fullmatch(pattern, str(chosen["choice"][field])):
                wrong = wrong or f"{field} is {chosen['choice'][field]}, not {pattern}"
        if "--grad-dtype" in scenario.asked and abs(chosen["state_bytes"] / parameters - BYTES_PER_PARAMETER) > 0.01:
            wrong = wrong or f"state is {chosen['state_bytes']} bytes of {parameters} parameters"
        if wrong:
            raise Failure(f"{wrong}: {told}")
        return f"{told}; state {chosen['state_bytes'] / 1e9:.4g} GB"

    @staticmethod
    def refusal(answer, parameters):
        least = answer["smallest"]
        if answer["fits"] or least["memory_bytes"] <= answer["device_bytes"] or not answer["relaxations"]:
            raise Failure(f"refused without numbers or without what helps: {json.dumps(answer)[:400]}")
        return (f"refused: {parameters} parameters; {describe(least)} needs least, {least['memory_bytes'] / 1e9:.4g} of "
                f"{answer['device_bytes'] / 1e9:.4g} GB; helps: "
                + ", ".join(one["change"] for one in answer["relaxations"]))

    def attempt(self, title, scenario, whole):
        self.cases += 1
        try:
            print(f"{title}: {self.run(scenario, whole)}", flush=True)
        except Failure as failure:
            self.failures += 1
            print(f"FAILED: {title}: {failure}", flush=True)


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    full, day = os.environ.get("WEFT_TEST_FULL") == "1", int(time.time()) // 86400
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, (title, scenario) in enumerate(SCENARIOS.items()):
            whole = full and (len(sys.argv) > 2 or number % 2 == day % 2)
            if pattern.search(title) and (whole or scenario.few):
                suite.attempt(title, scenario, whole)
    print(f"{suite.cases} scenarios, {suite.failures} failed")
    return 1 if suite.failures or suite.cases < (1 if len(sys.argv) > 2 else 4) else 0


if __name__ == "__main__":
    sys.exit(main())
