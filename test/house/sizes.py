#!/usr/bin/env python3
# Holds the sizes of the house: files, functions, files of a folder of the runtime. Prints what exceeds them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: sizes.py [--figures] TREE        --figures prints medians, 90th percentiles and largest instead
#
# Functions are found by clang-format's indentation, which lint holds: a head that ends in `) {`, with what may stand
# between, up to the brace in the column of its first line, or a head with its body in one line. Lambdas belong to the
# function around them.
import collections
import os
import pathlib
import re
import subprocess
import sys

FILE, FUNCTION, FOLDER = 600, 100, 15
HEAD = re.compile(r"^( *)(?![^{]*\b(?:if|for|while|switch|catch|else|do|namespace|return|struct|class|enum)\b).+"
                  r"\)(?: const| override| noexcept| final| mutable)*(?: -> [\w:<>*& ]+)? \{(.*)$")


def functions(lines):
    """Name and number of lines of each function."""
    at = 0
    while at < len(lines):
        found = HEAD.match(join(lines, at))
        head = signature(lines, at)
        if not found or re.search(r"\[[^\]]*\]\s*\(", head) or "=" in head.split("(")[0].replace("operator=", ""):
            at += 1
            continue
        indent, end = found.group(1), at
        if not found.group(2).strip().endswith("}"):
            end = next((i for i in range(at + 1, len(lines)) if re.match(indent + r"\}", lines[i])), at)
            yield head.split("(")[0].split()[-1], end - start(lines, at) + 1
        else:
            yield head.split("(")[0].split()[-1], 1
        at = end + 1


def start(lines, at):
    """The first line of the declaration whose head ends in line `at`."""
    first = at
    while first > 0 and lines[first - 1].strip() and not re.search(r"[;{}>:]$|^ *(//|#)", lines[first - 1]):
        first -= 1
    return first


def signature(lines, at):
    return " ".join(line.strip() for line in lines[start(lines, at):at + 1])


def join(lines, at):
    first = start(lines, at)
    indent = re.match(" *", lines[first]).group()
    return indent + signature(lines, at) if lines[at].rstrip().endswith(("{", "}")) else ""


def figures(what, sizes):
    ordered = sorted(sizes)
    return (f"{what}: {len(ordered)}, median {ordered[len(ordered) // 2]}, 90 % at most "
            f"{ordered[len(ordered) * 9 // 10]}, largest {ordered[-1]}")


root = pathlib.Path(sys.argv[-1])
listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "*.cpp", "*.h"],
                        capture_output=True, text=True, check=True).stdout.splitlines()
texts = {name: (root / name).read_text().splitlines() for name in listed if (root / name).is_file()}
sources = {name: lines for name, lines in texts.items() if not name.startswith("test/")}
lengths = {name: len(lines) for name, lines in texts.items()}
found = {name: list(functions(lines)) for name, lines in sources.items()}
runtime = collections.Counter(os.path.dirname(name) for name in sources if name.startswith("runtime/lib/"))
if sys.argv[1] == "--figures":
    print(figures("files", [lengths[name] for name in sources]))
    print(figures("functions", [size for each in found.values() for _, size in each]))
    print("files of runtime/lib by folder:", ", ".join(f"{os.path.basename(k)} {v}" for k, v in sorted(runtime.items())))
    sys.exit(0)
wrong = [f"{name}: {size} lines; at most {FILE}" for name, size in lengths.items() if size > FILE]
wrong += [f"{name}: {function} has {size} lines; at most {FUNCTION}"
          for name, each in found.items() for function, size in each if size > FUNCTION]
wrong += [f"{folder}: {number} files; at most {FOLDER}" for folder, number in runtime.items() if number > FOLDER]
print("\n".join(wrong))
sys.exit(bool(wrong))
