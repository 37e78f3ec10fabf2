# Writes the text of a model with an inline constant of 200 KiB and weights of 2 KiB, and two files of other weights.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json, struct

constant = ",".join(["0.5"] * 51200)
with open("big.txt", "w") as text:
    text.write('<ir_version: 8, opset_import: ["": 17]>\n'
               "big (float[51200] x) => (float[51200] y) <float[512] w = {%s}> {\n"
               "  c = Constant <value: tensor = float[51200] {%s}> ()\n"
               "  s = ReduceSum <keepdims = 1> (w)\n  t = Add (c, s)\n  y = Add (x, t)\n}\n"
               % (",".join(["1"] * 512), constant))
for value in (2, 3):
    header = json.dumps({"w": {"dtype": "F32", "shape": [512], "data_offsets": [0, 2048]}}).encode()
    with open("w%d.safetensors" % value, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack("<512f", *[value] * 512))
