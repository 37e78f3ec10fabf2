# Part e: training steps of GPT-2 124M, 355M, 1.5B and of the 8B model's layer in PyTorch's best compiled form.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import gc
import sys
import time

import torch_common as kit


class Config:
    def __init__(self, name, layers, width, heads, batch, time, key_heads=None, feed=None, vocabulary=50304, llama=False,
                 repeat=False):
        self.name, self.layers, self.width, self.heads = name, layers, width, heads
        self.batch, self.time, self.vocabulary, self.llama = batch, time, vocabulary, llama
        self.key_heads = key_heads or heads
        self.feed = feed or 4 * width
        self.repeat = repeat  # keys and values copied to every query head, for attention that knows no groups

    def shrunk(self):
        """The same layer at a size that a CPU does in fp64."""
        return Config(self.name, min(self.layers, 2), self.width, self.heads, 1, 64, self.key_heads, self.feed,
                      self.vocabulary, self.llama, self.repeat)


# The 8B entry is one layer of Llama 3 without embedding and head: its loss is the mean square of its output.
CONFIGS = [
    Config("gpt2-124m", 12, 768, 12, 64, 1024),
    Config("gpt2-1558m", 48, 1600, 25, 16, 1024),
    Config("llama3-8b layer, T=4096", 1, 4096, 32, 4, 4096, 8, 14336, 0, True),
    Config("gpt2-355m", 24, 1024, 16, 32, 1024),
    Config("llama3-8b layer, T=8192", 1, 4096, 32, 2, 8192, 8, 14336, 0, True),
    Config("llama3-8b layer, T=4096, keys repeated", 1, 4096, 32, 4, 4096, 8, 14336, 0, True, True),
]
SMALL = [Config("gpt2-small-test", 2, 64, 2, 2, 32, vocabulary=128), Config("llama-small-test", 1, 64, 4, 2, 32, 2, 128, 0, True)]


def build(torch, config, device):
    """The model as nanoGPT and Llama write it: what a user would compile. Made on the device: billions of random numbers
    take the CPU longer than the measurement."""
    from torch import nn
    from torch.nn import functional

    class Gpt2Block(nn.Module):
        def __init__(self):
            super().__init__()
            width = config.width
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, config.feed), nn.Linear(config.feed, width)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
            heads = [value.view(batch, length, config.heads, width // config.heads).transpose(1, 2) for value in (q, k, v)]
            mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class LlamaBlock(nn.Module):
        def __init__(self):
            super().__init__()
            width, head = config.width, config.width // config.heads
            self.norm1, self.norm2 = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
            self.qkv = nn.Linear(width, (config.heads + 2 * config.key_heads) * head, bias=False)
            self.project = nn.Linear(width, width, bias=False)
            self.gate_up, self.down = nn.Linear(width, 2 * config.feed, bias=False), nn.Linear(config.feed, width, bias=False)
            frequency = 500000.0 ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
            angle = torch.outer(torch.arange(config.time, dtype=torch.float64), frequency)
            self.register_buffer("cosine", angle.cos().float(), persistent=False)
            self.register_buffer("sine", angle.sin().float(), persistent=False)

        def rotate(self, x):
            cosine, sine = self.cosine[: x.shape[2]].to(x.dtype), self.sine[: x.shape[2]].to(x.dtype)
            first, second = x.chunk(2, dim=-1)
            return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)

        def forward(self, x):
            batch, length, width = x.shape
            head = width // config.heads
            sizes = [config.heads * head, config.key_heads * head, config.key_heads * head]
            q, k, v = self.qkv(self.norm1(x)).split(sizes, dim=2)
            q, k, v = (value.view(batch, length, -1, head).transpose(1, 2) for value in (q, k, v))
            q, k = self.rotate(q), self.rotate(k)
            if config.repeat:
                k, v = (value.repeat_interleave(config.heads // config.key_heads, dim=1) for value in (k, v))
            grouped = k.shape[1] != q.shape[1]
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
            x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, width))
            gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
            return x + self.down(functional.silu(gate) * up)

    class Gpt2(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(config.vocabulary, config.width)
            self.places = nn.Embedding(config.time, config.width)
            self.blocks = nn.ModuleList(Gpt2Block() for _ in range(config.layers))
            self.norm = nn.LayerNorm(config.width)
            self.head = nn.Linear(config.width, config.vocabulary, bias=False)
            self.head.weight = self.tokens.weight

        def embed(self, tokens):
            return self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))

        def loss(self, x, targets):
            logits = self.head(self.norm(x)).view(-1, config.vocabulary)
            wide = logits if logits.dtype == torch.float64 else logits.float()
            return functional.cross_entropy(wide, targets.view(-1))

        def forward(self, tokens, targets):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.loss(x, targets)

    class LlamaLayer(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(LlamaBlock() for _ in range(config.layers))

        def forward(self, x, _targets):
            for block in self.blocks:
                x = block(x)
            wide = x if x.dtype == torch.float64 else x.float()
            return wide.square().mean()

    torch.manual_seed(1234)
    with torch.device(device):
        model = LlamaLayer() if config.llama else Gpt2()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.02)
            elif name.endswith("bias"):
                parameter.zero_()
    return model


