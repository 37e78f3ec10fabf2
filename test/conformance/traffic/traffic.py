#!/usr/bin/env python3
# What --explain and weft-plan say that ranks send is what transports count: every collective, rank and axis, to the byte.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: traffic.py FOLDER-OF-TOOLS [--mpi] [REGEX]; WEFT_TEST_FULL=1 for all models on all layouts, a sixth a day if
there is no REGEX

Compiles small models for many layouts, runs each of their programs once and holds the trace's `sent_bytes` and
`sent_messages` to the `transfers` of --explain=json, and what a run tells of axes to `sent_over`. REGEX picks cases
by their titles. What weft-plan says of the same layout is held to them, too: what the rank sends that sends most, the
rings that its account adds up, and memory, of which nothing but alignment and gaps may be more than what is alive.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

# Builder, bound dims, the output that is trained on. Widths that no number of ranks divides are among them.
MODELS = {
    "gpt2": ("gpt2:layers=2,hidden=32,heads=8,vocab=96,seq=16", "batch=16,seq=16", "logits"),
    "gpt2-odd": ("gpt2:layers=2,hidden=30,heads=3,ffn=50,vocab=97,seq=9", "batch=16,seq=9", "logits"),
    "gpt2-large-sums": ("gpt2:layers=1,hidden=64,heads=8,vocab=1000,seq=64", "batch=16,seq=64", "logits"),
    "llama": ("llama:layers=2,hidden=32,heads=8,kv_heads=4,ffn=48,vocab=96,seq=16", "batch=16,seq=16", "logits"),
    "llama-odd": ("llama:layers=2,hidden=24,heads=6,kv_heads=3,ffn=37,vocab=101,seq=11", "batch=16,seq=11", "logits"),
    "bert": ("bert:layers=2,hidden=32,heads=4,vocab=96,seq=16,head=mlm", "batch=16,seq=16", "logits"),
    "bert-odd": ("bert:layers=1,hidden=36,heads=6,ffn=59,vocab=99,seq=7,head=mlm", "batch=16,seq=7", "logits"),
    "vit": ("vit:layers=2,hidden=32,heads=4,image=16,patch=8,classes=10", "batch=16", "logits"),
    "resnet": ("resnet:layers=10,hidden=8,image=16,classes=10,stem=cifar", "batch=16", "logits"),
    "moe": ("moe:preset=tiny,hidden=32,ffn=40,vocab=96,seq=16", "batch=16,seq=16", "logits"),
    "mlp": ("mlp:layers=3,inputs=48,hidden=64,classes=8,std=0.1", "batch=16", "logits"),
    "mlp-odd": ("mlp:layers=3,inputs=13,hidden=29,classes=7,std=0.1", "batch=16", "logits"),
}

# Those that can be trained on any file.
BYTES = ["gpt2-large-sums"]


def layouts(ranks):
    """Flags for so many ranks; those that only make sense in training last."""
    half = ranks // 2
    inference = [f"dp={ranks}", f"tp={ranks}", f"tp={ranks} --sequence-parallel on"]
    training = [f"dp={ranks} --zero {level}" for level in range(4)]
    training += [f"tp={ranks}", f"tp={ranks} --sequence-parallel on", f"dp={ranks} --microbatches 2 --zero 2",
                 f"tp={ranks} --recompute full", f"dp={ranks} --recompute selective --precision bf16"]
    if half > 1:
        inference += [f"dp={half},tp=2"]
        training += [f"dp={half}x2 --zero 3:dp.1", f"dp={half},tp=2 --zero 3 --microbatches 2",
                     f"dp={half},tp=2 --sequence-parallel on --zero 1 --recompute full",
                     f"pp=2,dp={half} --microbatches 2 --zero 1 --schedule 1f1b", f"pp=2,tp={half} --microbatches 4 --schedule zb-h1"]
    training += [f"pp={min(ranks, 4)} --microbatches 4 --schedule gpipe"]
    return [(flags, False) for flags in inference] + [(flags, True) for flags in training]


