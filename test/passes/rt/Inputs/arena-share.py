#!/usr/bin/env python3
# How much larger an arena is than what is alive in it at once.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: weft-compile ... --explain=json | arena-share.py MOST
Prints how much larger an arena is than what is alive in it at once, and fails beyond MOST.

Buffers begin at multiples of 64 bytes, of which half is lost on average: that much is not the plan's fault."""
import json
import sys

ALIGNMENT = 64


def memories(node):
    if isinstance(node, dict):
        if "arena_bytes" in node and "at_peak" in node:
            yield node
        node = list(node.values())
    for child in node if isinstance(node, list) else []:
        yield from memories(child)


shares = []
for memory in memories(json.load(sys.stdin)):
    alive = memory["not_listed_bytes"]
    for item in memory["at_peak"]:
        alive += -(-item["bytes"] // ALIGNMENT) * ALIGNMENT * item.get("count", 1)
    shares.append(memory["arena_bytes"] / alive)
print(" ".join(f"{share:.4f}" for share in shares))
sys.exit(not shares or max(shares) > float(sys.argv[1]))
