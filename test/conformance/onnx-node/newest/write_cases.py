#!/usr/bin/env python3
"""Writes the node cases of the installed `onnx` package as files: write_cases.py FOLDER.

Run once, by hand, for a new release of ONNX (README.md beside this says how); no build and no test runs it.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
import pathlib
import sys

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def message(value, info):
    """`value` as a message of the type that the graph declares for it."""
    if hasattr(value, "SerializeToString"):
        return value
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, info.name)
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(numpy.asarray(value), info.name)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.SerializeToString(deterministic=True))


def main(folder):
    cases = collect_testcases(None)
    for case in cases:
        # The harness has one tolerance, which is that of all cases so far.
        assert (case.rtol, case.atol) == (1e-3, 1e-7), case.name
        place = folder / case.name
        write(place / "model.onnx", case.model)
        for number, (inputs, outputs) in enumerate(case.data_sets or []):
            graph = case.model.graph
            for kind, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
                for i, value in enumerate(values):
                    write(place / f"test_data_set_{number}" / f"{kind}_{i}.pb", message(value, infos[i]))
    print(f"{len(cases)} cases of onnx {onnx.__version__}, opset {onnx.defs.onnx_opset_version()}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