# A case of each kind; with all volumes every model on every layout.
REDUCED = [
    ("gpt2", "dp=2 --zero 2 --microbatches 2", True), ("gpt2", "tp=4", True),
    ("gpt2", "dp=2,tp=2 --sequence-parallel on --zero 1 --recompute full", True),
    ("gpt2-odd", "dp=2,tp=2 --sequence-parallel on --zero 1 --recompute full", True), ("gpt2-odd", "dp=4 --zero 3", True), ("gpt2-odd", "tp=4 --sequence-parallel on", False),
    ("gpt2-large-sums", "dp=4", True), ("llama", "dp=2x2 --zero 3:dp.1", True), ("llama-odd", "tp=8", False),
    ("bert-odd", "tp=4", True), ("vit", "dp=8 --recompute selective --precision bf16", True),
    ("resnet", "dp=4", True), ("moe", "tp=4", False), ("mlp-odd", "dp=2,tp=4 --zero 3", True),
    ("gpt2-odd", "pp=2,dp=2 --microbatches 2 --zero 1 --schedule 1f1b", True), ("llama", "pp=2,tp=2 --microbatches 4 --schedule zb-h1", True),
]

STAGES = "pp"
# An arena, of what is alive at the fullest moment, each buffer at a multiple of 64 bytes: the goal, which models of so
# few buffers miss, and what would be a bug.
GOAL, GAPS, ALIGNMENT = 1.01, 1.2, 64

DTYPES = {"f64": ("f8", 8), "f32": ("f4", 4), "f16": ("f2", 2), "i64": ("i8", 8), "i32": ("i4", 4), "bool": ("b1", 1)}


class Failure(Exception):
    pass


class Refusal(Exception):
    """weft-compile has a reason not to compile this layout."""


