#!/usr/bin/env python3
# Trains convolution, batch normalisation and a classifier in fp64 with PyTorch and with our oracle; prints how far they differ.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: torch_convnet.py BUILD-BIN [STEPS]; no part of the build: it needs PyTorch.
import os, subprocess, sys, tempfile
import numpy as np
import torch
import torch.nn.functional as F

BATCH, CHANNELS, SIZE, CLASSES, LR, MOMENTUM = 4, 4, 6, 5, 0.05, 0.9


def main():
    tools = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    work = tempfile.mkdtemp()
    rng = np.random.default_rng(1)
    shapes = {"conv": (CHANNELS, 2, 3, 3), "scale": (CHANNELS,), "shift": (CHANNELS,), "mean": (CHANNELS,),
              "variance": (CHANNELS,), "fc": (CHANNELS, CLASSES), "bias": (CLASSES,)}
    start = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    start["mean"][:], start["variance"][:] = 0, 1
    weights = ", ".join(f"float[{', '.join(map(str, value.shape))}] {name} = {{{', '.join(repr(float(v)) for v in value.flat)}}}"
                        for name, value in start.items())
    with open(f"{work}/net.txt", "w") as file:
        file.write(f"""<ir_version: 8, opset_import: ["": 17]>
g (float[{BATCH}, 2, {SIZE}, {SIZE}] x) => (float[{BATCH}, {CLASSES}] logits)
<{weights}>
{{
  c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, conv)
  n = BatchNormalization(c, scale, shift, mean, variance)
  r = Relu(n)
  p = GlobalAveragePool(r)
  f = Flatten(p)
  logits = Gemm(f, fc, bias)
}}
""")
    subprocess.run([f"{tools}/weft-translate", "--text-to-onnx", f"{work}/net.txt", "-o", f"{work}/net.onnx"], check=True)
    x = rng.normal(0, 1, (steps * BATCH, 2, SIZE, SIZE)).astype(np.float32)
    labels = rng.integers(0, CLASSES, steps * BATCH)
    np.save(f"{work}/x.npy", x)
    np.save(f"{work}/labels.npy", labels.astype(np.int64))

    w = {name: torch.tensor(value.astype(np.float64)) for name, value in start.items()}
    trained = [w[name].requires_grad_(True) for name in ("conv", "scale", "shift", "fc", "bias")]
    optimizer = torch.optim.SGD(trained, lr=LR, momentum=MOMENTUM, nesterov=True)
    expected = []
    for k in range(steps):
        batch = slice(k * BATCH, (k + 1) * BATCH)
        optimizer.zero_grad()
        y = F.conv2d(torch.tensor(x[batch].astype(np.float64)), w["conv"], padding=1)
        # ONNX keeps the biased variance where PyTorch keeps the unbiased one; the momentum is of the old value, both factors are of fp32.
        with torch.no_grad():
            kept, new = float(np.float32(0.9)), float(np.float32(0.1))
            w["mean"].mul_(kept).add_(y.mean((0, 2, 3)), alpha=new)
            w["variance"].mul_(kept).add_(y.var((0, 2, 3), unbiased=False), alpha=new)
        y = F.batch_norm(y, None, None, w["scale"], w["shift"], training=True, eps=float(np.float32(1e-5)))
        y = F.relu(y).mean((2, 3)) @ w["fc"] + w["bias"]
        loss = F.cross_entropy(y, torch.tensor(labels[batch]))
        loss.backward()
        optimizer.step()
        expected.append(loss.item())

    text = subprocess.run([f"{tools}/weft-train-oracle", f"{work}/net.onnx", "--steps", str(steps), "--loss",
                           "softmax_cross_entropy:logits,labels", "--optimizer", f"nesterov:lr={LR},momentum={MOMENTUM}",
                           "--data", f"x={work}/x.npy", "--data", f"labels={work}/labels.npy", "--write", f"{work}/state",
                           *sys.argv[3:]], check=True, capture_output=True, text=True).stdout
    losses = [float(line.split()[3]) for line in text.splitlines()]
    worst = max(abs(a - b) for a, b in zip(losses, expected))
    print(f"{steps} steps, loss {expected[0]:.6f} -> {expected[-1]:.6f}; losses differ by at most {worst:.3e}")
    for name, tensor in w.items():
        true = tensor.detach().numpy()
        found = np.fromfile(f"{work}/state/{name}.f64").reshape(true.shape)
        worst = max(worst, np.abs(found - true).max() / max(1, np.abs(true).max()))
    print(f"{len(w)} weights and statistics after the last step: at most {worst:.3e}")
    sys.exit(0 if len(losses) == steps and worst <= 1e-9 else 1)


main()
