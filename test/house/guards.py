#!/usr/bin/env python3
# Holds include guards to the paths of their headers, as a header that moved keeps its old one. Prints what differs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: guards.py [--fix] TREE        --fix writes the right ones
#
# A guard is the path by which others include the header: WEFT_PASSES_RT_INPLACE_H, and WEFT_COST_CLUSTER_H for
# include/weft/Cost/Cluster.h. Headers with `#pragma once` have none.
import pathlib
import re
import subprocess
import sys

GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.M)


def guard_of(name):
    path = re.sub(r"^(runtime/)?include/(weft/)?", "", name)
    return "WEFT_" + re.sub(r"\W", "_", path).upper()


root = pathlib.Path(sys.argv[-1])
listed = subprocess.run(["git", "-C", str(root), "ls-files", "*.h", "*.cuh", "*.td"],
                        capture_output=True, text=True, check=True).stdout.splitlines()
wrong = 0
for name in listed:
    path = root / name
    text = path.read_text() if path.is_file() else ""
    found = GUARD.search(text)
    if not found or found.group(1) == guard_of(name):
        continue
    wrong += 1
    if sys.argv[1] == "--fix":
        path.write_text(re.sub(rf"\b{found.group(1)}\b", guard_of(name), text))
    else:
        print(f"{name}: guarded by {found.group(1)}, expected {guard_of(name)}")
sys.exit(bool(wrong))
