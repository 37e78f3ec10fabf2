# check_explain.py FILE PROGRAM LAYERS: one JSON document of --explain, whose parts agree with each other.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import sys

path, name, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(path, encoding="utf-8") as stream:
    document = json.load(stream)
assert document["version"] == 1
assert document["ranks"] == 4 and [axis["axis"] for axis in document["mesh"]] == ["dp", "tp"]
for program in document["programs"]:
    each, classes = program["collectives"], program["collective_classes"]
    assert sum(one["bytes"] for one in each) == sum(one["bytes"] for one in classes)
    assert len(each) == sum(one["count"] for one in classes)
    by_layer = program["layer_classes"]
    assert sum(one["bytes"] for one in by_layer) == sum(one["bytes"] for one in each)
    # Two members send as much whether sums share messages or not; test/conformance/traffic has the others.
    assert sum(one["bytes"] for one in each) == program["bytes_sent"], program["name"]
    assert sum(one["collectives"] for one in by_layer) == sum(one["times"] for one in each)
    for folded in classes, by_layer:
        assert abs(sum(one["seconds"] for one in folded) - sum(one["seconds"] for one in each)) < 1e-9
    assert all(bool(one["name"]) == bool(one["layers"]) for one in by_layer), by_layer
    for one in each:
        assert one["node"] and one["maker"] and one["readers"], one
        assert one["axes"] and one["role"] in ("forward", "gradient", "optimizer", "state"), one
        # The standard cluster: 8 GiB/s and a start that takes as long as 16 KiB.
        assert abs(one["seconds"] - (one["ring_bytes"] + 16384 * one["times"]) / 2**33) < 1e-12, one
    assert sum(bucket["tensors"] for bucket in program["buckets"]) <= len(each)
program = next(one for one in document["programs"] if one["name"] == name)
assert any(one["layers"] == f"0..{layers - 1}" and one["count"] == layers for one in program["collective_classes"])
# Nodes, weights and updates of a layer are of one chain.
assert {one["name"] for one in program["layer_classes"]} == {"transformer.h.*", ""}, program["layer_classes"]
memory = document["memory"]
peak = sum(one["bytes"] * one["count"] for one in memory["at_peak"]) + memory["not_listed_bytes"]
assert peak == max(sum(moment[1:]) for line in memory["timelines"] for moment in line["moments"])
assert peak <= memory["arena_bytes"], (peak, memory["arena_bytes"])
