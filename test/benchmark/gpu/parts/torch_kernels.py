# Part d: norms, softmax, cross-entropy and AdamW of PyTorch, eager and compiled, in GB/s of the bytes that must move.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import sys

import torch_common as kit

ROWS = 16384


def cases(torch, device, rows, width, vocabulary):
    """name, function of the inputs, maker of inputs by seed, bytes that must move, whether rows are independent, and whether
    results have peaks of many times their root mean square, as probabilities have."""
    functional = torch.nn.functional
    bf16 = torch.bfloat16

    def data(seed, *shape, dtype=bf16, scale=1.0):
        generator = torch.Generator(device=device).manual_seed(seed)
        return torch.randn(*shape, generator=generator, device=device, dtype=torch.float32).mul_(scale).to(dtype)

    def norm_inputs(seed):
        return data(seed, rows, width), data(seed + 1, width, scale=0.2) + 1, data(seed + 2, width), data(seed + 3, rows, width)

    def layer_norm(x, weight, bias, _):
        return functional.layer_norm(x, (x.shape[-1],), weight, bias)

    def rms_norm(x, weight, _bias, _gradient):
        return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)

    def residual_norm(x, weight, bias, residual):
        total = x + residual
        return functional.layer_norm(total, (x.shape[-1],), weight, bias), total

    def with_gradients(function, wanted):
        """The gradients of `function`'s output with respect to `wanted` inputs, against the last input."""

        def run(*inputs):
            leaves = [value.detach().requires_grad_(i in wanted) for i, value in enumerate(inputs)]
            out = function(*leaves)
            return torch.autograd.grad(out, [leaves[i] for i in wanted], inputs[-1].to(out.dtype))

        return run

    def softmax(x):
        return functional.softmax(x, dim=-1)

    def loss_inputs(seed):
        generator = torch.Generator(device=device).manual_seed(seed + 9)
        targets = torch.randint(0, vocabulary, (rows,), generator=generator, device=device)
        return data(seed, rows, vocabulary, scale=2.0), targets

    def cross_entropy(logits, targets):
        # The usual fp32 loss; the reference's fp64 stays what it is.
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return functional.cross_entropy(wide, targets, reduction="none")

    def cross_entropy_gradient(logits, targets):
        leaf = logits.detach().requires_grad_(True)
        # Of the sum, so that a row's gradient does not depend on how many rows there are.
        return torch.autograd.grad(cross_entropy(leaf, targets).sum(), leaf)

    block = 2.0 * rows * width
    logits = 2.0 * rows * vocabulary
    # Backward passes are timed with their forward pass: it is what autograd runs, and its bytes are counted.
    return [
        ("layer_norm forward", layer_norm, norm_inputs, 2 * block, True, False),
        ("rms_norm forward", rms_norm, norm_inputs, 2 * block, True, False),
        ("residual + layer_norm forward", residual_norm, norm_inputs, 4 * block, True, False),
        ("layer_norm forward + backward", with_gradients(layer_norm, [0, 1, 2]), norm_inputs, 5 * block, False, False),
        ("rms_norm forward + backward", with_gradients(rms_norm, [0, 1]), norm_inputs, 5 * block, False, False),
        ("softmax forward", softmax, lambda seed: (data(seed, rows, vocabulary, scale=2.0),), 2 * logits, True, True),
        ("cross_entropy forward", cross_entropy, loss_inputs, logits, True, False),
        ("cross_entropy forward + backward", cross_entropy_gradient, loss_inputs, 3 * logits, True, True),
    ]


