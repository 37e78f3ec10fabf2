# Times ONNX Runtime on a model, as a peer for test/benchmark/run.sh: MODEL THREADS DIM=N... -> p50 in ms.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys
import time

import numpy
import onnxruntime

model, threads = sys.argv[1], int(sys.argv[2])
dims = {name: int(size) for name, size in (item.split("=") for item in sys.argv[3:])}
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
feeds = {
    value.name: numpy.zeros([dims.get(d, d) if isinstance(d, str) else d for d in value.shape], types[value.type])
    for value in session.get_inputs()
}
for _ in range(2):
    session.run(None, feeds)
times = []
while len(times) < 10:
    start = time.perf_counter()
    session.run(None, feeds)
    times.append((time.perf_counter() - start) * 1e3)
print(f"{sorted(times)[len(times) // 2]:.2f}")
