#!/usr/bin/env python3
# Exports small models with random weights through torch: export_torch.py DIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Outside the build: needs torch (apt-get install python3-torch, 1.13). It made test/python_free_frontend/exported.
# The graphs are what the TorchScript exporter really writes, shape arithmetic included, for modules written as the
# usual libraries write them. Writes DIR/NAME.onnx, DIR/NAME/INPUT.npy and DIR/NAME/expected/OUTPUT.npy (float32, as
# torch computed them). Models are traced with one batch and sequence length and recorded with others, so that a graph
# that froze a size shows.
import math
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch import nn

warnings.filterwarnings("ignore")


class Conv1D(nn.Module):
    def __init__(self, out_features, in_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_features, out_features) * 0.1)
        self.bias = nn.Parameter(torch.randn(out_features) * 0.1)
        self.out_features = out_features

    def forward(self, x):
        size = x.size()[:-1] + (self.out_features,)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(size)


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Gpt2Attention(nn.Module):
    def __init__(self, hidden, heads, longest):
        super().__init__()
        table = torch.tril(torch.ones((longest, longest), dtype=torch.bool))
        self.register_buffer("bias", table.view(1, 1, longest, longest))
        self.c_attn = Conv1D(3 * hidden, hidden)
        self.c_proj = Conv1D(hidden, hidden)
        self.hidden, self.heads = hidden, heads

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.hidden // self.heads)).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.c_attn(x).split(self.hidden, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / torch.full([], v.size(-1) ** 0.5, dtype=scores.dtype)
        queries, keys = q.size(-2), k.size(-2)
        mask = self.bias[:, :, keys - queries : keys, :keys]
        lowest = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype)
        scores = torch.where(mask, scores, lowest)
        mixed = torch.matmul(nn.functional.softmax(scores, dim=-1), v)
        mixed = mixed.permute(0, 2, 1, 3).contiguous()
        return self.c_proj(mixed.view(mixed.size()[:-2] + (self.hidden,)))


class Gpt2Block(nn.Module):
    def __init__(self, hidden, heads, longest):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attn = Gpt2Attention(hidden, heads, longest)
        self.c_fc, self.c_proj = Conv1D(4 * hidden, hidden), Conv1D(hidden, 4 * hidden)

    def forward(self, x):
        x = self.attn(self.ln_1(x)) + x
        return x + self.c_proj(gelu_new(self.c_fc(self.ln_2(x))))


class Gpt2(nn.Module):
    def __init__(self, layers=2, hidden=16, heads=2, vocab=40, longest=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, hidden), nn.Embedding(longest, hidden)
        self.h = nn.ModuleList(Gpt2Block(hidden, heads, longest) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)
        self.lm_head = nn.Linear(hidden, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids):
        shape = input_ids.size()
        input_ids = input_ids.view(-1, shape[-1])
        positions = torch.arange(0, shape[-1], dtype=torch.long).unsqueeze(0).view(-1, shape[-1])
        x = self.wte(input_ids) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        x = self.ln_f(x).view(shape + (x.size(-1),))
        return self.lm_head(x)


class RmsNorm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(hidden) + 0.5)

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


def rotate_half(x):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


def repeat_kv(x, times):
    batch, heads, seq, size = x.shape
    if times == 1:
        return x
    x = x[:, :, None, :, :].expand(batch, heads, times, seq, size)
    return x.reshape(batch, heads * times, seq, size)


