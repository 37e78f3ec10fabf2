#!/usr/bin/env python3
# Holds the layout: tests mirror the sources by path and name, and a pass lies in the folder that its flag names.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: layout.py TREE
import os
import pathlib
import re
import subprocess
import sys

# A folder of tests, and the folder whose subfolders its own must be called like.
MIRRORS = {"test/unit": "", "test/dialects": "dialects", "test/lib": "lib", "test/passes": "passes"}


def check_mirrors(files):
    folders = {os.path.dirname(name) for name in files}
    for folder in sorted(folders):
        for tests, sources in MIRRORS.items():
            if not folder.startswith(tests + "/") or os.path.basename(folder) == "Inputs":
                continue
            path = os.path.join(sources, os.path.relpath(folder, tests))
            if not any(other == path or other.startswith(path + "/") for other in folders):
                yield f"{folder}: mirrors {path}, which is not there"


def flags_of(text):
    return re.findall(r"^(?:def|class) [^{;]*?Pass<\s*\"([\w-]+)\"", text, re.M)


def check_flags(root, files):
    for name in sorted(name for name in files if re.fullmatch(r"passes/.*/Passes\.td", name)):
        group = os.path.basename(os.path.dirname(name))
        for flag in flags_of((root / name).read_text()):
            conversion = re.fullmatch(r"convert-(\w+)-to-\w+", flag)
            known = conversion and any(other.startswith(f"dialects/{conversion[1]}/") for other in files)
            if not flag.startswith(group + "-") and not known:
                yield f"{name}: {flag} lies in the folder {group}"


# The pass or source that a test is of is the beginning of its name.
def check_names(root, files):
    for name in sorted(name for name in files if re.fullmatch(r"test/passes/.*\.mlir", name)):
        folder, test = os.path.split(name.removeprefix("test/"))
        if os.path.basename(folder) == "Inputs":
            continue
        group = os.path.basename(folder) + "-"
        subjects = [re.sub(r"(?<=[a-z])(?=[A-Z])", "-", pathlib.Path(other).stem).lower()
                    for other in files if other.endswith(".cpp") and other.startswith(folder + "/")]
        if f"{folder}/Passes.td" in files:
            subjects += [flag.removeprefix(group) for flag in flags_of((root / folder / "Passes.td").read_text())]
        if not test.startswith(tuple(subjects)):
            yield f"{name}: begins with the name of no pass or source in {folder}"


tree = pathlib.Path(sys.argv[1])
listed = subprocess.run(["git", "-C", str(tree), "ls-files", "-co", "--exclude-standard"],
                        capture_output=True, text=True, check=True)
present = {name for name in listed.stdout.splitlines() if (tree / name).is_file()}
wrong = [*check_mirrors(present), *check_flags(tree, present), *check_names(tree, present)]
print("\n".join(wrong))
sys.exit(bool(wrong))
