# What both PyTorch parts share: the JSON of a part, event timing, checks. They measure a peer, outside Weft's build and use.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import math
import os
import time

MIN_SAMPLES = 20
STARTED = time.monotonic()


def seconds_left():
    """Until this process is ended from outside; SECONDS_LEFT is what the whole run has left when the part starts."""
    return float(os.environ.get("SECONDS_LEFT", "1e9")) - (time.monotonic() - STARTED)


def finite(value):
    """JSON has no NaN and no infinity: null stands for either."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Report:
    """The part's JSON, written anew after every result, so that a part ended at its limit leaves what it had."""

    def __init__(self, part, what, path):
        self.path = path
        self.failed = False
        self.root = {"part": part, "what": what, "status": "running", "facts": {}, "results": []}
        self.write()

    def write(self):
        if not self.path:
            return
        half = self.path + ".half"
        with open(half, "w") as out:
            json.dump(finite(self.root), out, indent=1, allow_nan=False)
        os.replace(half, self.path)

    def attempt(self, name, measure):
        """Appends measure()'s dictionary; an exception becomes a failed result and the part goes on."""
        entry = {"name": name}
        began = time.monotonic()
        try:
            measured = measure()
            good = measured.get("check", {}).get("ok", True)
            entry["status"] = "ok" if good else "wrong"
            entry.update(measured)
        except Exception as error:  # any failure of one measurement leaves the others their turn
            entry["status"] = "failed"
            entry["message"] = f"{type(error).__name__}: {str(error)[:600]}"
        entry["seconds"] = round(time.monotonic() - began, 2)
        self.failed |= entry["status"] != "ok"
        print(name, entry["status"], entry.get("rate", ""), entry.get("unit", ""), entry.get("message", ""), flush=True)
        self.root["results"].append(entry)
        self.write()
        return entry

    def finish(self, status=None, message=None):
        self.root["status"] = status or ("failed" if self.failed else "ok")
        if message:
            self.root["message"] = message
            print(message, flush=True)
        self.write()
        return 77 if self.root["status"] == "no-device" else int(self.root["status"] != "ok")


def quantile(ordered, q):
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def stats(times):
    if len(times) < MIN_SAMPLES:
        raise RuntimeError(f"{len(times)} samples; a result needs {MIN_SAMPLES}")
    ordered = sorted(times)
    return {
        "median": quantile(ordered, 0.5),
        "p25": quantile(ordered, 0.25),
        "p75": quantile(ordered, 0.75),
        "min": ordered[0],
        "max": ordered[-1],
        "samples": len(ordered),
    }


def time_on_device(torch, run, samples=24, warmups=3, min_sample_ms=0.3):
    """Milliseconds of one run(i) by events; short runs are repeated between two events until they fill a sample."""
    for i in range(warmups):
        run(i)
    torch.cuda.synchronize()
    first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    run(warmups)
    second.record()
    torch.cuda.synchronize()
    repeats = min(200, max(1, math.ceil(min_sample_ms / max(first.elapsed_time(second), 1e-4))))
    done = warmups + 1
    events = []
    for _ in range(samples):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            run(done)
            done += 1
        stop.record()
        events.append((start, stop))
    torch.cuda.synchronize()
    return stats([start.elapsed_time(stop) / repeats for start, stop in events])


def compare(out, reference, norm, element, peaked=False):
    """Bounds on |out - ref| / |ref| and on each element's error over the root mean square of ref; of `peaked` results, whose
    largest elements' rounding is many times that, over the element itself where it is larger. NaN never passes."""
    out = out.detach().double().cpu().flatten()
    reference = reference.detach().double().cpu().flatten()
    if out.shape != reference.shape or out.numel() == 0:
        return {"ok": False, "norm_error": math.inf, "element_error": math.inf, "compared": 0, "not_finite": 0}
    finite = out.isfinite() & reference.isfinite()
    bad = int((~finite).sum())
    difference = (out - reference)[finite]
    scale = float(reference[finite].norm())
    norm_error = float(difference.norm()) / scale if scale else math.inf
    rms = scale / math.sqrt(max(int(finite.sum()), 1))
    sizes = reference[finite].abs().clamp(min=rms) if peaked else rms
    element_error = float((difference.abs() / sizes).max()) if rms and difference.numel() else math.inf
    return {
        "ok": bad == 0 and norm_error <= norm and element_error <= element,
        "norm_error": norm_error,
        "element_error": element_error,
        "compared": out.numel(),
        "not_finite": bad,
    }


def worst(checks):
    """One check that holds only when all do."""
    checks = list(checks)
    return {
        "ok": bool(checks) and all(check["ok"] for check in checks),
        "norm_error": max((check["norm_error"] for check in checks), default=math.inf),
        "element_error": max((check["element_error"] for check in checks), default=math.inf),
        "compared": sum(check["compared"] for check in checks),
        "not_finite": sum(check["not_finite"] for check in checks),
    }


def open_torch(report):
    """The torch module, or None once the report says why there is none to use."""
    try:
        import torch
    except Exception as error:
        report.finish("failed", f"cannot import torch: {error}")
        return None
    report.root["facts"]["torch"] = torch.__version__
    if not torch.cuda.is_available():
        report.finish("no-device", "torch sees no CUDA device")
        return None
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:
        report.finish("no-device", f"torch cannot use the device: {error}")
        return None
    report.root["facts"].update(
        device_name=torch.cuda.get_device_name(0),
        cuda=torch.version.cuda,
        cudnn=torch.backends.cudnn.version(),
        nccl=".".join(map(str, torch.cuda.nccl.version())) if hasattr(torch.cuda, "nccl") else None,
    )
    report.write()
    return torch