class LlamaAttention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, longest):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
        self.q_proj = nn.Linear(hidden, hidden, bias=False)
        self.k_proj = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)
        frequencies = 1.0 / (10000 ** (torch.arange(0, self.size, 2).float() / self.size))
        angles = torch.outer(torch.arange(longest).float(), frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos_cached", angles.cos()[None, None], persistent=False)
        self.register_buffer("sin_cached", angles.sin()[None, None], persistent=False)

    def forward(self, x, mask, positions):
        batch, seq, hidden = x.size()
        q = self.q_proj(x).view(batch, seq, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(batch, seq, self.kv_heads, self.size).transpose(1, 2)
        v = self.v_proj(x).view(batch, seq, self.kv_heads, self.size).transpose(1, 2)
        length = k.shape[-2]
        cos = self.cos_cached[:, :, :length, ...].squeeze(1).squeeze(0)[positions].unsqueeze(1)
        sin = self.sin_cached[:, :, :length, ...].squeeze(1).squeeze(0)[positions].unsqueeze(1)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = repeat_kv(k, self.heads // self.kv_heads), repeat_kv(v, self.heads // self.kv_heads)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.size) + mask
        scores = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        mixed = torch.matmul(scores, v).transpose(1, 2).contiguous()
        return self.o_proj(mixed.reshape(batch, seq, hidden))


class LlamaBlock(nn.Module):
    def __init__(self, hidden, heads, kv_heads, ffn, longest):
        super().__init__()
        self.self_attn = LlamaAttention(hidden, heads, kv_heads, longest)
        self.gate_proj = nn.Linear(hidden, ffn, bias=False)
        self.up_proj = nn.Linear(hidden, ffn, bias=False)
        self.down_proj = nn.Linear(ffn, hidden, bias=False)
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(hidden), RmsNorm(hidden)

    def forward(self, x, mask, positions):
        x = x + self.self_attn(self.input_layernorm(x), mask, positions)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(nn.functional.silu(self.gate_proj(y)) * self.up_proj(y))


class Llama(nn.Module):
    def __init__(self, layers=2, hidden=16, heads=4, kv_heads=2, ffn=24, vocab=40, longest=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(LlamaBlock(hidden, heads, kv_heads, ffn, longest) for _ in range(layers))
        self.norm = RmsNorm(hidden)
        self.lm_head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, input_ids, attention_mask):
        batch, seq = input_ids.shape
        x = self.embed_tokens(input_ids)
        lowest = torch.finfo(x.dtype).min
        steps = torch.arange(seq)
        causal = torch.full((seq, seq), lowest)
        causal.masked_fill_(steps < (steps + 1).view(seq, 1), 0)
        causal = causal[None, None, :, :].expand(batch, 1, seq, seq)
        hidden = 1.0 - attention_mask[:, None, None, :].expand(batch, 1, seq, seq).to(x.dtype)
        mask = hidden.masked_fill(hidden.to(torch.bool), lowest) + causal
        positions = torch.arange(0, seq, dtype=torch.long).unsqueeze(0).view(-1, seq)
        for layer in self.layers:
            x = layer(x, mask, positions)
        return self.lm_head(self.norm(x))


class BertLayer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.dense = nn.Linear(hidden, hidden)
        self.inner, self.outer = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden, eps=1e-12), nn.LayerNorm(hidden, eps=1e-12)

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.size)).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size) + mask
        mixed = torch.matmul(nn.functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        mixed = mixed.view(mixed.size()[:-2] + (self.heads * self.size,))
        x = self.norm_1(self.dense(mixed) + x)
        return self.norm_2(self.outer(nn.functional.gelu(self.inner(x))) + x)


class Bert(nn.Module):
    def __init__(self, layers=2, hidden=16, heads=2, vocab=40, longest=16):
        super().__init__()
        self.words, self.types = nn.Embedding(vocab, hidden), nn.Embedding(2, hidden)
        self.positions = nn.Embedding(longest, hidden)
        self.register_buffer("position_ids", torch.arange(longest).expand((1, -1)))
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(hidden, heads) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden)

    def forward(self, input_ids, attention_mask, token_type_ids):
        mask = attention_mask[:, None, None, :].to(torch.float32)
        mask = (1.0 - mask) * torch.finfo(torch.float32).min
        x = self.words(input_ids) + self.types(token_type_ids)
        x = self.norm(x + self.positions(self.position_ids[:, : input_ids.size(1)]))
        for layer in self.layers:
            x = layer(x, mask)
        wide = attention_mask.unsqueeze(-1).expand(x.size()).float()
        mean = torch.sum(x * wide, 1) / torch.clamp(wide.sum(1), min=1e-9)
        return x, torch.tanh(self.pooler(x[:, 0])), nn.functional.normalize(mean, p=2, dim=1)


class Vit(nn.Module):
    def __init__(self, layers=2, hidden=16, heads=2, image=16, patch=4, classes=10):
        super().__init__()
        self.projection = nn.Conv2d(3, hidden, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, hidden))
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, hidden))
        layer = lambda: nn.ModuleDict(
            {
                "norm_1": nn.LayerNorm(hidden, eps=1e-6),
                "attention": nn.MultiheadAttention(hidden, heads, batch_first=True),
                "norm_2": nn.LayerNorm(hidden, eps=1e-6),
                "mlp": nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden)),
            }
        )
        self.layers = nn.ModuleList(layer() for _ in range(layers))
        self.norm = nn.LayerNorm(hidden, eps=1e-6)
        self.head = nn.Linear(hidden, classes)

    def forward(self, pixel_values):
        x = self.projection(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        for layer in self.layers:
            y = layer["norm_1"](x)
            x = x + layer["attention"](y, y, y, need_weights=False)[0]
            x = x + layer["mlp"](layer["norm_2"](x))
        return self.head(self.norm(x)[:, 0])


class Bottleneck(nn.Module):
    def __init__(self, channels, inner, out, stride):
        super().__init__()
        self.conv_1, self.bn_1 = nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv_2 = nn.Conv2d(inner, inner, 3, stride=stride, padding=1, bias=False)
        self.bn_2 = nn.BatchNorm2d(inner)
        self.conv_3, self.bn_3 = nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out)
        self.short = nn.Sequential()
        if stride != 1 or channels != out:
            self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn_1(self.conv_1(x)))
        y = torch.relu(self.bn_2(self.conv_2(y)))
        return torch.relu(self.bn_3(self.conv_3(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1))
        self.blocks = nn.Sequential(Bottleneck(8, 4, 16, 1), Bottleneck(16, 4, 16, 1), Bottleneck(16, 8, 32, 2))
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(32, classes)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.running_mean, -0.5, 0.5)
                nn.init.uniform_(module.running_var, 0.5, 1.5)
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.uniform_(module.bias, -0.5, 0.5)

    def forward(self, pixel_values):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(pixel_values))), 1))


