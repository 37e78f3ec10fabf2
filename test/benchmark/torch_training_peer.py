#!/usr/bin/env python3
# Time of a training step in PyTorch: fp32, AdamW, clipping, as test/benchmark/training.sh trains ours.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: torch_training_peer.py gpt2 LAYERS HIDDEN HEADS VOCAB SEQ BATCH THREADS
#        torch_training_peer.py resnet18 SIZE CLASSES BATCH THREADS
# prints the median and the least of ten steps in milliseconds, and the least processor time of one.
import statistics
import sys
import time

import torch
import torch.nn.functional as F

kind, numbers = sys.argv[1], list(map(int, sys.argv[2:]))
torch.set_num_threads(numbers[-1])
torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, hidden, heads, seq):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv, self.out = torch.nn.Linear(hidden, 3 * hidden), torch.nn.Linear(hidden, hidden)
        self.up, self.down = torch.nn.Linear(hidden, 4 * hidden), torch.nn.Linear(4 * hidden, hidden)
        self.register_buffer("hidden_from", torch.ones(seq, seq).triu(1).bool())

    def forward(self, x):
        batch, seq, hidden = x.shape
        q, k, v = (t.view(batch, seq, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(hidden, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(2, 3)) * (hidden // self.heads) ** -0.5
            mixed = scores.masked_fill(self.hidden_from, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt2(torch.nn.Module):
    def __init__(self, layers, hidden, heads, vocab, seq):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(vocab, hidden), torch.nn.Embedding(seq, hidden)
        self.blocks = torch.nn.Sequential(*[Block(hidden, heads, seq) for _ in range(layers)])
        self.norm = torch.nn.LayerNorm(hidden)

    def forward(self, ids):
        x = self.blocks(self.tokens(ids) + self.positions(torch.arange(ids.shape[1])))
        return F.linear(self.norm(x), self.tokens.weight)


def conv(inputs, outputs, size, stride):
    return torch.nn.Sequential(
        torch.nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), torch.nn.BatchNorm2d(outputs)
    )


class Residual(torch.nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv(inputs, outputs, 3, stride), conv(outputs, outputs, 3, 1)
        self.down = conv(inputs, outputs, 1, stride) if inputs != outputs else torch.nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.down(x))


class Resnet18(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = conv(3, 64, 7, 2)
        pairs = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        self.layers = torch.nn.Sequential(*[Residual(*p) for i, o, s in pairs for p in ((i, o, s), (o, o, 1))])
        self.head = torch.nn.Linear(512, classes)

    def forward(self, x):
        return self.head(self.layers(F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)).mean((2, 3)))


if kind == "gpt2":
    layers, hidden, heads, classes, seq, batch = numbers[:6]
    model = Gpt2(layers, hidden, heads, classes, seq)
    data, labels = torch.randint(classes, (batch, seq)), torch.randint(classes, (batch, seq))
else:
    size, classes, batch = numbers[:3]
    model = Resnet18(classes)
    data, labels = torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
times, processor = [], []
for step in range(15):
    start, before = time.perf_counter(), time.process_time()
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(data).view(-1, classes), labels.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    times.append(1000 * (time.perf_counter() - start))
    processor.append(1000 * (time.process_time() - before))
print(f"{statistics.median(times[5:]):.1f} {min(times[5:]):.1f} {min(processor[5:]):.1f}")
