#!/usr/bin/env python3
# Forward passes of well-known networks in ONNX Runtime and PyTorch, beside which test/benchmark/forward.sh runs ours.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: forward_peer.py export NETWORK SHAPE FILE.onnx              random weights, as PyTorch's exporter writes it
#        forward_peer.py onnxruntime FILE.onnx THREADS SHAPE         SHAPE: 8x3x224x224 of an image, 4x128 of tokens
#        forward_peer.py eager|compiled NETWORK THREADS SHAPE        prints the median of 15 passes in milliseconds
import statistics
import sys
import time


def network(name):
    import torch
    import torchvision
    from torchvision.models import detection

    torch.manual_seed(0)

    class Detector(torch.nn.Module):  # what a detector computes, without its list of boxes
        def __init__(self):
            super().__init__()
            model = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
            self.backbone, self.head = model.backbone, model.head

        def forward(self, pixels):
            found = self.head(list(self.backbone(pixels).values()))
            return found["bbox_regression"], found["cls_logits"]

    def language(config, model):
        import transformers

        transformers.logging.set_verbosity_error()
        return getattr(transformers, model)(getattr(transformers, config[0])(**config[1]))

    makers = {
        "ssdlite": Detector,
        "gpt2": lambda: language(("GPT2Config", {"use_cache": False}), "GPT2LMHeadModel"),
        "minilm": lambda: language(
            ("BertConfig", {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}),
            "BertModel",
        ),
    }
    return makers.get(name, lambda: getattr(torchvision.models, name)())().eval()


def median(forward):
    for _ in range(3):
        forward()
    times = []
    for _ in range(15):
        start = time.perf_counter()
        forward()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def sizes(shape):
    return [int(size) for size in shape.split("x")]


def sample(shape):
    import torch

    return torch.randn(*shape) if len(shape) == 4 else torch.zeros(*shape, dtype=torch.int64)


def export(name, shape, path):
    import torch

    torch.onnx.export(network(name), (sample(sizes(shape)),), path, input_names=["pixels"], dynamo=False, opset_version=17)


def onnxruntime(path, threads, shape):
    import numpy
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(0)
    feeds = {
        value.name: random.standard_normal(sizes(shape)).astype(numpy.float32)
        if value.type == "tensor(float)"
        else numpy.zeros(sizes(shape), numpy.int64)
        for value in session.get_inputs()
    }
    print(f"{median(lambda: session.run(None, feeds)):.2f}")


def pytorch(name, threads, shape, compiled):
    import torch

    torch.set_num_threads(int(threads))
    model, x = network(name), sample(sizes(shape))
    with torch.inference_mode():
        run = torch.compile(model) if compiled else model
        print(f"{median(lambda: run(x)):.2f}")


way, arguments = sys.argv[1], sys.argv[2:]
if way == "export":
    export(*arguments)
elif way == "onnxruntime":
    onnxruntime(*arguments)
else:
    pytorch(*arguments, compiled=way == "compiled")