def flatten(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def reference(torch, function, inputs, index):
    """The same function in fp64 on the CPU: on the rows of `index`, or on all of them where results sum over rows."""

    def wide(value):
        if index is not None and value.shape[0] == inputs[0].shape[0]:
            value = value.index_select(0, index)
        value = value.cpu()
        return value.double() if value.is_floating_point() else value

    return flatten(function(*[wide(value) for value in inputs]))


def check_case(run, inputs, index, expected, peaked):
    found = flatten(run(*inputs))
    bad = sum(int((~value.isfinite()).sum()) for value in found)
    if index is not None:
        found = [value.index_select(0, index) for value in found]
    check = kit.worst(kit.compare(f, e, 1e-2, 2e-1, peaked) for f, e in zip(found, expected, strict=True))
    check["not_finite"] += bad
    check["ok"] = check["ok"] and bad == 0
    return check


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", default="")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=50304)
    parser.add_argument("--self-test", action="store_true", help="small cases on the CPU: checks this file, measures nothing")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    report = kit.Report("d", "PyTorch's memory-bound kernels, eager and torch.compile", arguments.json)
    torch = kit.open_torch(report)
    if torch is None:
        return 77 if report.root["status"] == "no-device" else 1

    device = "cuda"
    for name, function, make, moved, rowwise, peaked in cases(torch, device, arguments.rows, arguments.width, arguments.vocabulary):
        # Sets rotate, so that what one run leaves in L2 is gone when its turn comes again.
        sets = [make(100 + 10 * i) for i in range(2)]
        rows = arguments.rows
        index = torch.tensor([0, 1, rows // 2, rows - 1], device=device) if rowwise else None
        expected = reference(torch, function, sets[0], index)
        for form in ("eager", "compile"):

            def measure():
                torch.compiler.reset()
                run = torch.compile(function, dynamic=False) if form == "compile" else function
                check = check_case(run, sets[0], index, expected, peaked)
                times = kit.time_on_device(torch, lambda i: run(*sets[i % 2]))
                return {"rate": moved / (times["median"] * 1e6), "unit": "GB/s", "ms": times, "check": check, "bytes": moved}

            report.attempt(f"{name}, {form}", measure)
        del sets, expected
        torch.cuda.empty_cache()

    for form in ("foreach", "fused", "compile"):
        report.attempt(f"AdamW fp32 256M parameters, {form}", lambda: adamw(torch, device, form))
        torch.cuda.empty_cache()
    return report.finish()


def first_step(torch, device, form, count, elements):
    """One step of AdamW from fresh state, checked; and the step itself, to be timed."""
    generator = torch.Generator(device=device).manual_seed(5)
    parameters = [torch.randn(elements, generator=generator, device=device).requires_grad_() for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(elements, generator=generator, device=device)
    rate, betas, eps, decay = 1e-3, (0.9, 0.95), 1e-8, 0.1
    compiled = form == "compile"
    capturable = compiled and device == "cuda"
    optimizer = torch.optim.AdamW(
        parameters, lr=torch.tensor(rate, device=device) if capturable else rate, betas=betas, eps=eps, weight_decay=decay,
        fused=form == "fused", foreach=form != "fused", capturable=capturable)
    step = torch.compile(optimizer.step, dynamic=False) if compiled else optimizer.step
    before = parameters[-1].detach()[-1000:].double().cpu()
    gradient = parameters[-1].grad[-1000:].double().cpu()
    step()
    # Both moments start at zero and their corrections undo the decay exactly: the step is the gradient's sign, nearly.
    expected = before * (1 - rate * decay) - rate * gradient / (gradient.abs() + eps)
    found = parameters[-1].detach()[-1000:].double().cpu()
    return step, kit.compare(found - before, expected - before, 1e-2, 1e-1)


def adamw(torch, device, form, count=16, elements=16 << 20):
    """28 bytes a parameter: the parameter and both moments read and written, the gradient read."""
    torch.compiler.reset()
    step, check = first_step(torch, device, form, count, elements)
    times = kit.time_on_device(torch, lambda i: step())
    work = 28.0 * count * elements
    return {"rate": work / (times["median"] * 1e6), "unit": "GB/s", "ms": times, "check": check, "bytes": work}


def self_test():
    import torch

    rows = 64
    good = True
    for name, function, make, _, rowwise, peaked in cases(torch, "cpu", rows, 256, 512):
        inputs = make(100)
        index = torch.tensor([0, 1, rows // 2, rows - 1]) if rowwise else None
        expected = reference(torch, function, inputs, index)
        for form in ("eager", "compile"):
            torch.compiler.reset()
            run = torch.compile(function, dynamic=False) if form == "compile" else function
            check = check_case(run, inputs, index, expected, peaked)
            # The same check must see a wrong function: the inputs of another seed give other results.
            other = check_case(run, make(200), index, expected, peaked)
            good &= check["ok"] and not other["ok"]
            print(name, form, check, "other data:", other["ok"], flush=True)
    for form in ("foreach", "fused", "compile"):
        torch.compiler.reset()
        _, check = first_step(torch, "cpu", form, 2, 2000)
        good &= check["ok"]
        print("AdamW", form, check, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