def inputs_of(torch, config, device, dtype):
    generator = torch.Generator(device="cpu").manual_seed(99)
    shape = (config.batch, config.time)
    if config.llama:
        return torch.randn(*shape, config.width, generator=generator).to(device, dtype), None
    draw = lambda: torch.randint(0, config.vocabulary, shape, generator=generator).to(device)
    return draw(), draw()


def flops_per_token(config, parameters):
    """6 N + 6 L C T: attention counted causal, as llm.c counts it."""
    return 6.0 * parameters + 6.0 * config.layers * config.width * config.time


def dtype_of(torch, form):
    return torch.float32 if form == "mixed" else torch.bfloat16


def compile_model(torch, model, form):
    """`block`: one graph for all blocks, compiled once. `whole`: one graph of the model, with fusion across blocks. `mixed`:
    the same of fp32 parameters under autocast to bf16, as users train, and as Weft does."""
    if form == "mixed":
        device = next(model.parameters()).device.type

        def loss(*inputs):
            with torch.autocast(device, torch.bfloat16):
                return model(*inputs)

        return torch.compile(loss, dynamic=False)
    if form == "whole":
        return torch.compile(model, dynamic=False)
    for block in model.blocks:
        block.compile(dynamic=False)
    if hasattr(model, "loss"):
        model.loss = torch.compile(model.loss, dynamic=False)
    return model


def check_small(torch, config, device, form):
    """Loss and gradients of a small model of the same widths, against fp64 on the CPU from the same rounded parameters."""
    small = config.shrunk()
    torch.compiler.reset()
    model = build(torch, small, device).to(dtype_of(torch, form))
    exact = build(torch, small, "cpu")
    exact.load_state_dict(model.state_dict())
    exact = exact.double()
    for block in exact.blocks:
        for name, buffer in block.named_buffers():
            buffer.copy_(dict(model.blocks[0].named_buffers())[name].double().cpu())
    data, targets = inputs_of(torch, small, device, dtype_of(torch, form))
    loss = compile_model(torch, model, form)(data, targets)
    loss.backward()
    wide = data.cpu() if targets is not None else data.cpu().double()
    expected = exact(wide, targets.cpu() if targets is not None else None)
    expected.backward()
    gradients = dict(exact.named_parameters())
    checks = [kit.compare(loss.reshape(1), expected.reshape(1), 2e-2, 2e-2)]
    for name, parameter in model.named_parameters():
        # bf16 activations and gradients through several products: percents, where a wrong term would show as tens of them.
        # Biases of the keys have no gradient but rounding, which leaves qkv.bias a noisy third.
        if not name.endswith("qkv.bias"):
            checks.append(kit.compare(parameter.grad, gradients[name].grad, 5e-2, 5.0))
    return kit.worst(checks)


