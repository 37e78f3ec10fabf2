#!/usr/bin/env python3
# Trains whole models with PyTorch and with compiled programs from the same weights and batches; prints how far they differ.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: compare.py BUILD-BIN [--steps N] [MODEL...]; no part of the build: it needs PyTorch. run.sh finds one.
#
# fp64, from a file in fp64: gradients of the first step per tensor, and 5 (--steps) of AdamW with clipping, a schedule and
# parameter groups, on one rank, on other layouts and in the oracle, all to 1e-9 (l2 norm of the difference over that of
# the truth, per tensor).
# fp32, from a file in fp32: the error of our gradients against PyTorch's in fp64 is at most twice the error of PyTorch's in
# fp32, per tensor and as a whole, over BATCHES batches (a bias of ten numbers on one batch is a matter of luck), on one
# rank and on the first layout. Tensors whose true gradient is below 1e-6 of the global norm (a key bias has none but
# rounding) are listed; they count into the whole.
import argparse, math, os, shutil, sys, tempfile
import numpy as np
import torch
import torch.nn.functional as F
import models, weft

BATCHES, LIMIT, SMALL, MARGIN = 8, 1e-9, 1e-6, 2e-6
LR, DECAY, CLIP, WARMUP = 1e-2, 0.1, 0.5, 3
GROUP = ("fc|head|classifier|embed|wte", 0.5, 0.02)  # pattern, lr_scale, weight_decay


def tokens(rng, shape, s):
    return rng.integers(0, s["vocab"], shape)


def targets(rng, shape, classes, ignored=0.1):
    labels = rng.integers(0, classes, shape)
    labels[rng.random(shape) < ignored] = -100
    return labels


def decoder(rng, rows, s):
    shape = (rows, s["seq"])
    return {"input_ids": tokens(rng, shape, s), "labels": targets(rng, shape, s["vocab"])}


