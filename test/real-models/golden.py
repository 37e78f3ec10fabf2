#!/usr/bin/env python3
# Records what the built models compute, by an independent float64 reference: golden.py WEFT_TRANSLATE DIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Outside the build: needs numpy, onnx (to read weights) and onnxruntime (to cross-check the fp32 model). It made
# test/python_free_frontend/builders/golden: per case the specification (spec.txt), inputs, and outputs in float64. The
# references below are plain loops and matrix products over the weights; they know nothing of the graph.
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

EPS = {"decoder": 1e-5, "encoder": 1e-12}


def layer_norm(x, w, name, eps):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x * w[name + ".weight"] + w[name + ".bias"]


def rms_norm(x, w, name):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS["decoder"]) * w[name + ".weight"]


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attend(q, k, v, causal=False, padding=None):
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if padding is not None:
        scores = np.where(padding[:, None, None, :] == 1, scores, -np.inf)
    mixed = softmax(scores) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


def rotate(x, theta):
    half = x.shape[-1] // 2
    angles = np.outer(np.arange(x.shape[-2]), theta ** (-np.arange(half) / half))
    first, second = x[..., :half], x[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def experts(x, w, name, group, top_k, capacity):
    """Token by token: each expert of each group takes the first `capacity` that ask for it."""
    w1, w2, w3 = (w[f"{name}.experts.{part}"] for part in ("w1", "w2", "w3"))
    out = np.zeros_like(x)
    for row in range(x.shape[0]):
        for begin in range(0, x.shape[1], group):
            tokens = x[row, begin : begin + group]
            logits = tokens @ w[name + ".gate.weight"]
            choices = np.argsort(-logits, axis=-1, kind="stable")[:, :top_k]
            gates = softmax(np.take_along_axis(logits, choices, 1))
            taken = np.zeros(w1.shape[0], int)
            for choice in range(top_k):
                for i, token in enumerate(tokens):
                    expert = choices[i, choice]
                    if taken[expert] < capacity:
                        made = (silu(token @ w1[expert]) * (token @ w3[expert])) @ w2[expert]
                        out[row, begin + i] += gates[i, choice] * made
                    taken[expert] += 1
    return out


def gpt2(w, feeds, s):
    ids = feeds["input_ids"]
    dense = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    norm = lambda x, name: layer_norm(x, w, name, EPS["decoder"])
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]
    for layer in range(s["layers"]):
        at = f"transformer.h.{layer}."
        q, k, v = np.split(dense(norm(x, at + "ln_1"), at + "attn.c_attn"), 3, -1)
        mixed = attend(*(split(part, s["heads"]) for part in (q, k, v)), causal=True)
        x = x + dense(mixed, at + "attn.c_proj")
        x = x + dense(gelu_tanh(dense(norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj")
    return [norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T]


def llama(w, feeds, s):
    theta, heads, kv_heads = s.get("rope_theta", 10000.0), s["heads"], s["kv_heads"]
    x = w["model.embed_tokens.weight"][feeds["input_ids"]]
    for layer in range(s["layers"]):
        at = f"model.layers.{layer}."
        y = rms_norm(x, w, at + "input_layernorm")
        project = lambda name, count: split(y @ w[f"{at}self_attn.{name}.weight"], count)
        q, k = rotate(project("q_proj", heads), theta), rotate(project("k_proj", kv_heads), theta)
        mixed = attend(q, k, project("v_proj", kv_heads), True, feeds.get("attention_mask"))
        x = x + mixed @ w[at + "self_attn.o_proj.weight"]
        y = rms_norm(x, w, at + "post_attention_layernorm")
        if "experts" in s:
            x = x + experts(y, w, at + "block_sparse_moe", s["group"], s["top_k"], s["capacity"])
        else:
            gate, up, down = (w[f"{at}mlp.{part}_proj.weight"] for part in ("gate", "up", "down"))
            x = x + (silu(y @ gate) * (y @ up)) @ down
    x = rms_norm(x, w, "model.norm")
    return [x @ w["lm_head.weight"] if "lm_head.weight" in w else x @ w["model.embed_tokens.weight"].T]


def encoder_dense(w):
    return lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]


def bert(w, feeds, s):
    dense, mask = encoder_dense(w), feeds["attention_mask"]
    norm = lambda x, name: layer_norm(x, w, name, EPS["encoder"])
    table = lambda name: w[f"embeddings.{name}_embeddings.weight"]
    x = table("word")[feeds["input_ids"]] + table("token_type")[feeds["token_type_ids"]]
    x = norm(x + table("position")[: mask.shape[1]], "embeddings.LayerNorm")
    for layer in range(s["layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (split(dense(x, f"{at}attention.self.{part}"), s["heads"]) for part in ("query", "key", "value"))
        x = norm(dense(attend(q, k, v, padding=mask), at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        inner = gelu(dense(x, at + "intermediate.dense"))
        x = norm(dense(inner, at + "output.dense") + x, at + "output.LayerNorm")
    first = np.tanh(x[:, 0] @ w["pooler.dense.weight"].T + w["pooler.dense.bias"])
    mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return [x, first, mean / np.linalg.norm(mean, axis=1, keepdims=True)]


def vit(w, feeds, s):
    dense, pixels, size = encoder_dense(w), feeds["pixel_values"], s["patch"]
    norm = lambda x, name: layer_norm(x, w, name, EPS["encoder"])
    kernel = w["vit.embeddings.patch_embeddings.projection.weight"]
    batch, channels, side, _ = pixels.shape
    count = side // size
    patches = pixels.reshape(batch, channels, count, size, count, size).transpose(0, 2, 4, 1, 3, 5)
    x = patches.reshape(batch, count * count, -1) @ kernel.reshape(kernel.shape[0], -1).T
    x = x + w["vit.embeddings.patch_embeddings.projection.bias"]
    token = np.broadcast_to(w["vit.embeddings.cls_token"], (batch, 1, x.shape[-1]))
    x = np.concatenate([token, x], 1) + w["vit.embeddings.position_embeddings"]
    for layer in range(s["layers"]):
        at = f"vit.encoder.layer.{layer}."
        y = norm(x, at + "layernorm_before")
        q, k, v = (split(dense(y, f"{at}attention.attention.{part}"), s["heads"]) for part in ("query", "key", "value"))
        x = x + dense(attend(q, k, v), at + "attention.output.dense")
        inner = gelu(dense(norm(x, at + "layernorm_after"), at + "intermediate.dense"))
        x = x + dense(inner, at + "output.dense")
    first = norm(x, "vit.layernorm")[:, 0]
    return [first @ w["classifier.weight"].T + w["classifier.bias"]]


SMALL = "layers=2,hidden=16,heads=4,vocab=32,seq=16,init=varied,std=0.2"
CASES = {
    "gpt2": (gpt2, f"gpt2:{SMALL}"),
    "llama": (llama, f"llama:{SMALL},kv_heads=2,ffn=24,rope_theta=500"),
    "llama-masked-tied": (llama, f"llama:{SMALL},kv_heads=1,ffn=24,tied=1,mask_input=1"),
    "moe": (llama, f"moe:{SMALL},kv_heads=2,ffn=24,experts=4,top_k=2,group=8,capacity=5"),
    "bert": (bert, f"bert:{SMALL},pooling=mean,normalize=1,pooler=1"),
    "vit": (vit, "vit:layers=2,hidden=16,heads=4,image=16,patch=4,classes=10,init=varied,std=0.2"),
}


def settings(spec):
    number = lambda text: float(text) if "." in text else int(text)
    pairs = (item.split("=") for item in spec.split(":")[1].split(","))
    return {key: number(value) for key, value in pairs if value.replace(".", "").isdigit()}


def weights_of(tool, spec, path):
    subprocess.run([tool, "--build", spec, "-o", path], check=True, capture_output=True)
    model = onnx.load(path)
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def record(tool, folder, name):
    reference, spec = CASES[name]
    random = np.random.default_rng(len(name))
    padding = np.ones((2, 16), np.int64)
    padding[1, 9:] = 0
    makers = {
        "input_ids": lambda: random.integers(0, 32, (2, 16)),
        "attention_mask": lambda: padding,
        "token_type_ids": lambda: random.integers(0, 2, (2, 16)),
        "pixel_values": lambda: random.standard_normal((2, 3, 16, 16)).astype(np.float32).astype(np.float64),
    }
    target = folder / name
    path = folder / f"{name}.onnx"
    narrow = weights_of(tool, spec, path)
    session = onnxruntime.InferenceSession(path)
    feeds = {i.name: makers[i.name]() for i in session.get_inputs()}
    widen = lambda w: {key: value.astype(np.float64) for key, value in w.items()}
    as_fp32 = {k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in feeds.items()}
    for found, wanted in zip(session.run(None, as_fp32), reference(widen(narrow), feeds, settings(spec))):
        error = np.abs(found - wanted).max() / np.abs(wanted).max()
        print(name, wanted.shape, "ONNX Runtime in fp32 differs by", error)
        assert error < 1e-5, name
    wide = weights_of(tool, spec + ",dtype=fp64", path)
    path.unlink()
    results = reference(wide, feeds, settings(spec))
    (target / "expected").mkdir(parents=True, exist_ok=True)
    (target / "spec.txt").write_text(spec + ",dtype=fp64\n")
    for key, value in feeds.items():
        np.save(target / f"{key}.npy", value)
    for output, value in zip(session.get_outputs(), results):
        np.save(target / "expected" / f"{output.name}.npy", value)


if __name__ == "__main__":
    for case in CASES:
        record(sys.argv[1], pathlib.Path(sys.argv[2]), case)
