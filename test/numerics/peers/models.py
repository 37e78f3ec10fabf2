# GPT-2, Llama, BERT, ViT and ResNet in PyTorch, layer by layer, over the weights of a file that weft-translate built.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# They know the formulas and the names of the weights, nothing of the graphs. `w` maps names to tensors, `s` holds the
# numbers of the specification, `x` the inputs. Every forward pass gives logits; ResNet also moves w's running statistics.
import math, re
import numpy as np
import torch
import torch.nn.functional as F


def f32(number):
    """An attribute of a node, which ONNX holds in fp32 whatever the weights are."""
    return float(np.float32(number))


def matches(pattern, name):
    return re.search(pattern, name) is not None


def dense(x, w, name):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def layer_norm(x, w, name, eps):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], f32(eps))


def attend(q, k, v, heads, mask=None):
    """[batch, seq, heads * size] each; k and v may have fewer heads, shared by groups of queries."""
    batch, seq, width = q.shape
    q, k, v = (t.view(batch, seq, -1, width // heads).transpose(1, 2) for t in (q, k, v))
    return merge(q, k, v, mask)


def merge(q, k, v, mask):
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    y = torch.softmax(scores, -1) @ v
    return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)


def causal(seq):
    return torch.ones(seq, seq, dtype=torch.bool).tril()


def gpt2(w, s, x):
    ids = x["input_ids"]
    y = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]
    for layer in range(s["layers"]):
        at = f"transformer.h.{layer}."
        q, k, v = dense(layer_norm(y, w, at + "ln_1", 1e-5), w, at + "attn.c_attn").chunk(3, -1)
        y = y + dense(attend(q, k, v, s["heads"], causal(ids.shape[1])), w, at + "attn.c_proj")
        z = dense(layer_norm(y, w, at + "ln_2", 1e-5), w, at + "mlp.c_fc")
        z = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        y = y + dense(z, w, at + "mlp.c_proj")
    return layer_norm(y, w, "transformer.ln_f", 1e-5) @ w["transformer.wte.weight"].T


def llama(w, s, x):
    def norm(y, name):
        return w[name + ".weight"] * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5))

    def rotate(y):  # [batch, heads, seq, size]
        first, second = y.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    ids = x["input_ids"]
    y = w["model.embed_tokens.weight"][ids]
    batch, seq, width = y.shape
    size = width // s["heads"]
    rates = torch.tensor([1e4 ** (-i / (size // 2)) for i in range(size // 2)], dtype=y.dtype)
    angles = torch.arange(seq, dtype=y.dtype)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    for layer in range(s["layers"]):
        at = f"model.layers.{layer}."
        z = norm(y, at + "input_layernorm")
        q, k, v = ((z @ w[f"{at}self_attn.{part}_proj.weight"]).view(batch, seq, -1, size).transpose(1, 2) for part in "qkv")
        y = y + merge(rotate(q), rotate(k), v, causal(seq)) @ w[at + "self_attn.o_proj.weight"]
        z = norm(y, at + "post_attention_layernorm")
        gate, up = z @ w[at + "mlp.gate_proj.weight"], z @ w[at + "mlp.up_proj.weight"]
        y = y + (F.silu(gate) * up) @ w[at + "mlp.down_proj.weight"]
    return norm(y, "model.norm") @ w["lm_head.weight"]


def bert(w, s, x):
    def norm(y, name):
        return layer_norm(y, w, name + ".LayerNorm", 1e-12)

    def table(name):
        return w[f"embeddings.{name}_embeddings.weight"]

    ids = x["input_ids"]
    keys = x["attention_mask"].bool()[:, None, None, :]
    y = table("word")[ids] + table("token_type")[x["token_type_ids"]] + table("position")[: ids.shape[1]]
    y = norm(y, "embeddings")
    for layer in range(s["layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (dense(y, w, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        y = norm(dense(attend(q, k, v, s["heads"], keys), w, at + "attention.output.dense") + y, at + "attention.output")
        z = F.gelu(dense(y, w, at + "intermediate.dense"))
        y = norm(dense(z, w, at + "output.dense") + y, at + "output")
    y = norm(F.gelu(dense(y, w, "cls.predictions.transform.dense")), "cls.predictions.transform")
    return y @ table("word").T + w["cls.predictions.bias"]


def vit(w, s, x):
    at = "vit.embeddings."
    y = F.conv2d(x["pixel_values"], w[at + "patch_embeddings.projection.weight"], w[at + "patch_embeddings.projection.bias"],
                 stride=s["patch"]).flatten(2).transpose(1, 2)
    y = torch.cat([w[at + "cls_token"].expand(len(y), -1, -1), y], 1) + w[at + "position_embeddings"]
    for layer in range(s["layers"]):
        at = f"vit.encoder.layer.{layer}."
        z = layer_norm(y, w, at + "layernorm_before", 1e-12)
        q, k, v = (dense(z, w, f"{at}attention.attention.{part}") for part in ("query", "key", "value"))
        y = y + dense(attend(q, k, v, s["heads"]), w, at + "attention.output.dense")
        z = F.gelu(dense(layer_norm(y, w, at + "layernorm_after", 1e-12), w, at + "intermediate.dense"))
        y = y + dense(z, w, at + "output.dense")
    return F.linear(layer_norm(y, w, "vit.layernorm", 1e-12)[:, 0], w["classifier.weight"], w["classifier.bias"])


# How far the least input of any kink was from it: what rounding carries across counts as an error of whole gradients.
margin = math.inf


def keep_margin(x):
    global margin
    if x.dtype == torch.float64 and x.numel():
        margin = min(margin, x.min().item())


def relu(x):
    keep_margin(x.detach().abs())
    return F.relu(x)


def max_pool(x):
    """Windows of 3 x 3, stride 2, over values that are not negative."""
    windows = F.unfold(x.detach().flatten(0, 1)[:, None], 3, padding=1, stride=2)
    first, second = windows.topk(2, 1).values.unbind(1)
    keep_margin((first - second)[first > 0])
    return F.max_pool2d(x, 3, 2, 1)


def resnet(w, s, x):
    def norm(y, name):
        # ONNX keeps the biased variance where PyTorch keeps the unbiased one; its momentum is of the old value.
        with torch.no_grad():
            for part, now in (("mean", y.mean((0, 2, 3))), ("var", y.var((0, 2, 3), unbiased=False))):
                running = w[f"{name}.running_{part}"]
                running.mul_(f32(0.9)).add_(now.to(running.dtype), alpha=f32(1 - f32(0.9)))
        return F.batch_norm(y, None, None, w[name + ".weight"], w[name + ".bias"], training=True, eps=f32(1e-5))

    def conv(y, name, stride=1):
        weight = w[name + ".weight"]
        return F.conv2d(y, weight, stride=stride, padding=weight.shape[-1] // 2)

    small = s["stem"] == "cifar"
    y = relu(norm(conv(x["pixel_values"], "conv1", 1 if small else 2), "bn1"))
    if not small:
        y = max_pool(y)
    for stage in range(1, 5):
        for block in range({10: 1, 18: 2}[s["layers"]]):
            at = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            z = relu(norm(conv(y, at + "conv1", stride), at + "bn1"))
            z = norm(conv(z, at + "conv2"), at + "bn2")
            if at + "downsample.0.weight" in w:
                y = norm(conv(y, at + "downsample.0", stride), at + "downsample.1")
            y = relu(z + y)
    return F.linear(y.mean((2, 3)), w["fc.weight"], w["fc.bias"])