def masked(rng, rows, s):
    shape = (rows, s["seq"])
    lengths = rng.integers(s["seq"] // 2, s["seq"] + 1, (rows, 1))
    mask = (np.arange(s["seq"]) < lengths).astype(np.int64)
    labels = targets(rng, shape, s["vocab"], 0.6)
    labels[mask == 0] = -100
    return {"input_ids": tokens(rng, shape, s), "attention_mask": mask, "token_type_ids": rng.integers(0, 2, shape),
            "labels": labels}


def pictures(rng, rows, s):
    return {"pixel_values": rng.normal(0, 1, (rows, s["channels"], s["image"], s["image"])).astype(np.float32),
            "labels": targets(rng, (rows,), s["classes"], 0.2)}


GRID, THREE, PARTS = "dp=2,tp=2 --zero 1", "dp=4 --zero 3", "dp=2 --zero 2 --microbatches 2"
TEXT = "layers=2,hidden=64,heads=4,vocab=97,seq=12,std=0.1"
# name -> forward pass, kind and specification, batch, data, layouts, parts of the batch with statistics of their own
CASES = {
    "gpt2": (models.gpt2, "gpt2:" + TEXT, 4, decoder, [GRID, THREE, PARTS]),
    "llama": (models.llama, f"llama:{TEXT},kv_heads=2,ffn=96", 4, decoder, [GRID, THREE, PARTS]),
    "bert": (models.bert, f"bert:{TEXT},types=2,head=mlm", 4, masked, [GRID, THREE, PARTS]),
    "vit": (models.vit, "vit:layers=2,hidden=64,heads=4,image=16,patch=4,channels=3,classes=10,std=0.1", 4, pictures,
            [GRID, THREE, PARTS]),
    "resnet": (models.resnet, "resnet:layers=18,hidden=8,image=16,channels=3,classes=10,stem=cifar", 4, pictures,
               ["dp=2", GRID, THREE]),
    # Statistics of each microbatch, as PyTorch has them when it accumulates gradients.
    "resnet-parts": (models.resnet, "resnet:layers=10,hidden=8,image=16,channels=3,classes=10,stem=cifar", 8, pictures,
                     ["dp=2", GRID, "dp=4 --zero 3"], 2),
    "resnet-stem": (models.resnet, "resnet:layers=10,hidden=8,image=64,channels=3,classes=10,stem=imagenet", 4, pictures,
                    ["dp=2"]),
}


def distance(found, true):
    """l2 norm of the difference relative to that of the truth."""
    norm = np.linalg.norm(true)
    gap = np.linalg.norm(np.asarray(found, np.float64) - true)
    return gap / norm if norm else gap


class Case:
    def __init__(self, name, tools, work, steps):
        self.name, self.tools, self.work, self.steps = name, tools, os.path.join(work, name), steps
        self.forward, spec, self.batch, make, self.layouts, *parts = CASES[name]
        self.parts = parts[0] if parts else 1
        os.mkdir(self.work)
        self.start = {}
        for precision in ("fp64", "fp32"):
            weft.run(f"{tools}/weft-translate", "--build", f"{spec},init=varied,seed=5,dtype={precision}", "-o",
                     self.model(precision))
            self.start[precision] = weft.initializers(self.model(precision))
        self.spec = {key: int(value) if value.isdigit() else value
                     for key, value in (item.split("=") for item in spec.split(":")[1].split(","))}
        self.data, rejected = self.batches(make)
        if rejected:
            print(f"{name:12} {rejected} of {max(BATCHES, steps) + rejected} batches come too close to a kink and are not taken")
        for key, value in self.data.items():
            for step in range(max(BATCHES, steps)):  # file k starts with batch k
                np.save(f"{self.work}/{key}.{step}.npy", value[step * self.batch :])
        self.failed, self.rows = False, []

    def batches(self, make):
        """Batches on which no kink (ReLU, largest of a window) is within what fp32 rounds."""
        rng, taken, rejected = np.random.default_rng(1), [], 0
        while len(taken) < max(BATCHES, self.steps):
            self.data = make(rng, self.batch, self.spec)
            models.margin = math.inf
            self.loss(self.weights(torch.float64, "fp32"), 0)
            if models.margin > MARGIN:
                taken.append(self.data)
            else:
                rejected += 1
        return {key: np.concatenate([batch[key] for batch in taken]) for key in taken[0]}, rejected

    def row(self, what, figure, limit, note=""):
        good = figure <= limit
        self.failed |= not good
        print(f"{self.name:12} {what:52} {figure:9.2e} <= {limit:.0e}  {'ok' if good else 'FAIL'}  {note}", flush=True)

    # ---- Weft

    def model(self, precision):
        return f"{self.work}/{precision}.onnx"

    def flags(self):
        bind = f"batch={self.batch}" + (f",seq={self.spec['seq']}" if "seq" in self.spec else "")
        return ["--bind", bind, "--loss", "softmax_cross_entropy:logits,labels"]

    def feed(self, first=0):
        return [flag for key in self.data for flag in ("--data", f"{key}={self.work}/{key}.{first}.npy")]

    def compile(self, precision, layout, optimizer):
        weft.run(f"{self.tools}/weft-compile", "-q", self.model(precision), "--precision", precision, "--train", *self.flags(),
                 *optimizer, *(["--mesh", *layout.split()] if layout else []),
                 *(["--microbatches", self.parts, "--batch-stats", "per-microbatch"] if self.parts > 1 else []),
                 "-o", f"{self.work}/program")

    def train(self, steps, first=0):
        """Log lines and state after some steps of the compiled program, from a batch on."""
        log, saved = f"{self.work}/log.jsonl", f"{self.work}/saved"
        shutil.rmtree(saved, ignore_errors=True)
        weft.run(f"{self.tools}/weft-run", f"{self.work}/program", *self.feed(first), "--steps", steps, "--log", log,
                 "--save", saved)
        return weft.lines(log), weft.checkpoint(saved)

    def gradients(self, precision, layout="", batches=1):
        """Per batch, loss and gradients of a first step: what momentum buffers start with."""
        self.compile(precision, layout, ["--optimizer", "momentum:lr=0,momentum=0.9"])
        mark = "#momentum_buffer"
        for batch in range(batches):
            log, state = self.train(1, batch)
            yield log[0], {key[: -len(mark)]: value for key, value in state.items() if key.endswith(mark)}

    def adamw(self):
        pattern, scale, decay = GROUP
        return ["--optimizer", f"adamw:lr={LR},weight_decay={DECAY},clip={CLIP},schedule=linear,warmup={WARMUP},total={2 * self.steps}",
                "--param-group", f"{pattern}:lr_scale={scale},weight_decay={decay}"]

    def oracle(self):
        text = weft.run(f"{self.tools}/weft-train-oracle", self.model("fp64"), *self.flags(), *self.adamw(), *self.feed(),
                        "--steps", self.steps, "--batch-parts", self.parts, "--write", f"{self.work}/oracle")
        words = [line.split() for line in text.splitlines()]
        log = [{"loss": float(w[3]), "grad_norm": float(w[5]), "lr": float(w[7])} for w in words]
        state = {f[:-4]: np.fromfile(f"{self.work}/oracle/{f}") for f in os.listdir(f"{self.work}/oracle")}
        return log, state

    # ---- PyTorch

    def weights(self, dtype, file):
        w = {key: torch.tensor(value).to(dtype) for key, value in self.start[file].items()}
        for key, value in w.items():
            value.requires_grad_("running_" not in key)
        return w

    def loss(self, w, step):
        rows = slice(step * self.batch, (step + 1) * self.batch)
        dtype = next(iter(w.values())).dtype
        x = {key: torch.tensor(value[rows]) for key, value in self.data.items()}
        x = {key: value.to(dtype) if value.is_floating_point() else value for key, value in x.items()}
        # As gradients are accumulated: part by part, over the labels that count in all of them.
        total = 0
        for rows in torch.arange(self.batch).chunk(self.parts):
            logits = self.forward(w, self.spec, {key: value[rows] for key, value in x.items()})
            total += F.cross_entropy(logits.reshape(-1, logits.shape[-1]), x["labels"][rows].reshape(-1), reduction="sum")
        return total / (x["labels"] != -100).sum()

    def true_gradients(self, dtype, file, batch=0):
        w = self.weights(dtype, file)
        loss = self.loss(w, batch)
        loss.backward()
        return loss.item(), {key: value.grad.numpy().astype(np.float64) for key, value in w.items() if value.requires_grad}

    def true_training(self):
        """PyTorch's own AdamW and clipping in fp64."""
        w = self.weights(torch.float64, "fp64")
        trained = {key: value for key, value in w.items() if value.requires_grad}
        pattern, scale, decay = GROUP
        groups = {}
        for key, value in trained.items():
            special = models.matches(pattern, key)
            # Biases and norms do not decay, unless a group says so for its members.
            kind = (scale, decay) if special else (1.0, DECAY if value.dim() > 1 else 0.0)
            groups.setdefault(kind, []).append(value)
        optimizer = torch.optim.AdamW([{"params": p, "lr": LR * s, "weight_decay": d, "scale": s} for (s, d), p in groups.items()])
        log = []
        for k in range(self.steps):
            rate = LR * ((k + 1) / WARMUP if k < WARMUP else 1 - (k - WARMUP) / (2 * self.steps - WARMUP))
            for group in optimizer.param_groups:
                group["lr"] = rate * group["scale"]
            optimizer.zero_grad()
            loss = self.loss(w, k)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(list(trained.values()), CLIP)
            optimizer.step()
            log.append({"loss": loss.item(), "grad_norm": float(norm), "lr": rate})
        state = {key: value.detach().numpy() for key, value in w.items()}
        for key, value in trained.items():
            for slot in ("exp_avg", "exp_avg_sq"):
                state[f"{key}#{slot}"] = optimizer.state[value][slot].numpy()
        return log, state

    # ---- Comparisons

    def compare_gradients(self):
        loss, true = self.true_gradients(torch.float64, "fp64")
        norm = np.sqrt(sum(np.sum(g * g) for g in true.values()))
        small = {key for key, g in true.items() if np.linalg.norm(g) < SMALL * norm}
        for layout in ("", *self.layouts):
            line, found = next(self.gradients("fp64", layout))
            missing = set(true) ^ set(found)
            if missing:
                raise SystemExit(f"{self.name}: only one side has gradients of {sorted(missing)}")
            worst, at = max((distance(found[key], true[key]), key) for key in true if key not in small)
            # Of a gradient that is nothing but rounding, the size is what can be compared.
            dust = max((np.linalg.norm(found[key] - true[key]) / norm for key in small), default=0)
            rest = max(abs(line["loss"] - loss) / loss, abs(line["grad_norm"] - norm) / norm, dust)
            self.row(f"fp64 gradients, {layout or 'one rank'}", max(worst, rest), LIMIT, f"{len(true)} tensors; {at}")
        self.compare_single(small)

    def compare_single(self, small):
        truths = [[self.true_gradients(dtype, "fp32", batch)[1] for dtype in (torch.float64, torch.float32)]
                  for batch in range(BATCHES)]
        for layout in ("", self.layouts[0]):
            # Sums over all batches of squared errors of ours and theirs, and of squared gradients.
            sums = {}
            for (_, ours), (true, theirs) in zip(self.gradients("fp32", layout, BATCHES), truths):
                for key, g in true.items():
                    squares = [np.sum((x - g) ** 2) for x in (ours[key], theirs[key])] + [np.sum(g * g)]
                    sums[key] = sums.get(key, 0) + np.array(squares)

            def errors(squares):
                return np.sqrt(squares[:2] / squares[2])

            def told(squares):
                return " / ".join(f"{x:.1e}" for x in errors(squares))

            whole = sum(sums.values())
            ratio = {key: np.divide(*errors(squares)) for key, squares in sums.items() if key not in small}
            at = max(ratio, key=ratio.get)
            self.row(f"fp32 error over PyTorch's, {layout or 'one rank'}", np.divide(*errors(whole)), 2, told(whole))
            self.row(f"fp32 worst tensor, {layout or 'one rank'}", ratio[at], 2,
                     f"median {np.median(list(ratio.values())):.2f}; {at} {told(sums[at])}")
        if small:
            print(f"{'':12} below 1e-6 of the norm: {' '.join(sorted(small))}")

    def compare_training(self):
        log, true = self.true_training()
        clipped = sum(line["grad_norm"] > CLIP for line in log)
        for layout in ("", *self.layouts, None):
            if layout is None:
                lines, state = self.oracle()
            else:
                self.compile("fp64", layout, self.adamw())
                lines, state = self.train(self.steps)
            if len(lines) != self.steps:
                raise SystemExit(f"{self.name}: {len(lines)} lines for {self.steps} steps")
            worst = max(abs(line[key] - want[key]) / abs(want[key]) for line, want in zip(lines, log) for key in want)
            missing = set(true) - set(state)
            if missing:
                raise SystemExit(f"{self.name}: no state {sorted(missing)}")
            # A second moment of rounding is rounding squared: held to the size of what it scales.
            far = {key: np.linalg.norm(state[key].reshape(true[key].shape) - true[key]) / max(np.linalg.norm(true[key]), 1e-6)
                   for key in true}
            at = max(far, key=far.get)
            self.row(f"fp64 {self.steps} AdamW steps, {'oracle' if layout is None else layout or 'one rank'}", max(worst, far[at]), LIMIT,
                     f"loss {log[0]['loss']:.4f} -> {log[-1]['loss']:.4f}, {clipped} clipped; {at}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tools")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=" ".join(CASES))
    given = parser.parse_intermixed_args()
    names = given.models or list(CASES)
    if unknown := [name for name in names if name not in CASES]:
        parser.error(f"unknown {' '.join(unknown)}; models are {' '.join(CASES)}")
    torch.manual_seed(0)
    failed = []
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            case = Case(name, given.tools, work, given.steps)
            case.compare_gradients()
            case.compare_training()
            failed += [name] if case.failed else []
            shutil.rmtree(case.work)
    print(f"{len(names)} models compared, {len(failed)} differ{': ' + ' '.join(failed) if failed else ''}")
    sys.exit(1 if failed else 0)


main()
