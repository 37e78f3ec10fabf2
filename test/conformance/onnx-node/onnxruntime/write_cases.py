#!/usr/bin/env python3
"""Writes cases whose outputs ONNX Runtime computed: write_cases.py WEFT-TRANSLATE FOLDER.

Run once, by hand (README.md beside this says how); no build and no test runs it.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
random = np.random.default_rng(5)
cases = {}


def floats(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def session(model, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL, path=""):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    options.optimized_model_filepath = path
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def save(folder, name, model, feeds, results):
    """`feeds` in the order of the graph's inputs; `results` as computed."""
    place = folder / name / "test_data_set_0"
    place.mkdir(parents=True)
    (folder / name / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for kind, values, infos in (("input", feeds, model.graph.input), ("output", results, model.graph.output)):
        for i, (value, info) in enumerate(zip(values, infos)):
            tensor = numpy_helper.from_array(np.asarray(value), info.name)
            (place / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString(deterministic=True))


def case(name, op, inputs, outputs=1, domain=MICROSOFT, opset=17, constants=(), **attributes):
    """One node; None is an absent input, and an output of None is not asked for."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    wanted = [f"y{i}" if w else "" for i, w in enumerate([1] * outputs if isinstance(outputs, int) else outputs)]
    node = helper.make_node(op, names, wanted, name=name, domain=domain, **attributes)
    infos, initializers = [], []
    for n, value in zip(names, inputs):
        if value is None:
            continue
        if n in constants:
            initializers.append(numpy_helper.from_array(value, n))
        else:
            infos.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    outs = [helper.make_value_info(w, onnx.TypeProto()) for w in wanted if w]
    graph = helper.make_graph([node], name, infos, outs, initializers)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    feeds = {n: v for n, v in zip(names, inputs) if v is not None and n not in constants}
    run = session(model)
    results = run.run(None, feeds)
    # Types and extents of outputs as they came out.
    del graph.output[:]
    for info, value in zip(run.get_outputs(), results):
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        model.graph.output.append(helper.make_tensor_value_info(info.name, kind, value.shape))
    del model.graph.output[: len(model.graph.output) - len(results)]
    assert name not in cases, name
    cases[name] = (model, list(feeds.values()), results)


def activations():
    x, bias = floats(3, 8) * 3, floats(8)
    case("gelu", "Gelu", [x])
    case("biasgelu", "BiasGelu", [x, bias])
    case("fastgelu", "FastGelu", [x])
    case("fastgelu_bias", "FastGelu", [x, bias])
    case("quickgelu", "QuickGelu", [x])
    case("quickgelu_alpha", "QuickGelu", [x], alpha=0.7)


def products():
    a, b = floats(2, 3, 4), floats(2, 4, 5)
    case("fusedmatmul", "FusedMatMul", [a, b], alpha=0.25)
    case("fusedmatmul_trans", "FusedMatMul", [a.swapaxes(1, 2).copy(), b.swapaxes(1, 2).copy()], alpha=2.0, transA=1, transB=1)
    case("fusedgemm_leakyrelu", "FusedGemm", [floats(3, 4), floats(5, 4), floats(5)], transB=1, alpha=0.5, activation="LeakyRelu",
         activation_alpha=0.3)
    case("fusedgemm_relu", "FusedGemm", [floats(3, 4), floats(4, 5), floats(5)], activation="Relu")
    x, w, c = floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)
    case("fusedconv_relu", "FusedConv", [x, w, c], activation="Relu")
    case("fusedconv_clip", "FusedConv", [x, w, c], activation="Clip", activation_params=[-0.25, 0.75], pads=[1, 1, 1, 1])
    case("globallppool", "GlobalLpPool", [x], domain="", p=2)
    case("globallppool_p3", "GlobalLpPool", [x], domain="", p=3)
    case("fusedconv_sum", "FusedConv", [x, w, c, floats(1, 3, 3, 3)], activation="Relu")


def norms():
    x, skip, gamma, beta, bias = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    case("skiplayernorm", "SkipLayerNormalization", [x, skip, gamma, beta], epsilon=1e-3)
    case("skiplayernorm_bias", "SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=[1, 0, 0, 1], epsilon=1e-3)
    case("skiplayernorm_broadcast", "SkipLayerNormalization", [x, floats(3, 8), gamma, beta, bias], epsilon=1e-3)
    case("skipsimplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=1e-3)
    case("skipsimplified_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], outputs=[1, 0, 0, 1], epsilon=1e-3)
    case("simplified", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-2)
    case("layernorm_opset13", "LayerNormalization", [x, gamma, beta], domain="", opset=13, epsilon=1e-2)
    # One scale a group; since opset 21, which ONNX's own cases have, one a channel.
    case("groupnorm_opset18", "GroupNormalization", [floats(2, 6, 3), floats(2), floats(2)], domain="", opset=18, num_groups=2,
         epsilon=1e-3)
    ids, segments = random.integers(0, 9, (2, 4)).astype(np.int32), random.integers(0, 2, (2, 4)).astype(np.int32)
    tables = [floats(9, 8), floats(6, 8), floats(2, 8)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    case("embedlayernorm", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], outputs=2, epsilon=1e-3)
    case("embedlayernorm_plain", "EmbedLayerNormalization", [ids, None, *tables[:2], None, gamma, beta], outputs=[1, 1, 1])
    places = np.array([[1, 2, 3, 5], [0, 4, 4, 2]], np.int32)
    case("embedlayernorm_positions", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, None, places], outputs=2)


def attention():
    x, weights, bias = floats(2, 4, 6), floats(6, 24), floats(24)
    case("attention", "Attention", [x, weights, bias], num_heads=2)
    case("attention_unidirectional", "Attention", [x, weights, bias], num_heads=2, unidirectional=1, scale=0.3)
    keep = np.array([[1, 1, 1, 0], [1, 1, 0, 1]], np.int32)
    case("attention_mask_2d", "Attention", [x, weights, bias, keep], num_heads=2)
    case("attention_mask_3d", "Attention", [x, weights, bias, random.integers(0, 2, (2, 4, 4)).astype(np.int32)], num_heads=2,
         mask_filter_value=-5.0)
    case("attention_mask_ends", "Attention", [x, weights, bias, np.array([3, 2], np.int32)], num_heads=2)
    case("attention_mask_starts", "Attention", [x, weights, bias, np.array([4, 3, 1, 0], np.int32)], num_heads=2)
    case("attention_bias", "Attention", [x, weights, bias, None, None, floats(1, 2, 4, 4)], num_heads=2)
    case("attention_sizes", "Attention", [x, floats(6, 20), floats(20)], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    case("attention_past", "Attention", [x, weights, bias, None, floats(2, 2, 2, 3, 4)], outputs=2, num_heads=2, unidirectional=1)
    q, k, v = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8)
    case("mha", "MultiHeadAttention", [q, k, v], num_heads=2)
    case("mha_bias", "MultiHeadAttention", [q, k, v, floats(24)], num_heads=2, scale=0.4)
    case("mha_padding", "MultiHeadAttention", [q, k, v, None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)], num_heads=2)
    case("mha_attention_bias", "MultiHeadAttention", [q, k, v, None, None, floats(2, 2, 3, 5)], num_heads=2)
    case("mha_values", "MultiHeadAttention", [q, k, floats(2, 5, 4), floats(20)], num_heads=2)
    s = floats(2, 3, 8)
    case("mha_unidirectional", "MultiHeadAttention", [s, floats(2, 3, 8), floats(2, 3, 8)], num_heads=2, unidirectional=1)
    case("mha_unidirectional_fewer_keys", "MultiHeadAttention", [q, k[:, :2].copy(), v[:, :2].copy()], num_heads=2, unidirectional=1)
    case("mha_past", "MultiHeadAttention", [s, floats(2, 3, 8), floats(2, 3, 8), None, None, None, floats(2, 2, 2, 4), floats(2, 2, 2, 4)],
         outputs=3, num_heads=2, unidirectional=1)
    case("mha_heads_apart", "MultiHeadAttention", [q, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], num_heads=2)
    last, total = np.array([3, 3], np.int32), np.array(4, np.int32)
    q, k, v = floats(2, 4, 32), floats(2, 4, 16), floats(2, 4, 16)
    tables = [floats(6, 8), floats(6, 8)]
    known = ("x5", "x6")
    case("gqa", "GroupQueryAttention", [q, k, v, None, None, last, total], outputs=3, constants=known, num_heads=2, kv_num_heads=1)
    case("gqa_rotary", "GroupQueryAttention", [q, k, v, None, None, last, total, *tables], outputs=3, constants=known, num_heads=2,
         kv_num_heads=1, do_rotary=1, scale=0.6)
    case("gqa_interleaved", "GroupQueryAttention", [q, k, v, None, None, last, total, *tables], outputs=3, constants=known,
         num_heads=2, kv_num_heads=1, do_rotary=1, rotary_interleaved=1)
    case("gqa_window", "GroupQueryAttention", [q, k, v, None, None, last, total], outputs=3, constants=known, num_heads=2,
         kv_num_heads=1, local_window_size=2, softcap=0.5)
    case("gqa_packed", "GroupQueryAttention", [floats(2, 4, 64), None, None, None, None, last, total], outputs=3, constants=known,
         num_heads=2, kv_num_heads=1)
    positions = np.array([[0, 3, 2, 5], [1, 1, 4, 0]], np.int64)
    case("rotary", "RotaryEmbedding", [q, positions, *tables])
    case("rotary_start", "RotaryEmbedding", [q, np.array([2], np.int64), *tables], interleaved=1)
    case("rotary_part", "RotaryEmbedding", [floats(2, 4, 4, 32), positions, *tables], num_heads=4, rotary_embedding_dim=16)


def recurrent():
    def layer(name, op, gates, directions=1, bias=True, lengths=None, initial=0, peepholes=False, layout=0, hidden=3, **attributes):
        steps, batch, size = 4, 2, 5
        inputs = [floats(steps, batch, size), floats(directions, gates * hidden, size), floats(directions, gates * hidden, hidden),
                  floats(directions, 2 * gates * hidden) if bias else None,
                  None if lengths is None else np.array(lengths, np.int32)]
        inputs += [floats(directions, batch, hidden) if i < initial else None for i in range(2 if op == "LSTM" else 1)]
        if op == "LSTM":
            inputs.append(floats(directions, 3 * hidden) if peepholes else None)
        while inputs[-1] is None:
            inputs.pop()
        case(name, op, inputs, outputs=3 if op == "LSTM" else 2, domain="", hidden_size=hidden, **attributes)

    both = {"direction": "bidirectional", "directions": 2}
    layer("rnn", "RNN", 1, initial=1)
    layer("rnn_bidirectional_lengths", "RNN", 1, lengths=[3, 4], initial=1, activations=["Relu", "Tanh"], **both)
    layer("rnn_reverse_clip", "RNN", 1, direction="reverse", clip=0.5, lengths=[1, 4])
    for name, numbers in (("Affine", (0.6, 0.1)), ("LeakyRelu", (0.2,)), ("ThresholdedRelu", (0.3,)), ("ScaledTanh", (0.7, 1.3)),
                          ("HardSigmoid", (0.3, 0.4)), ("Elu", (0.8,)), ("Softsign", ()), ("Softplus", ())):
        extra = {key: [number] for key, number in zip(("activation_alpha", "activation_beta"), numbers)}
        layer(f"rnn_{name.lower()}", "RNN", 1, activations=[name], **extra)
    layer("gru", "GRU", 3, initial=1)
    layer("gru_linear", "GRU", 3, initial=1, linear_before_reset=1)
    layer("gru_bidirectional_lengths", "GRU", 3, lengths=[2, 4], initial=1, linear_before_reset=1, **both)
    layer("gru_reverse_nobias", "GRU", 3, bias=False, direction="reverse", lengths=[2, 3])
    layer("gru_functions", "GRU", 3, activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[0.3, 0.1], activation_beta=[0.4])
    layer("lstm", "LSTM", 4, initial=2)
    layer("lstm_peepholes_lengths", "LSTM", 4, initial=2, peepholes=True, lengths=[4, 2])
    layer("lstm_bidirectional", "LSTM", 4, initial=2, peepholes=True, lengths=[3, 4], **both)
    layer("lstm_reverse", "LSTM", 4, direction="reverse", lengths=[2, 4])
    layer("lstm_coupled", "LSTM", 4, initial=2, input_forget=1)
    layer("lstm_clip", "LSTM", 4, initial=2, clip=0.4)
    layer("lstm_functions", "LSTM", 4, activations=["HardSigmoid", "Softsign", "ScaledTanh"], activation_alpha=[0.3, 0.9],
          activation_beta=[0.4, 1.2])


def optimised(translate):
    """Files that ONNX Runtime's optimisers wrote, with the outputs of the file that they read."""
    from onnxruntime.transformers import optimizer

    level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    size = "layers=1,hidden=16,heads=2,ffn=32,vocab=20,seq=8,init=varied"
    ids = random.integers(0, 20, (2, 6))
    mask = np.array([[1] * 6, [1] * 4 + [0] * 2])
    text = {"input_ids": ids, "attention_mask": mask, "token_type_ids": (ids > 9).astype(np.int64)}
    kinds = {
        "bert": (f"bert:{size}", text, "bert"),
        "bert_opset13": (f"bert:{size},opset=13", text, "bert"),
        "gpt2": (f"gpt2:{size}", {"input_ids": ids}, "gpt2"),
        "gpt2_opset13": (f"gpt2:{size},opset=13", {"input_ids": ids}, "gpt2"),
        "llama": (f"llama:{size},kv_heads=1", {"input_ids": ids}, None),
        "llama_compact": (f"llama:{size},kv_heads=1,style=compact", {"input_ids": ids}, None),
        "vit": ("vit:layers=1,hidden=16,heads=2,ffn=32,image=8,patch=4,channels=1,classes=5,init=varied",
                {"pixel_values": floats(2, 1, 8, 8)}, "vit"),
    }
    for name, (build, feeds, script) in kinds.items():
        with tempfile.TemporaryDirectory() as scratch:
            path = f"{scratch}/model.onnx"
            subprocess.run([translate, "--build", build, "-o", path], check=True)
            plain = onnx.load(path)
            results = session(plain).run(None, feeds)
            made = f"{scratch}/optimised.onnx"
            session(plain, level, made)
            cases[f"{name}_extended"] = (onnx.load(made), [feeds[i.name] for i in plain.graph.input], results)
            if script:
                fused = optimizer.optimize_model(path, model_type=script, num_heads=2, hidden_size=16, opt_level=0)
                fused.save_model_to_file(made)
                fused = onnx.load(made)
                cases[f"{name}_transformers"] = (fused, [feeds[i.name] for i in fused.graph.input], results)


def main(translate, folder):
    for family in (activations, products, norms, attention, recurrent):
        family()
    optimised(translate)
    for name, (model, feeds, results) in cases.items():
        save(folder, name, model, feeds, results)
    print(f"{len(cases)} cases of onnxruntime {ort.__version__}")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