class MobileBlock(nn.Module):
    """Inverted residual with squeeze-and-excitation, as MobileNetV3 has it."""

    def __init__(self, channels, wide):
        super().__init__()
        self.expand, self.bn = nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.depth = nn.Conv2d(wide, wide, 5, padding=2, groups=wide)
        self.squeeze, self.excite = nn.Conv2d(wide, 4, 1), nn.Conv2d(4, wide, 1)
        self.project = nn.Conv2d(wide, channels, 1)

    def forward(self, x):
        y = nn.functional.hardswish(self.depth(nn.functional.hardswish(self.bn(self.expand(x)))))
        gate = nn.functional.adaptive_avg_pool2d(y, 1)
        gate = nn.functional.hardsigmoid(self.excite(torch.relu(self.squeeze(gate))))
        return x + self.project(gate * y)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(MobileBlock(8, 16), MobileBlock(8, 16))
        self.head = nn.Linear(8, 10)

    def forward(self, pixel_values):
        x = self.blocks(nn.functional.hardswish(self.stem(pixel_values)))
        return self.head(nn.functional.dropout(x.mean((2, 3)), training=self.training))


class ConvNext(nn.Module):
    """One ConvNeXt stage: channels-last norms between convolutions."""

    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, stride=4)
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.rand(width))
        self.head = nn.Linear(width, 10)

    def forward(self, pixel_values):
        x = self.stem(pixel_values)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.scale * self.outer(nn.functional.gelu(self.inner(y)))
        x = x + y.permute(0, 3, 1, 2)
        return self.head(x.mean([-2, -1]))


def ids(batch, seq):
    return torch.randint(0, 40, (batch, seq))


def padding(batch, seq):
    mask = torch.ones((batch, seq), dtype=torch.long)
    mask[-1, seq - 2 :] = 0
    return mask


def text_inputs(names):
    def make(batch, seq):
        makers = {
            "input_ids": lambda: ids(batch, seq),
            "attention_mask": lambda: padding(batch, seq),
            "token_type_ids": lambda: torch.randint(0, 2, (batch, seq)),
        }
        return {name: makers[name]() for name in names}

    return make


def picture_inputs(side):
    return lambda batch, _: {"pixel_values": torch.randn(batch, 3, side, side)}


BERT = ["input_ids", "attention_mask", "token_type_ids"]
# name: model, inputs, outputs, opset, whether BatchNormalization is kept instead of folded into Conv
MODELS = {
    "gpt2": (Gpt2, text_inputs(["input_ids"]), ["logits"], 17, False),
    "gpt2-opset14": (Gpt2, text_inputs(["input_ids"]), ["logits"], 14, False),
    "llama": (Llama, text_inputs(BERT[:2]), ["logits"], 17, False),
    "bert": (Bert, text_inputs(BERT), ["last_hidden_state", "pooler_output", "sentence_embedding"], 17, False),
    "vit": (Vit, picture_inputs(16), ["logits"], 17, False),
    "resnet": (ResNet, picture_inputs(32), ["logits"], 17, False),
    "resnet-batchnorm": (ResNet, picture_inputs(32), ["logits"], 17, True),
    "mobilenet": (MobileNet, picture_inputs(16), ["logits"], 17, True),
    "convnext": (ConvNext, picture_inputs(16), ["logits"], 17, False),
}


def export(name, folder):
    make, inputs, outputs, opset, keep = MODELS[name]
    torch.manual_seed(sum(map(ord, name)))
    model = make().eval()
    traced, recorded = inputs(2, 5), inputs(4, 8)
    axes = {key: {0: "batch", 1: "seq"} if value.dim() == 2 else {0: "batch"} for key, value in traced.items()}
    for output in outputs:
        axes[output] = {0: "batch", 1: "seq"} if output in ("logits", "last_hidden_state") and "input_ids" in traced else {0: "batch"}
    mode = torch.onnx.TrainingMode.PRESERVE if keep else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(
        model, tuple(traced.values()), str(folder / f"{name}.onnx"), input_names=list(traced), output_names=outputs,
        dynamic_axes=axes, opset_version=opset, training=mode, do_constant_folding=not keep,
    )
    target = folder / name
    (target / "expected").mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        results = model.eval()(*recorded.values())
    results = results if isinstance(results, tuple) else (results,)
    for key, value in recorded.items():
        np.save(target / f"{key}.npy", value.numpy())
    for key, value in zip(outputs, results):
        np.save(target / "expected" / f"{key}.npy", value.numpy())


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        export(name, folder)
        print(name, (folder / f"{name}.onnx").stat().st_size, "bytes")
