#!/usr/bin/env python3
# Trains GPT-2 in fp64 with PyTorch and with our oracle from the same weights and batches; prints how far they differ.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: torch_gpt2.py BUILD-BIN [STEPS]; no part of the build: it needs PyTorch.
import math, os, re, subprocess, sys, tempfile
import numpy as np
import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, VOCAB, SEQ, BATCH = 2, 32, 4, 50, 12, 4
LR, WARMUP, TOTAL, CLIP = 1e-2, 5, 40, 1.0


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def weights_of(compile_tool, model):
    """The weights of the model as the compiler sees them: name -> fp64 tensor."""
    text = run(compile_tool, model, "--bind", f"batch={BATCH},seq={SEQ}", "--compile-to", "graph", "-q",
               "--train", "--loss", "softmax_cross_entropy:logits,labels", "--optimizer", "sgd")
    weights = {}
    argument = r'tensor<([\dx]+)xf32> \{nn\.name = "([^"]+)", nn\.source = #nn\.source<([^>]*)>'
    for dims, name, source in re.findall(argument, text):
        field = dict(re.findall(r'(\w+) = "?([^",>]+)"?', source))
        shape = [int(d) for d in dims.split("x")]
        path = os.path.join(os.path.dirname(model), field["file"])
        array = np.fromfile(path, dtype="<f4", count=int(np.prod(shape)), offset=int(field["offset"]))
        weights[name] = torch.tensor(array.reshape(shape).astype(np.float64))
    for initial, dims, name in re.findall(r'tensor<[\dx]+xf32> \{nn\.initial = dense<([^>]*)> : tensor<([\dx]+)xf32>, '
                                          r'nn\.name = "([^"]+)"', text):
        shape = [int(d) for d in dims.split("x")]
        if initial.startswith('"0x'):
            array = np.frombuffer(bytes.fromhex(initial[3:-1]), dtype="<f4").astype(np.float64).reshape(shape)
        else:
            values = [float(v) for v in initial.strip("[]").replace("[", "").replace("]", "").split(",")]
            array = np.broadcast_to(np.array(values).reshape(shape if len(values) > 1 else []), shape).copy()
        weights[name] = torch.tensor(array)
    return weights


def f32(number):
    """The file holds numbers of the formula in fp32."""
    return float(np.float32(number))


def gpt2(w, ids):
    def norm(x, name):
        return F.layer_norm(x, (HIDDEN,), w[name + ".weight"], w[name + ".bias"], f32(1e-5))

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]
    mask = torch.triu(torch.full((SEQ, SEQ), -math.inf, dtype=torch.float64), 1)
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        y = norm(x, p + "ln_1") @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]
        q, k, v = (t.view(BATCH, SEQ, HEADS, -1).transpose(1, 2) for t in y.split(HIDDEN, dim=2))
        scores = q @ k.transpose(2, 3) / f32(math.sqrt(HIDDEN // HEADS)) + mask
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(BATCH, SEQ, HIDDEN)
        x = x + y @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
        y = norm(x, p + "ln_2") @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]
        y = 0.5 * y * (1 + torch.tanh(f32(math.sqrt(2 / math.pi)) * (y + f32(0.044715) * y**3)))
        x = x + y @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
    return norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T


def main():
    tools = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    work = tempfile.mkdtemp()
    model = os.path.join(work, "gpt2.onnx")
    run(f"{tools}/weft-translate", "--build",
        f"gpt2:layers={LAYERS},hidden={HIDDEN},heads={HEADS},vocab={VOCAB},seq={SEQ},seed=5,std=0.2", "-o", model)
    rng = np.random.default_rng(0)
    ids = rng.integers(0, VOCAB, (steps * BATCH, SEQ))
    labels = rng.integers(0, VOCAB, (steps * BATCH, SEQ))
    labels[rng.random(labels.shape) < 0.1] = -100
    np.save(f"{work}/ids.npy", ids.astype(np.int64))
    np.save(f"{work}/labels.npy", labels.astype(np.int64))

    w = weights_of(f"{tools}/weft-compile", model)
    for tensor in w.values():
        tensor.requires_grad_(True)
    optimizer = torch.optim.AdamW([{"params": [p for p in w.values() if p.dim() >= 2], "weight_decay": 0.1},
                                   {"params": [p for p in w.values() if p.dim() < 2], "weight_decay": 0.0}], lr=LR)
    expected = []
    for k in range(steps):
        batch = slice(k * BATCH, (k + 1) * BATCH)
        progress = min(1, (k - WARMUP) / (TOTAL - WARMUP))
        factor = (k + 1) / WARMUP if k < WARMUP else (1 + math.cos(math.pi * progress)) / 2
        for group in optimizer.param_groups:
            group["lr"] = LR * factor
        optimizer.zero_grad()
        logits = gpt2(w, torch.tensor(ids[batch]))
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), torch.tensor(labels[batch]).reshape(-1))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(w.values()), CLIP)
        optimizer.step()
        expected.append((loss.item(), float(norm)))

    text = run(f"{tools}/weft-train-oracle", model, "--bind", f"batch={BATCH},seq={SEQ}", "--steps", str(steps),
               "--loss", "softmax_cross_entropy:logits,labels", "--optimizer",
               f"adamw:lr={LR},weight_decay=0.1,clip={CLIP},schedule=cosine,warmup={WARMUP},total={TOTAL}",
               "--data", f"input_ids={work}/ids.npy", "--data", f"labels={work}/labels.npy", "--write", f"{work}/state",
               *sys.argv[3:])
    worst = 0.0
    for (loss, norm), line in zip(expected, text.splitlines()):
        fields = line.split()
        worst = max(worst, abs(float(fields[3]) - loss), abs(float(fields[5]) - norm) / max(1, norm))
    print(f"{steps} steps, loss {expected[0][0]:.6f} -> {expected[-1][0]:.6f}; "
          f"losses and norms differ by at most {worst:.3e}")
    for name, tensor in w.items():
        found = np.fromfile(f"{work}/state/{name}.f64").reshape(tuple(tensor.shape))
        true = tensor.detach().numpy()
        worst = max(worst, np.abs(found - true).max() / max(1, np.abs(true).max()))
    print(f"{len(w)} weights after the last step: at most {worst:.3e}")
    sys.exit(0 if len(text.splitlines()) == steps and worst <= 1e-9 else 1)


main()