class Step:
    """A whole training step as one CUDA graph: forward, backward, of `mixed` precision a global norm of 1, fused AdamW."""

    def __init__(self, torch, config, device, form):
        self.torch, self.config = torch, config
        torch.compiler.reset()
        self.form = form
        self.model = build(torch, config, device).to(dtype_of(torch, form))
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.data, self.targets = inputs_of(torch, config, device, dtype_of(torch, form))
        on_gpu = device == "cuda"
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu or None, capturable=on_gpu)
        self.compiled = compile_model(torch, self.model, form)
        self.graph = None
        self.losses = []
        if not on_gpu:
            for _ in range(2):
                self.losses.append(float(self.eager()))
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.losses.append(float(self.eager()))
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.compiled(self.data, self.targets)
            self.update(self.loss)

    def update(self, loss):
        loss.backward()
        if self.form == "mixed":
            self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def eager(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compiled(self.data, self.targets)
        self.update(loss)
        return loss.detach()

    def run(self, _=0):
        self.graph.replay()


def profile(torch, step, steps=3):
    """Idle share of the device between the first and last kernel of `steps` replays, and the attention kernels' names."""
    from torch.profiler import ProfilerActivity, profile as record

    with record(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recording:
        for _ in range(steps):
            step.run()
        torch.cuda.synchronize()
    spans, attention, kernels = [], {}, 0
    for event in recording.events():
        if event.device_type != torch.autograd.DeviceType.CUDA:
            continue
        kernels += 1
        spans.append((event.time_range.start, event.time_range.end))
        lowered = event.name.lower()
        if any(word in lowered for word in ("sdpa", "flash", "fmha", "attention", "attn")):
            attention[event.name[:160]] = attention.get(event.name[:160], 0) + 1
    if not spans:
        return {"gpu_idle_share": None, "attention_kernels": [], "kernels_per_step": 0}
    spans.sort()
    busy, end = 0.0, spans[0][0]
    for start, stop in spans:
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return {
        "gpu_idle_share": 1.0 - busy / max(end - spans[0][0], 1e-9),
        "attention_kernels": [f"{name} x{count // steps}" for name, count in sorted(attention.items())],
        "kernels_per_step": kernels // steps,
        "attention_is_cudnn": any("cudnn" in name for name in attention),
    }


def measure(torch, config, device, form):
    check = check_small(torch, config, device, form)
    began = time.monotonic()
    step = Step(torch, config, device, form)
    compile_seconds = time.monotonic() - began
    times = kit.time_on_device(torch, step.run, samples=kit.MIN_SAMPLES, warmups=2, min_sample_ms=0)
    loss = float(step.loss)
    # Trained on one batch again and again, the loss must fall; a step that did nothing would leave it.
    falls = loss == loss and loss < step.losses[0]
    check["ok"] = check["ok"] and falls
    tokens = config.batch * config.time
    work = flops_per_token(config, step.parameters) * tokens
    entry = {
        "rate": tokens / (times["median"] * 1e-3),
        "unit": "tokens/s",
        "tflops": work / (times["median"] * 1e9),
        "ms": times,
        "check": check,
        "form": form,
        "batch": config.batch,
        "time": config.time,
        "parameters": step.parameters,
        "compile_seconds": round(compile_seconds, 1),
        "first_loss": step.losses[0],
        "last_loss": loss,
        "memory_bytes": torch.cuda.max_memory_allocated(),
    }
    entry.update(profile(torch, step))
    return entry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", default="")
    parser.add_argument("--model", default="", help="only the models whose name holds this")
    parser.add_argument("--self-test", action="store_true", help="small models on the CPU: checks this file, measures nothing")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    report = kit.Report("e", "training steps: torch.compile, fused AdamW, one CUDA graph a step; bf16 parameters, or fp32 under autocast", arguments.json)
    torch = kit.open_torch(report)
    if torch is None:
        return 77 if report.root["status"] == "no-device" else 1
    torch.set_float32_matmul_precision("high")
    left_out = report.root["facts"]["left out for want of time"] = []
    # Every model compiled by blocks first, which is quick; then whole models, which take minutes where time is left.
    for form in ("block", "mixed", "whole"):
        for config in CONFIGS:
            if arguments.model not in config.name or (form != "block" and config.layers == 1):
                continue
            # What a form took before is a poor guide for larger models: a floor by its number of layers.
            if kit.seconds_left() < (25 if form == "block" else 20 + 2.5 * config.layers):
                left_out.append(f"{config.name}, {form}")
                continue
            report.attempt(f"{config.name}, {form}", lambda: measure(torch, config, "cuda", form))
            # A step's graph and activations sit in cycles of compiled code: they must go before the next model comes.
            torch.compiler.reset()
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    return report.finish()


def self_test():
    import torch

    for config in SMALL:
        for form in ("block", "mixed", "whole"):
            check = check_small(torch, config, "cpu", form)
            print(config.name, form, check)
            if not check["ok"]:
                return 1
            step = Step(torch, config, "cpu", form)
            print("losses", step.losses)
            if not step.losses[1] < step.losses[0]:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
