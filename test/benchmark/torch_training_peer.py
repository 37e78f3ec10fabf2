#!/usr/bin/env python3
# Median time of a GPT-2 training step in PyTorch: fp32, AdamW, clipping, as test/benchmark/training.sh trains ours.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: torch_training_peer.py LAYERS HIDDEN HEADS VOCAB SEQ BATCH THREADS; prints milliseconds.
import statistics
import sys
import time

import torch
import torch.nn.functional as F

layers, hidden, heads, vocab, seq, batch, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)
torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv, self.out = torch.nn.Linear(hidden, 3 * hidden), torch.nn.Linear(hidden, hidden)
        self.up, self.down = torch.nn.Linear(hidden, 4 * hidden), torch.nn.Linear(4 * hidden, hidden)
        self.register_buffer("hidden_from", torch.ones(seq, seq).triu(1).bool())

    def forward(self, x):
        q, k, v = (t.view(batch, seq, heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(hidden, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(2, 3)) * (hidden // heads) ** -0.5
            mixed = scores.masked_fill(self.hidden_from, float("-inf")).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, seq, hidden))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt2(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(vocab, hidden), torch.nn.Embedding(seq, hidden)
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(layers)])
        self.norm = torch.nn.LayerNorm(hidden)

    def forward(self, ids):
        x = self.blocks(self.tokens(ids) + self.positions(torch.arange(seq)))
        return F.linear(self.norm(x), self.tokens.weight)


model = Gpt2()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids, labels = torch.randint(vocab, (batch, seq)), torch.randint(vocab, (batch, seq))
times = []
for step in range(15):
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(ids).view(-1, vocab), labels.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    times.append(time.perf_counter() - start)
print(f"{1000 * statistics.median(times[5:]):.1f}")
