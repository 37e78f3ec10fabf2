#!/usr/bin/env python3
# A loss curve of the compiled program beside PyTorch's AdamW in fp64: a 6-layer GPT on Debian's dict-gcide.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: torch_curve.py BUILD-BIN [STEPS [weft-compile's flags for a layout...]]; no part of the build: it needs PyTorch.
#
# The same weights, batches, clipping and schedule; every loss and norm of gradients of all steps to 1e-9, relatively.
import gzip, math, sys, tempfile
import torch
import torch.nn.functional as F
import models, weft

LAYERS, HIDDEN, HEADS, VOCAB, SEQ, BATCH = 6, 64, 4, 256, 32, 8
LR, WARMUP, DECAY, CLIP = 3e-3, 10, 0.01, 1.0


def main():
    tools = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as work:
        compare(tools, steps, sys.argv[3:], work)


def compare(tools, steps, layout, work):
    text = gzip.open("/usr/share/dictd/gcide.dict.dz").read((1 << 20) + steps * BATCH * SEQ + 1)[1 << 20 :]
    with open(f"{work}/english.txt", "wb") as file:
        file.write(text)
    weft.run(f"{tools}/weft-translate", "--build",
             f"gpt2:layers={LAYERS},hidden={HIDDEN},heads={HEADS},vocab={VOCAB},seq={SEQ},dtype=fp64", "-o", f"{work}/gpt.onnx")
    weft.run(f"{tools}/weft-compile", "-q", f"{work}/gpt.onnx", "--bind", f"batch={BATCH},seq={SEQ}", "--precision", "fp64",
             "--train", "--loss", "softmax_cross_entropy:logits,labels", "--optimizer",
             f"adamw:lr={LR},weight_decay={DECAY},clip={CLIP},schedule=cosine,warmup={WARMUP},total={steps}", *layout,
             "-o", f"{work}/program")
    weft.run(f"{work}/program", "--data-tokens", f"{work}/english.txt:byte", "--steps", steps, "--log", f"{work}/log.jsonl")
    lines = weft.lines(f"{work}/log.jsonl")

    w = {name: torch.tensor(array.copy(), requires_grad=True) for name, array in weft.initializers(f"{work}/gpt.onnx").items()
         if name.startswith("transformer.")}
    optimizer = torch.optim.AdamW([{"params": [p for p in w.values() if p.dim() >= 2], "weight_decay": DECAY},
                                   {"params": [p for p in w.values() if p.dim() < 2], "weight_decay": 0.0}], lr=LR)
    tokens = torch.tensor(list(text), dtype=torch.int64)
    worst = 0.0
    for k in range(steps):
        starts = [(k * BATCH + row) * SEQ for row in range(BATCH)]
        ids = torch.stack([tokens[i : i + SEQ] for i in starts])
        labels = torch.stack([tokens[i + 1 : i + SEQ + 1] for i in starts])
        factor = (k + 1) / WARMUP if k < WARMUP else (1 + math.cos(math.pi * (k - WARMUP) / (steps - WARMUP))) / 2
        for group in optimizer.param_groups:
            group["lr"] = LR * factor
        optimizer.zero_grad()
        logits = models.gpt2(w, {"layers": LAYERS, "heads": HEADS}, {"input_ids": ids})
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), labels.reshape(-1))
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_(list(w.values()), CLIP))
        optimizer.step()
        worst = max(worst, abs(lines[k]["loss"] / loss.item() - 1), abs(lines[k]["grad_norm"] / norm - 1))
        first = loss.item() if k == 0 else first
    print(f"{steps} steps of AdamW, {len(w)} weights, loss {first:.4f} -> {loss.item():.4f}: losses and norms of "
          f"{' '.join(layout) or 'one rank'} differ from PyTorch's by at most {worst:.2e}")
    sys.exit(0 if len(lines) == steps and worst <= 1e-9 else 1)


main()
