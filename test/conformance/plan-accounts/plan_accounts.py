#!/usr/bin/env python3
# Seconds of the account that layouts are compared by, beside those of the program as compiled.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: plan_accounts.py FOLDER-OF-TOOLS [REGEX]; WEFT_TEST_FULL=1 for all layouts

The planner compares layouts by an account that is a formula of two small programs; what it chooses is compiled as a
whole. Here weft-plan is left one layout each time, over ZeRO 0 to 3, and the two must agree, on clusters whose links are
fast or slow beside the devices. REGEX picks cases by their titles.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# Shares by which the account may be off, and off in the mean.
MOST, MEAN = 0.08, 0.03
TRAIN = ["--train", "--loss", "softmax_cross_entropy:logits,labels", "--optimizer", "adamw:lr=0.01", "--precision", "bf16"]
MODELS = {
    "gpt2": ("gpt2:layers=8,hidden=1024,heads=16,vocab=8192,seq=512", "batch=32,seq=512"),
    "llama": ("llama:layers=6,hidden=1024,heads=16,ffn=2816,vocab=8192,seq=512", "batch=32,seq=512"),
}
# Links in bytes a second.
CLUSTERS = {"fast": 200e9, "slow": 20e9}
FLAGS = {"dp=4": "dp=4,tp=1,pp=1", "dp=2,tp=2": "dp=2,tp=2,pp=1", "pp=2,dp=2": "pp=2,dp=2,tp=1"}


def cases(full):
    for model in MODELS:
        for cluster in CLUSTERS:
            for mesh in FLAGS:
                for zero in range(4):
                    for microbatches, recompute in ((1, "none"), (4, "none"), (4, "full")):
                        if mesh.startswith("pp") and microbatches == 1:
                            continue
                        # By default of each other thing a few.
                        if full or (model == "gpt2" and (recompute == "none" or zero == 3)
                                    and (cluster == "slow" or mesh == "dp=4" and microbatches == 4)):
                            yield model, cluster, mesh, zero, microbatches, recompute, "1f1b"
            # Several chunks on a stage.
            for schedule in ("interleaved:2", "zb-v", "dualpipev"):
                for zero in range(4):
                    if full or (model == "gpt2" and zero in (0, 3) and cluster == "fast"):
                        yield model, cluster, "pp=2,dp=2", zero, 4, "none", schedule


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} of {' '.join(command)}: {done.stderr[-400:]}")
    return done.stdout


def main():
    tools, pattern = os.path.abspath(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    errors, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, (builder, _) in MODELS.items():
            call(f"{tools}/weft-translate", "--build", builder, "--no-weights", "-o", f"{name}.onnx")
        made = 'origin: "made up"'
        for name, bandwidth in CLUSTERS.items():
            with open(f"{name}.textproto", "w", encoding="utf-8") as file:
                file.write(f'name: "{name}" device {{ memory {{ bytes: 1e12 bandwidth: 2e12 {made} }} rate {{ type: "f32" flops: 2e13 {made} }}\n'
                           f'rate {{ type: "bf16" flops: 2e14 vector_flops: 4e13 {made} }} }}\n'
                           f'link {{ name: "bus" bandwidth: {bandwidth} latency: 5e-6 {made} }}\n')
        for model, cluster, mesh, zero, microbatches, recompute, schedule in cases(os.environ.get("WEFT_TEST_FULL") == "1"):
            title = f"{model} {cluster} {mesh} zero={zero} microbatches={microbatches} recompute={recompute} {schedule}"
            if not pattern.search(title):
                continue
            answer = json.loads(call(
                f"{tools}/weft-plan", f"{model}.onnx", "--bind", MODELS[model][1], *TRAIN, "--cluster", f"{cluster}.textproto",
                "--devices", "4", "--fix", FLAGS[mesh], "--zero", str(zero), "--microbatches", str(microbatches), "--recompute",
                recompute, "--schedule", schedule, "--sequence-parallel", "off", "--json"))
            account, compiled = answer["choice"]["step_seconds"], answer["step_seconds"]
            error = account / compiled - 1
            errors.append(error)
            failed = abs(error) > MOST
            failures += failed
            wrong = "FAILED: " if failed else ""
            print(f"{wrong}{title}: {account * 1e3:.3f} ms by the account, {compiled * 1e3:.3f} as compiled, {100 * error:+.1f} %",
                  flush=True)
    mean = sum(abs(error) for error in errors) / max(1, len(errors))
    failures += mean > MEAN and len(sys.argv) < 3
    print(f"{len(errors)} layouts, off by {100 * mean:.2f} % in the mean and {100 * max(map(abs, errors), default=0):.1f} % "
          f"at most, {failures} failed")
    return 1 if failures or len(errors) < (1 if len(sys.argv) > 2 else 24) else 0


if __name__ == "__main__":
    sys.exit(main())