def call(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode == 1 and command[0].endswith("weft-compile"):
        raise Refusal(done.stderr.splitlines()[0])
    if done.returncode:
        raise Failure(f"exit code {done.returncode} of {' '.join(command)}: {done.stderr[-400:]}")
    return done


def write_zeros(path, shape, dtype):
    code, size = DTYPES[dtype]
    order = "<" if size > 1 else "|"
    header = str({"descr": order + code, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(count * size))


def members(mesh, axes, rank):
    """The number of a rank in its group over these axes."""
    at = {}
    for axis in reversed([one for one in mesh if not one["temporal"]]):
        at[axis["axis"]], rank = (rank % axis["size"], axis["size"]), rank // axis["size"]
    member = 0
    for axis in axes:
        member = member * at[axis][1] + at[axis][0]
    return member


def coordinate(mesh, name, rank):
    return members(mesh, [name], rank)


def sent_by(runs, member):
    for run in runs:
        if member < run["members"]:
            return run["bytes"], run["messages"]
        member -= run["members"]
    raise Failure(f"{runs} tell nothing of the last {member + 1} members")


def predicted(document, program):
    """By rank, command and call: axes, bytes and messages."""
    result = {}
    for one in program["transfers"]:
        for rank in range(document["ranks"]):
            sent = sent_by(one["sent"], members(document["mesh"], one["axes"], rank))
            # Who gets what another stage sends has a command of its own for that, which sends nothing.
            if one["kind"] == "send" and not sent[1]:
                continue
            if "stage" in one and coordinate(document["mesh"], STAGES, rank) != one["stage"]:
                continue
            key = rank, one["command"], one.get("call")
            assert key not in result
            result[key] = (",".join(one["axes"]), one["kind"], *sent)
    return result


def counted(trace):
    result = {}
    for event in trace["traceEvents"]:
        if event.get("cat") != "collective":
            continue
        told = event["args"]
        key = event["pid"], told["command"], told.get("call")
        if key in result:
            raise Failure(f"{key} ran twice")
        if event["name"] == "recv":
            assert not told["sent_bytes"] and not told["sent_messages"]
            continue
        result[key] = told["axes"], event["name"].split(" ")[0], told["sent_bytes"], told["sent_messages"]
    return result


def compare(document, program, trace, log):
    due, found = predicted(document, program), counted(trace)
    wrong = [f"{key}: {due.get(key)} predicted, {found.get(key)} counted"
             for key in sorted(due.keys() | found.keys(), key=str) if due.get(key) != found.get(key)]
    if wrong:
        raise Failure(f"program {program['name']}: {len(wrong)} of {len(due)} differ: " + "; ".join(wrong[:3]))
    # What is told of axes is the same added up.
    over = {}
    for (rank, _, _), (axes, _, sent, messages) in due.items():
        total = over.setdefault(axes, {}).setdefault(rank, [0, 0])
        total[0] += sent
        total[1] += messages
    has_stages = bool(document.get("stages"))
    for one in program["sent_over"]:
        for rank, total in over[",".join(one["axes"])].items():
            # Of what stages do for themselves, that of the rank that sends most is told.
            if has_stages and STAGES not in one["axes"] and coordinate(document["mesh"], STAGES, rank) != coordinate(
                    document["mesh"], STAGES, program["rank"]):
                continue
            assert tuple(total) == sent_by(one["sent"], members(document["mesh"], one["axes"], rank))
    by_rank = [sum(over[axes].get(rank, [0])[0] for axes in over) for rank in range(document["ranks"])]
    assert max(by_rank) == program["bytes_sent"] == by_rank[program["rank"]]
    told = re.search(r"weft: a rank sent at most (.*)", log)
    told = {axes: int(sent) for sent, axes in re.findall(r"(\d+)(?: bytes)? in \d+(?: messages)? over ([^ ]+?)(?:, |$)",
                                                           told.group(1))} if told else {}
    most = {axes: max(total[0] for total in ranks.values()) for axes, ranks in over.items()}
    if told != {axes: sent for axes, sent in most.items() if sent}:
        raise Failure(f"program {program['name']}: told {told}, sent {most}")
    return len(due), sum(by_rank)


def compare_stages(plan, document, program):
    """What the account says that stages send to each other, beside what the program sends."""
    sends = [0] * document["ranks"]
    for (rank, _, _), (axes, kind, sent, _) in predicted(document, program).items():
        if kind == "send":
            sends[rank] += sent
    rings = [one["ring_bytes"] for one in program["collectives"] if one["kind"] != "move" and STAGES in one["axes"]]
    account, wanted = plan["bytes_by_axis"][STAGES], max(sends) + sum(rings)
    if abs(account - wanted) > 0.01 * wanted:
        raise Failure(f"weft-plan's account has {account} bytes between stages, the program {max(sends)} and rings of {rings}")


def compare_plan(plan, document, program, trace):
    """What weft-plan says of a layout, beside the executable of the same flags and a run of it."""
    found = {}
    for (rank, _, _), (axes, _, sent, _) in counted(trace).items():
        if rank == program["rank"]:
            found[axes] = found.get(axes, 0) + sent
    told = {axes: sent for axes, sent in plan["sent_by_our_transports"].items() if sent}
    if told != {axes: sent for axes, sent in found.items() if sent}:
        raise Failure(f"weft-plan tells {told}, rank {program['rank']} sends {found}")
    if not document.get("stages"):
        rings, entries = dict.fromkeys(plan["bytes_by_axis"], 0), dict.fromkeys(plan["bytes_by_axis"], 1)
        for one in program["collectives"]:
            axis = min(one["axes"], key=list(rings).index)
            rings[axis] += one["ring_bytes"]
            entries[axis] += 1
        # A member of a ring of eight sends seven eighths: each number that is printed has lost less than a byte.
        if any(abs(plan["bytes_by_axis"][axis] - rings[axis]) >= entries[axis] for axis in rings):
            raise Failure(f"weft-plan's account has rings of {plan['bytes_by_axis']}, the program {rings}")
    else:
        compare_stages(plan, document, program)
    memory = document["memory"]
    if not plan["memory_is_exact"] or plan["memory_bytes"] != memory["arena_bytes"]:
        raise Failure(f"weft-plan predicts {plan['memory_bytes']} bytes, the arena has {memory['arena_bytes']}")
    alive = max(sum(moment[1:]) for line in memory["timelines"] for moment in line["moments"])
    alive += ALIGNMENT * sum(item["count"] for item in memory["at_peak"])
    return memory["arena_bytes"] / alive


class Suite:
    def __init__(self, tools, mpi):
        self.tools, self.comms = tools, ["tcp", "mpi"] if mpi else ["tcp"]
        self.failures = self.cases = self.collectives = self.gaps = self.beyond = 0
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1")

    def tool(self, name):
        return os.path.join(self.tools, name)

    def run(self, name, flags, train):
        builder, bind, loss = MODELS[name]
        if not os.path.exists(f"{name}.onnx"):
            call([self.tool("weft-translate"), "--build", builder, "-o", f"{name}.onnx"])
        what = [f"{name}.onnx", "--bind", bind]
        if "microbatches" in flags and name == "resnet":
            what += ["--batch-stats", "per-microbatch"]
        if train:
            what += ["--train", "--loss", f"softmax_cross_entropy:{loss},labels",
                     "--optimizer", "adamw:lr=0.01,clip=1"]
        layout = flags.split()
        document = json.loads(call([self.tool("weft-compile"), "-q", *what, "--explain=json", "-O", "1", "-o", "out",
                                    "--mesh", *layout]).stdout)
        plan = json.loads(call([self.tool("weft-plan"), *what, "--json", "--evaluate", *layout]).stdout)
        ports = self.ports()
        comms = [*self.comms, "inproc"] if self.cases % 6 == 0 else ["inproc"]
        bytes_sent = 0
        for program in document["programs"]:
            inputs = []
            for port, shape, dtype in ports[program["name"]]:
                write_zeros(f"{port}.npy", shape, dtype)
                inputs += ["--input", f"{port}={port}.npy"]
            for comm in comms:
                done = call([self.tool("weft-run"), "--comm", comm, "out", "--program", program["name"],
                             "--trace", "trace.json", *inputs], env=self.environment)
                with open("trace.json", encoding="utf-8") as file:
                    trace = json.load(file)
                collectives, sent = compare(document, program, trace, done.stderr)
                if program["name"] == ("step" if train else document["programs"][0]["name"]):
                    gap = compare_plan(plan, document, program, trace)
                    self.gaps = max(self.gaps, gap)
                    self.beyond += gap > GOAL
                    if gap > GAPS:
                        raise Failure(f"the arena is {gap:.4f} of what is alive at most")
                self.collectives += collectives
                bytes_sent += sent
        if train and name in BYTES:
            self.compare_log(document)
        self.cases += 1
        return bytes_sent

    def compare_log(self, document):
        """What training logs of a step: by axes, of the rank that sent most."""
        program = next(one for one in document["programs"] if one["name"] == "step")
        totals = {}
        for (rank, _, _), (axes, _, sent, messages) in predicted(document, program).items():
            total = totals.setdefault(axes, {}).setdefault(rank, {"bytes": 0, "messages": 0})
            total["bytes"] += sent
            total["messages"] += messages
        due = {axes: {unit: max(total[unit] for total in ranks.values()) for unit in ("bytes", "messages")}
               for axes, ranks in totals.items()}
        for comm in self.comms:
            call([self.tool("weft-run"), "--comm", comm, "out", "--data-tokens", f"{__file__}:byte", "--steps", "2",
                  "--log", "log.jsonl"], env=self.environment)
            with open("log.jsonl", encoding="utf-8") as file:
                for line in map(json.loads, file):
                    for key, unit in ("sent_bytes", "bytes"), ("sent_messages", "messages"):
                        if line[key] != {axes: run[unit] for axes, run in due.items()}:
                            raise Failure(f"{comm}, step {line['step']}: {key} {line[key]} logged, sent {due}")

    def ports(self):
        """The inputs of each program: name, shape, type."""
        result, program = {}, None
        for line in call([self.tool("weft-run"), "out", "--info"]).stdout.splitlines():
            if found := re.match(r"program ([^:]+):", line):
                program = result.setdefault(found.group(1), [])
            elif found := re.match(r"  input  (.+): (\S+) (\S+)$", line):
                shape = [] if found.group(2) == "scalar" else [int(extent) for extent in found.group(2).split("x")]
                program.append((found.group(1), shape, found.group(3)))
        return result

    def attempt(self, name, flags, train):
        title = f"{name}{' --train' if train else ''} --mesh {flags}"
        try:
            print(f"{title}: {self.run(name, flags, train)} bytes", flush=True)
        except Refusal as refusal:
            print(f"refused: {title}: {refusal}", flush=True)
        except Failure as failure:
            self.failures += 1
            print(f"FAILED: {title}: {failure}", flush=True)


def main():
    arguments = [one for one in sys.argv[1:] if one != "--mpi"]
    suite = Suite(os.path.abspath(arguments[0]), "--mpi" in sys.argv)
    cases = REDUCED
    if os.environ.get("WEFT_TEST_FULL") == "1":
        cases = [(name, flags, train) for name in MODELS for ranks in (2, 4, 8) for flags, train in layouts(ranks)]
        if len(arguments) == 1:
            cases = cases[int(time.time()) // 86400 % 6 :: 6]
    pattern = re.compile(arguments[1] if len(arguments) > 1 else "")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, flags, train in cases:
            if pattern.search(f"{name}{' --train' if train else ''} --mesh {flags}"):
                suite.attempt(name, flags, train)
    print(f"{suite.cases} layouts, {suite.collectives} collectives of a rank, arenas at most {suite.gaps:.4f} of what is "
          f"alive ({suite.beyond} beyond {GOAL}), {suite.failures} failed")
    least = 0 if len(arguments) > 1 else 0.8 * len(cases)
    return 1 if suite.failures or suite.cases < least or suite.collectives == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
